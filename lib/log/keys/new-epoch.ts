/**
 * Continues openly if the old log cannot be extended (`npm run log -- new-epoch`): the old log is closed as the
 * database holds it, and a new one begins whose first leaf, signed, names the last checkpoint of the old log that this
 * machine has signed, and what the database still holds of it. If the database lacks some of what was signed, the new
 * log goes on with the end of every approval that may have been used or taken back in what is lost.
 */
import { and, eq, sql } from "drizzle-orm";
import type { Database, Executor } from "#lib/db/client";
import { logs, signingKeys } from "#lib/db/schema";
import { holdsCheckpoints, readHead } from "#lib/log/reading/reader";
import {
  appendLeaves,
  type Head,
  lockOpenHead,
  planOnce,
  sequenceLocked,
  storeWithin,
  toSigned,
} from "#lib/log/sequencer/append";
import type { LogEntry, LogEntryKind } from "#lib/log/sequencer/entry";
import { type ForkGuard, isHigher, type SignedHead } from "#lib/log/sequencer/fork-guard";
import type { HeadLock } from "#lib/log/sequencer/head-lock";
import { describeRecords } from "#lib/log/sequencer/positions";
import { insertLog } from "#lib/log/signing/first-keys";
import type { Signer } from "#lib/log/signing/signing-keys";
import { base64Encode, hexDecode, hexEncode, sha256, utf8Encode } from "#lib/protocol/encoding/bytes";
import { buildStatement, EPOCH_PREDICATE } from "#lib/protocol/statement/statement";
import { encodeVerifierKey, makeVerifierKey } from "#lib/protocol/tlog/checkpoint";
import { originOfLog, signStatement } from "#lib/protocol/tlog/log-leaf";
import { emptyRightEdge } from "#lib/protocol/tlog/tiles";

export interface EpochContext {
  database: Database;
  guard: ForkGuard;
  lock: HeadLock | null;
  clock: () => Date;
  firstOrigin: string;
}

export interface Ending {
  isRestored: boolean;
  /** A batch at a time until none is left. */
  findUnknown: (tx: Executor) => Promise<{ kind: LogEntryKind<LogEntry>; item: LogEntry }[]>;
  random: (bytes: number) => Uint8Array;
}

export interface EpochKeys {
  signer: Signer;
  logSigner: Signer;
}

const toSignedHead = ({ id, size, root }: Head): SignedHead => ({
  logId: id,
  size,
  rootHex: hexEncode(root),
});

function findLastSigned(held: SignedHead, ...known: (SignedHead | null)[]): SignedHead {
  return known.reduce<SignedHead>((last, one) => (one === null || isHigher(last, one) ? last : one), held);
}

function signEpoch(
  context: EpochContext,
  { signer, logSigner }: EpochKeys,
  logId: number,
  held: Head,
  last: SignedHead,
) {
  const describe = ({ logId: id, size, rootHex }: SignedHead) => ({
    origin: originOfLog(context.firstOrigin, id),
    size,
    root: base64Encode(hexDecode(rootHex)),
  });
  const origin = originOfLog(context.firstOrigin, logId);
  const payload = buildStatement(EPOCH_PREDICATE, "log-origin", hexEncode(sha256(utf8Encode(origin))), {
    log: { origin, vkey: encodeVerifierKey(makeVerifierKey(origin, 1, logSigner.publicKey)) },
    previous: describe(last),
    held: describe(toSignedHead(held)),
    at: context.clock().toISOString(),
    signed_by: signer.keyId,
  });
  return signStatement(signer, payload);
}

