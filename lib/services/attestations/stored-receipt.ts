/** An attestation as it is stored, with all that its receipt is made of: the one way to read one, in one statement. */

import { createHash, hash } from "node:crypto";
import { LRUCache } from "lru-cache";
import { ownsRow, type Principal } from "#lib/api/http/context";
import type { LogReceipt } from "#lib/api/schemas/attest";
import type { AnchorAnswer } from "#lib/api/schemas/record";
import { arrayLiteral, type Database } from "#lib/db/client";
import type { attestations } from "#lib/db/schema";
import { AppError } from "#lib/errors";
import type { Share } from "#lib/jobs/fair-queue";
import type { LogContext } from "#lib/log/context";
import { proveStored, readOldEntry, selectSettled, selectTiles } from "#lib/log/reading/reader";
import { verifySignature } from "#lib/log/signing/libsodium";
import type { PublishedKey } from "#lib/log/signing/signing-keys";
import { readAnchors, selectAnchors } from "#lib/log/time/time-stamps";
import { selectCovering } from "#lib/log/witness/cosigned-checkpoints";
import {
  base64Encode,
  bytesEqual,
  concatBytes,
  isUuid,
  joinBytes,
  sha256,
} from "#lib/protocol/encoding/bytes";
import {
  isFitKey,
  PUBLIC_KEY_BYTES,
  SIGNATURE_BYTES,
  type VerifyEd25519,
  verifyEd25519Strict,
} from "#lib/protocol/keys/ed25519";
import { preAuthEncoding } from "#lib/protocol/statement/dsse";
import type { Anchor, TimeEvidence } from "#lib/protocol/statement/receipt";
import {
  type ActionStatement,
  parseActionStatement,
  STATEMENT_MEDIA_TYPE,
} from "#lib/protocol/statement/statement";
import { type TimeStampVerdict, verifyTimeStamp } from "#lib/protocol/time/time-stamp";
import { addNoteSignatures, parseSignatureLines } from "#lib/protocol/tlog/checkpoint";
import type { WitnessPolicySettings } from "#lib/protocol/tlog/witness-policy";
import type { Context } from "#lib/services/approvals/context";

export const attestationNotFound = () => new AppError("attestation_not_found", "no attestation has this id");

interface Row {
  id: string;
  organization_id: string;
  log_id: number;
  leaf_index: number;
  payload: Uint8Array | null;
  payload_hash: Uint8Array;
  signature: Uint8Array;
  envelope_signature: Uint8Array;
  key_id: string;
  is_public: boolean;
  human_authorization: Uint8Array | null;
  zk_proof: string | null;
  bbs_signature: Uint8Array | null;
  erased_at: Date | null;
  slug: string;
  manifest_hash: string | null;
  manifest: Uint8Array | null;
  origin: string | null;
  /** Null where it is gone, or the store has it (`npm run log -- compact`). */
  leaf: Uint8Array | null;
  size: number | null;
  note: string | null;
  cosignatures: string | null;
  tiles: string | null;
  /** Null if its leaf is lost or was changed. */
  record_agent: string | null;
  sequence: number | null;
  previous: Uint8Array | null;
  /** Entries beside it in the record, null where there is none. */
  before_previous: Uint8Array | null;
  before_hash: Uint8Array | null;
  after_previous: Uint8Array | null;
  after_hash: Uint8Array | null;
  head_sequence: number | null;
  head_link: Uint8Array | null;
  /** The cosigned note that the payload seems to name. This and the anchors only where they were asked for. */
  cosigned_note?: string | null;
  anchors?: unknown;
}

type DigestedRow = Row & { digest: string };

const head = { logId: "h.id", size: "h.size", note: "h.checkpoint" };

/**
 * The payload is canonical JSON, in which this comes before anything that the agent sent; what is found otherwise is not
 * the note that the payload names, and is not shown.
 */
const namedHash = `encode(substring(a.payload FROM position('"not_before":{"checkpoint_hash":"'::bytea IN a.payload) + 33 FOR 64), 'escape')`;

/**
 * Selects the digest of all columns, and the columns unless `known` is that digest: a reader that knows what the row leads to
 * has no use for them. `record_send` writes each column's length before its bytes, so two rows are never the same bytes.
 */
export const selectUnless = (known: string, row: string) => `WITH stored AS MATERIALIZED (${row}),
    digested AS (SELECT encode(sha256(record_send(stored)), 'hex') AS digest FROM stored)
  SELECT digested.digest, stored.* FROM digested LEFT JOIN stored ON digested.digest IS DISTINCT FROM ${known}::text`;