/** The attestation key ends in the old log and begins in the new one; a new log key takes the old one's place. */
async function moveKeys(
  tx: Executor,
  logId: number,
  { signer, logSigner }: EpochKeys,
  held: Head,
  last: SignedHead,
) {
  const isActive = (purpose: "attestation" | "log") =>
    and(eq(signingKeys.purpose, purpose), eq(signingKeys.status, "active"));
  const valid_to_index = last.logId === held.id ? Math.max(last.size, held.size) : held.size;
  const retired = { status: "retired", retired_at: sql`now()` } as const;
  const [old] = await tx
    .update(signingKeys)
    .set({ ...retired, valid_to_index })
    .where(and(isActive("attestation"), eq(signingKeys.key_id, signer.keyId)))
    .returning();
  if (!old)
    throw new Error(`the attestation key at hand (${signer.keyId}) is not the active one of this database`);
  const active = { status: "active", log_id: logId } as const;
  await tx.insert(signingKeys).values({
    ...active,
    key_id: signer.keyId,
    purpose: "attestation",
    public_key: signer.publicKey,
    valid_from_index: 0,
  });
  if (logSigner.keyId === held.key_id) return;
  await tx.update(signingKeys).set(retired).where(isActive("log"));
  await tx
    .insert(signingKeys)
    .values({ ...active, key_id: logSigner.keyId, purpose: "log", public_key: logSigner.publicKey });
}

const ignore = () => {};

/** Runs in the transaction that opens the log: it never has one without the other. */
async function endUnknown(
  { findUnknown, random }: Ending,
  guard: ForkGuard,
  keys: EpochKeys,
  tx: Executor,
): Promise<SignedHead | null> {
  let signed: SignedHead | null = null;
  for (;;) {
    const found = await findUnknown(tx);
    if (found.length === 0) return signed;
    const batch = found.map((one) => ({ ...one, resolve: ignore, reject: ignore }));
    const { refused, sequenced } = await sequenceLocked(tx, batch, null, { keys, guard, lock: null, random });
    if (sequenced === null) throw refused[0]?.result;
    signed = toSigned(sequenced.head);
  }
}

export interface Epoch {
  origin: string;
  previous: SignedHead;
  held: SignedHead;
  isCut: boolean;
}

export async function beginEpoch(
  context: EpochContext,
  keys: EpochKeys,
  ending: Ending | null = null,
): Promise<Epoch> {
  const { guard, lock } = context;
  const begun = await context.database.db.transaction(async (tx) => {
    const held = await lockOpenHead(tx);
    const out = (await lock?.readOut()) ?? null;
    const last = findLastSigned(toSignedHead(held), out, guard.current());
    const logId = Math.max(last.logId, held.id) + 1;
    await tx.update(logs).set({ closed_at: sql`now()` }).where(eq(logs.id, held.id));
    await moveKeys(tx, logId, keys, held, last);
    await insertLog(tx, logId, originOfLog(context.firstOrigin, logId), keys.logSigner);
    const sealed = signEpoch(context, keys, logId, held, last);
    await tx
      .update(logs)
      .set({
        epoch_payload: sealed.payload,
        epoch_signature: sealed.signature,
        epoch_envelope_signature: sealed.envelopeSignature,
        epoch_key_id: keys.signer.keyId,
      })
      .where(eq(logs.id, logId));
    const head = await readHead(tx, logId);
    const first = { kind: "epoch", sealed, place: null } as const;
    const { edge, parameters } = await appendLeaves(head, emptyRightEdge(), [first], keys.logSigner);
    const append = [...parameters({ attestation: keys.signer.keyId, zk: null }), ...describeRecords([])];
    await tx.execute(planOnce);
    await storeWithin(tx, append, []);
    const isCut = ending?.isRestored === true || isHigher(last, toSignedHead(held));
    if (isCut && ending === null) throw new Error("the database lacks what was signed last");
    const ended = isCut && ending !== null ? await endUnknown(ending, guard, keys, tx) : null;
    const signed = ended ?? { logId, size: edge.size, rootHex: hexEncode(edge.root) };
    await lock?.supersede(out, toSignedHead(held), signed);
    return { signed, origin: head.origin, previous: last, held: toSignedHead(held), isCut };
  });
  await lock?.confirm(begun.signed, (heads) => holdsCheckpoints(context.database.db, heads));
  await guard.advance(begun.signed);
  return begun;
}