/** $1: id. `shown`: SQL of the checkpoint. */
const statementWith = (
  shown: string,
  columns = "",
  joins = "",
) => `SELECT a.id, a.organization_id, a.log_id, a.leaf_index, a.payload,
    a.payload_hash, a.signature, a.envelope_signature, a.key_id, a.is_public, a.human_authorization, a.zk_proof,
    a.bbs_signature, a.erased_at, g.slug, m.hash AS manifest_hash, m.manifest, h.origin, leaf.data AS leaf, shown.size,
    shown.note, shown.cosignatures, proof.tiles, leaf.agent_id AS record_agent, leaf.sequence, leaf.previous,
    before.previous AS before_previous, before.payload_hash AS before_hash,
    after.previous AS after_previous, after.payload_hash AS after_hash,
    record.sequence AS head_sequence, record.link AS head_link${columns}
  FROM attestations a
  JOIN agents g ON g.id = a.agent_id
  LEFT JOIN tool_manifests m ON m.hash = g.tool_manifest_hash
  LEFT JOIN logs h ON h.id = a.log_id
  LEFT JOIN log_leaves leaf ON leaf.log_id = a.log_id AND leaf.leaf_index = a.leaf_index
  LEFT JOIN log_leaves before ON before.agent_id = leaf.agent_id AND before.sequence = leaf.sequence - 1
  LEFT JOIN log_leaves after ON after.agent_id = leaf.agent_id AND after.sequence = leaf.sequence + 1
  LEFT JOIN agent_records record ON record.agent_id = leaf.agent_id
  LEFT JOIN LATERAL (${shown}) shown ON true
  LEFT JOIN LATERAL (${selectTiles("a.log_id", "a.leaf_index", "shown.size")}) proof ON true${joins}
  WHERE a.id = $1`;

const plainText = statementWith(selectSettled(head, "a.leaf_index"));

/** $2: the policy's witnesses as the text of a list, NULL without one. $3: its quorum. */
const covering = selectCovering(head, "a.leaf_index", { witnesses: "$2", quorum: "$3" });
const cosignedText = statementWith(covering);
const timedText = selectUnless(
  "$4",
  statementWith(
    covering,
    ", named.note AS cosigned_note, anchored.anchors",
    `
  LEFT JOIN cosigned_notes named ON named.hash = ${namedHash}
  LEFT JOIN LATERAL (${selectAnchors("a.log_id", "a.leaf_index", "$2")}) anchored ON true`,
  ),
);
const timedTypes = ["uuid", "text", "text", "text"];
const untimedText = selectUnless("$2", plainText);
const untimedTypes = ["uuid", "text"];

function toStored(row: Readonly<Row>) {
  const statement = row.payload === null ? null : parseActionStatement(row.payload);
  const asked = statement?.predicate.request["agent_slug"];
  return { ...row, statement, slug: typeof asked === "string" ? asked : row.slug };
}

export type StoredAttestation = ReturnType<typeof toStored>;

type Reader = Pick<Context, "database" | "settings">;

async function read({ database }: Reader, text: string, id: string, ...policy: unknown[]) {
  if (!isUuid(id)) throw attestationNotFound();
  const [row] = await database.statement<Row>(text)(id, ...policy);
  if (!row) throw attestationNotFound();
  return toStored(row);
}

const buildPolicyParameters = ({ witnesses, quorum }: WitnessPolicySettings) => [
  arrayLiteral(witnesses.map(({ name }) => name)),
  JSON.stringify(quorum),
];

/** `isCosigned`: its receipt is under a checkpoint that the witness policy is met for, if there is one; else the newest. */
export function readAttestation(context: Reader, id: string, isCosigned = true): Promise<StoredAttestation> {
  const policy = isCosigned ? context.settings.WITNESSES : undefined;
  return policy
    ? read(context, cosignedText, id, ...buildPolicyParameters(policy))
    : read(context, plainText, id);
}

type TimeReader = Reader & Pick<Context, "timeAuthorities">;

/** Like {@link readWithTime}, with the digest; the row is null if `known` is its digest. */
export async function readIfChanged(
  { database, settings, timeAuthorities }: TimeReader,
  id: string,
  known: string | null,
): Promise<{ digest: string; stored: StoredAttestation | null }> {
  if (!isUuid(id)) throw attestationNotFound();
  const policy = settings.WITNESSES;
  const hasTime = policy !== undefined || timeAuthorities.length > 0;
  const [row] = await (hasTime
    ? database.batched<DigestedRow>(timedText, timedTypes)(
        id,
        ...(policy ? buildPolicyParameters(policy) : [null, null]),
        known,
      )
    : database.batched<DigestedRow>(untimedText, untimedTypes)(id, known));
  if (!row) throw attestationNotFound();
  return { digest: row.digest, stored: row.digest === known ? null : toStored(row) };
}

/** Reads it with what others have said about its time. */
export async function readWithTime(context: TimeReader, id: string): Promise<StoredAttestation> {
  const { stored } = await readIfChanged(context, id, null);
  if (stored === null) throw new Error("a row has no digest");
  return stored;
}

export function maySee(stored: StoredAttestation, viewer: Principal | null): boolean {
  return stored.is_public || ownsRow(viewer, stored);
}

const readManifestHash = (stored: StoredAttestation) =>
  stored.statement?.predicate.registered.tool_manifest_hash ?? null;

/** True if its verification reads no other row. A proof is checked under keys that are not published ones. */
export function isWhole(stored: StoredAttestation): boolean {
  const hash = readManifestHash(stored);
  return stored.zk_proof === null && (hash === null || hash === stored.manifest_hash);
}

/** The tools that the statement names; null where they are gone. */
export async function readManifest(
  database: Database,
  stored: StoredAttestation,
): Promise<Uint8Array | null> {
  const hash = readManifestHash(stored);
  if (hash === null) return null;
  if (hash === stored.manifest_hash) return stored.manifest;
  const find = database.statement<{ manifest: Uint8Array }>(
    "SELECT manifest FROM tool_manifests WHERE hash = $1",
  );
  const [row] = await find(hash);
  return row?.manifest ?? null;
}

/*
 * The verdicts of the strict verifier (lib/protocol/keys/ed25519.ts), in three fifths of its time: libsodium's, for fit keys.
 * With such a key, a signature that libsodium accepts is one that the strict verifier accepts: it multiplies by no cofactor
 * either. What it refuses, the strict one judges.
 *
 * A signature that held is remembered under the SHA-256 of key, signature and message, all of which the caller has read
 * again: other bytes have another digest and are checked. One that did not hold is not remembered.
 */

/** Takes some 20 MB when full; an attestation has two or three. */
const maxRemembered = 200_000;
// Bounded by size: with `max` it would take all of its room, 5 MB, at once.
const held = new LRUCache<string, true>({ maxSize: maxRemembered, sizeCalculation: () => 1 });

/** Key and signature have fixed lengths, so no two triples make the same bytes. */
const digestTriple = (triple: Uint8Array) => hash("sha256", triple, "base64");

export const verifyAndRemember: VerifyEd25519 = (signature, message, publicKey) => {
  if (signature.length !== SIGNATURE_BYTES || publicKey.length !== PUBLIC_KEY_BYTES) return false;
  const digest = digestTriple(concatBytes(publicKey, signature, message));
  if (held.get(digest)) return true;
  const holds =
    (verifySignature(signature, message, publicKey) && isFitKey(publicKey)) ||
    verifyEd25519Strict(signature, message, publicKey);
  if (holds) held.set(digest, true);
  return holds;
};

/** Verifies signatures in another thread, and remembers those that hold for {@link verifyAndRemember}, which judges the others. */
export async function verifyAhead(
  { keys, logPool }: Pick<LogContext, "keys" | "logPool">,
  receipts: readonly StoredAttestation[],
  share: Share,
): Promise<void> {
  const published = await keys.published();
  const unknown = new Map<string, Uint8Array>();
  for (const { payload, signature, envelope_signature, key_id } of receipts) {
    const { publicKey } = published.find(({ keyId }) => keyId === key_id) ?? {};
    if (payload === null || publicKey === undefined || !isFitKey(publicKey)) continue;
    for (const [signed, by] of [
      [payload, signature],
      [preAuthEncoding(STATEMENT_MEDIA_TYPE, payload), envelope_signature],
    ] as const) {
      const triple = concatBytes(publicKey, by, signed);
      const digest = digestTriple(triple);
      if (by.length === SIGNATURE_BYTES && !held.get(digest)) unknown.set(digest, triple);
    }
  }
  if (unknown.size === 0) return;
  const joined = joinBytes([...unknown.values()]);
  // A refused job is no verdict.
  const verdicts = await logPool.run("verifySignatures", joined, share).catch(() => []);
  for (const [i, digest] of [...unknown.keys()].entries()) if (verdicts[i]) held.set(digest, true);
}

/* Entries for lists and examples, which run no checklist: what a stored row says, or nothing if it isn't signed. */

type SignedRow = Pick<
  typeof attestations.$inferSelect,
  "id" | "payload" | "payload_hash" | "signature" | "key_id" | "is_public"
>;

/** Null if the payload is gone, altered, another row's, or not signed by the key that the row names. */
export function readSignedStatement(
  row: SignedRow,
  keys: readonly Pick<PublishedKey, "keyId" | "publicKey">[],
): ActionStatement | null {
  const { payload } = row;
  const key = keys.find(({ keyId }) => keyId === row.key_id);
  if (payload === null || key === undefined) return null;
  if (!bytesEqual(sha256(payload), row.payload_hash)) return null;
  if (!verifyAndRemember(row.signature, payload, key.publicKey)) return null;
  const statement = parseActionStatement(payload, true);
  const isOwn =
    statement?.predicate.attestation_id === row.id && statement.predicate.is_public === row.is_public;
  return isOwn ? statement : null;
}

/* Proofs by the log for a stored attestation: its leaf and, with anchors, its time; and how answers show both. */

export interface StoredEntry {
  origin: string;
  index: number;
  treeSize: number;
  entry: Uint8Array;
  inclusionProof: Uint8Array[];
  checkpoint: string;
}

let lastJoined = { note: "", cosignatures: "", joined: "" };

/** Many receipts in a row have the same. */
function joinCosignatures(note: string, cosignatures: string): string {
  if (lastJoined.note !== note || lastJoined.cosignatures !== cosignatures)
    lastJoined = { note, cosignatures, joined: addNoteSignatures(note, parseSignatureLines(cosignatures)) };
  return lastJoined.joined;
}

/** The leaf and its proof. Throws RangeError if the log's rows do not give one: a leaf or a tile is gone. */
export async function proveEntry(
  { database, oldEntries }: Pick<LogContext, "database" | "oldEntries">,
  stored: StoredAttestation,
): Promise<StoredEntry> {
  const { log_id: logId, leaf_index: index, origin, leaf, size, note, cosignatures, tiles } = stored;
  if (origin === null || size === null || note === null)
    throw new RangeError(`the database has no log ${logId}`);
  if (leaf === null && stored.record_agent === null)
    throw new RangeError(`leaf ${index} of log ${logId} is missing`);
  const entry = leaf ?? (await readOldEntry(database.db, oldEntries, logId, index, stored.payload_hash));
  const inclusionProof = await proveStored(database, logId, index, size, tiles);
  const checkpoint = cosignatures === null ? note : joinCosignatures(note, cosignatures);
  return { origin, index, treeSize: size, entry, inclusionProof, checkpoint };
}

export async function proveTime(database: Database, stored: StoredAttestation): Promise<TimeEvidence> {
  const named = stored.statement?.predicate.not_before;
  const { log_id: logId, leaf_index: index, cosigned_note: note = null } = stored;
  const anchors = readAnchors(stored.anchors).map(async ({ size, checkpoint, stamps, tiles }) => ({
    treeSize: size,
    inclusionProof: await proveStored(database, logId, index, size, tiles),
    checkpoint,
    timeStamps: stamps,
  }));
  return {
    checkpoint: named?.type === "tlog-cosignature" ? note : null,
    anchors: await Promise.all(anchors),
  };
}

export const describeAnchor = ({
  treeSize,
  inclusionProof,
  checkpoint,
  timeStamps,
}: Anchor): AnchorAnswer => ({
  tree_size: treeSize,
  inclusion_proof: inclusionProof.map(base64Encode),
  checkpoint,
  time_stamps: timeStamps.map(({ tsa, response }) => ({ tsa, response: base64Encode(response) })),
});

export function describeEntry({
  origin,
  index,
  treeSize,
  entry,
  inclusionProof,
  checkpoint,
}: StoredEntry): LogReceipt {
  return {
    origin,
    index,
    tree_size: treeSize,
    entry: base64Encode(entry),
    inclusion_proof: inclusionProof.map(base64Encode),
    checkpoint,
  };
}

/*
 * Time stamps of our own log, checked once: a stamp that held is remembered under the SHA-256 of all that was read.
 * Which certificates are pinned is a setting, so it is the same for as long as this process lives.
 */

const heldTokens = new LRUCache<string, TimeStampVerdict>({ max: 1_000 });

export const rememberTimeStamps: typeof verifyTimeStamp = async (response, message, pinned) => {
  const digest = createHash("sha256")
    .update(createHash("sha256").update(response).digest())
    .update(message)
    .digest("base64");
  const known = heldTokens.get(digest);
  if (known !== undefined) return known;
  const verdict = await verifyTimeStamp(response, message, pinned);
  if (verdict.ok) heldTokens.set(digest, verdict);
  return verdict;
};
