/**
 * The verification of an attestation as it is stored, by the same list that outsiders run
 * (lib/verifier/checks/verify-statement.ts). What a private attestation keeps to itself is taken out afterwards.
 */
import { eq } from "drizzle-orm";
import type { Principal } from "#lib/api/http/context";
import { SerializedJson } from "#lib/api/http/problem";
import type { CachedResponse } from "#lib/api/http/response-cache";
import type { VerifyResponse } from "#lib/api/schemas/receipts";
import { signingKeys } from "#lib/db/schema";
import { createShare, type Share } from "#lib/jobs/fair-queue";
import { readOpenHead } from "#lib/log/reading/reader";
import { identifyKeys } from "#lib/log/signing/signing-keys";
import { hexEncode } from "#lib/protocol/encoding/bytes";
import { isJsonObject, type JsonObject, type JsonValue } from "#lib/protocol/encoding/canonical-json";
import { parseZkProof } from "#lib/protocol/presentation/presentation";
import type { RecordNeighbour, ShownRecord } from "#lib/protocol/record/agent-record";
import { fail, firstFailure, pass } from "#lib/protocol/statement/outcome";
import { reasons } from "#lib/protocol/statement/reasons";
import type { CostlyChecks, Receipt, TimeEvidence } from "#lib/protocol/statement/receipt";
import { describeWarning } from "#lib/protocol/statement/warnings";
import type { Context } from "#lib/services/approvals/context";
import { summarizePublicProof } from "#lib/verifier/checks/presentation-verify";
import type { TimeBound } from "#lib/verifier/checks/time-checks";
import { type AttestationReport, verifyAttestation } from "#lib/verifier/checks/verify-statement";
import {
  describeAnchor,
  describeEntry,
  isWhole,
  maySee,
  proveEntry,
  proveTime,
  readIfChanged,
  readManifest,
  readWithTime,
  rememberTimeStamps,
  type StoredAttestation,
  type StoredEntry,
  verifyAndRemember,
} from "./stored-receipt";
import { describeAttestation, isErased } from "./view";

/* The pairing checks of a verification, in the bounded pool and remembered under the hash of all they read. */

/** `isPayloadShown`: to the reader of the verdict; the service has it either way. `share`: whose checks these are. */
function createCostlyChecks(context: Context, isPayloadShown: boolean, share: Share): CostlyChecks {
  return {
    verifyHumanAuthorization: async (object) => {
      const published = await context.keys.published();
      const serviceKeys = published.map(({ keyId, publicKey }) => ({ keyId, publicKey }));
      const input = { object, serviceKeys, v4KeyJson: context.worldId.v4KeyJson };
      const report = await context.pool.runRemembered("verifyHumanAuthorization", input, share);
      return report === null
        ? fail("authorization_malformed")
        : (firstFailure(report.checks) ?? pass(report.grade_text));
    },
    verifyBeacon: (bound) => context.pool.runRemembered("verifyBeacon", bound, share),
    verifyZkProof: async (zkProof, { attestationId, payload }) => {
      const rows = await context.database.db
        .select({ publicKey: signingKeys.public_key, status: signingKeys.status })
        .from(signingKeys)
        .where(eq(signingKeys.purpose, "zk"));
      const keysWhere = (isRevoked: boolean) =>
        rows.filter(({ status }) => (status === "revoked") === isRevoked).map(({ publicKey }) => publicKey);
      const input = {
        zkProof,
        pinnedKeys: keysWhere(false),
        revokedKeys: keysWhere(true),
        expected: { attestationId, audience: "public", ...(payload === null ? {} : { payload }) },
      };
      const report = await context.pool.runRemembered("verifyPresentation", input, share);
      return summarizePublicProof(report, isPayloadShown && payload !== null);
    },
  };
}

/** A changed row may hold anything; what is not JSON is for the check to refuse, not an error of ours. */
function parseStored(text: string | null): unknown {
  try {
    return text === null ? null : (JSON.parse(text) as unknown);
  } catch {
    return text;
  }
}

/** Broken UTF-8 shows as U+FFFD. */
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const showText = (bytes: Uint8Array) => decoder.decode(bytes);

export function parseObject(bytes: Uint8Array | null): JsonObject | null {
  if (bytes === null) return null;
  const value = parseStored(showText(bytes)) as JsonValue;
  return isJsonObject(value) ? value : {};
}

/** A changed row or tile proves nothing. */
async function proveTimeAsStored(context: Context, stored: StoredAttestation): Promise<TimeEvidence> {
  try {
    return await proveTime(context.database, stored);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    context.logger.error({ err: error, attestation: stored.id }, "the log has no anchors for an attestation");
    return { checkpoint: null, anchors: [] };
  }
}

/** Proves what is stored; where the log's rows give no receipt (a leaf or tile is gone), returns one that proves nothing. */
async function proveAsStored(context: Context, stored: StoredAttestation): Promise<StoredEntry> {
  try {
    return await proveEntry(context, stored);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    context.logger.error({ err: error, attestation: stored.id }, "the log has no receipt for an attestation");
    const { origin } = await readOpenHead(context.database.db);
    const nothing = { treeSize: 0, entry: new Uint8Array(), inclusionProof: [], checkpoint: "" };
    return { origin, index: stored.leaf_index, ...nothing };
  }
}

/** Reads the row as it is; a changed row may say anything. */
function readRecord(stored: StoredAttestation): ShownRecord | "absent" {
  const { record_agent, sequence, previous, head_sequence, head_link } = stored;
  if (record_agent === null || sequence === null || previous === null) return "absent";
  const place = { agent_id: record_agent, sequence, previous: hexEncode(previous) };
  if (head_sequence === null || head_link === null) return { place, neighbours: "absent" };
  const neighbour = (before: Uint8Array | null, payloadHash: Uint8Array | null) =>
    before === null || payloadHash === null ? null : { previous: before, payloadHash };
  return {
    place,
    neighbours: {
      before: neighbour(stored.before_previous, stored.before_hash),
      after: neighbour(stored.after_previous, stored.after_hash),
      head: { sequence: head_sequence, link: head_link },
    },
  };
}

function describeNeighbours(record: ShownRecord | "absent"): VerifyResponse["record_neighbours"] {
  if (record === "absent" || record.neighbours === "absent") return null;
  const { before, after, head } = record.neighbours;
  const describe = (one: RecordNeighbour | null) =>
    one && { previous: hexEncode(one.previous), payload_hash: hexEncode(one.payloadHash) };
  return {
    before: describe(before),
    after: describe(after),
    head: { sequence: head.sequence, link: hexEncode(head.link) },
  };
}

async function makeReceipt(context: Context, stored: StoredAttestation) {
  const log = await proveAsStored(context, stored);
  const time = await proveTimeAsStored(context, stored);
  const manifest = await readManifest(context.database, stored);
  const authorization = parseObject(stored.human_authorization);
  const record = readRecord(stored);
  const receipt: Receipt = {
    attestationId: stored.id,
    agentSlug: stored.slug,
    payload: stored.payload ?? (isErased(stored) ? "erased" : "lost"),
    isErased: stored.erased_at !== null,
    payloadHash: stored.payload_hash,
    signature: stored.signature,
    envelopeSignature: stored.envelope_signature,
    keyId: stored.key_id,
    isPublic: stored.is_public,
    log,
    toolManifest: manifest,
    humanAuthorization: authorization,
    zkProof: parseStored(stored.zk_proof),
    record,
    time,
  };
  return { receipt, log, time, manifest, authorization, record };
}

const describeBound = (bound: TimeBound | null) =>
  bound && { at: new Date(bound.timeMs).toISOString(), by: bound.by };

async function verifyStored(
  context: Context,
  stored: StoredAttestation,
  isVisible: boolean,
  client: string | null,
) {
  const made = await makeReceipt(context, stored);
  const trust = {
    keys: (await context.keys.published()).map((key) => ({ ...key, isRevoked: key.status === "revoked" })),
    logKey: await context.keys.logVerifierKey(made.log.origin),
    verifySignature: verifyAndRemember,
    witnesses: context.settings.WITNESSES?.witnesses.flatMap(({ keys }) => keys) ?? [],
    timeAuthorities: context.timeAuthorities,
    verifyTimeStamp: rememberTimeStamps,
  };
  const share = createShare("other", { organization: stored.organization_id, client });
  const costly = createCostlyChecks(context, isVisible, share);
  const report = await verifyAttestation(made.receipt, trust, costly, stored.statement);
  return Object.assign(made, { report });
}

/** Lines that work as they are on a machine with curl, jq and openssl 3. */
function verifySignatureLines(baseUrl: string, id: string, keyId: string, isPublic: boolean): string {
  const auth = isPublic ? "" : ' -H "Authorization: Bearer $COUNTERSIGN_API_KEY"';
  return [
    "dir=$(mktemp -d)",
    `curl -fsS${auth} ${baseUrl}/v1/verify/${id} > "$dir/attestation.json"`,
    `jq -j .payload "$dir/attestation.json" > "$dir/payload.json"`,
    `jq -r .signature "$dir/attestation.json" | openssl base64 -d -A > "$dir/signature.bin"`,
    `curl -fsS ${baseUrl}/v1/pubkey | jq -r 'first(.keys[] | select(.key_id == "${keyId}")).public_key_pem' > "$dir/pubkey.pem"`,
    `openssl pkeyutl -verify -pubin -inkey "$dir/pubkey.pem" -rawin -in "$dir/payload.json" -sigfile "$dir/signature.bin"`,
  ].join("\n");
}

/**
 * Parses the proof; null also if the stored text is not JSON of that shape: only a changed row is like that, and its check has
 * failed.
 */
function shownProof(zkProof: unknown): VerifyResponse["zk_proof"] {
  const parsed = zkProof === null ? "none" : parseZkProof(zkProof);
  return typeof parsed === "string" ? null : parsed;
}

/** Strangers learn which checks passed, and nothing that a check's words or reason could give away. */
const hidden = { reason: "owner_only", detail: reasons.owner_only } as const;

function visibleChecks(report: AttestationReport, isVisible: boolean): VerifyResponse["checks"] {
  return isVisible
    ? report.checks
    : report.checks.map(({ name, status }) =>
        status === "pass" ? { name, status, detail: hidden.detail } : { name, status, ...hidden },
      );
}

/** Verifies for the portal; `viewer` as in {@link maySee}. */
export const verifyAttestationById = async (context: Context, id: string, viewer: Principal | null) =>
  verifyRead(context, await readWithTime(context, id), viewer);

export const verifyRead = (
  context: Context,
  stored: StoredAttestation,
  viewer: Principal | null,
): Promise<VerifyResponse> => describeVerification(context, stored, maySee(stored, viewer), null);

/** `isVisible`: to the reader. `client`: the address whose share the costly checks are; null for a signed-in person. */
async function describeVerification(
  context: Context,
  stored: StoredAttestation,
  isVisible: boolean,
  client: string | null,
): Promise<VerifyResponse> {
  const { receipt, log, time, manifest, authorization, record, report } = await verifyStored(
    context,
    stored,
    isVisible,
    client,
  );
  const { baseUrl } = context.settings;
  const payload = stored.payload !== null && isVisible ? showText(stored.payload) : null;
  const key = (await context.keys.published()).find(({ keyId }) => keyId === stored.key_id);
  const facts = {
    id: stored.id,
    slug: stored.slug,
    isPublic: stored.is_public,
    payload,
    payloadHashHex: hexEncode(stored.payload_hash),
    signature: stored.signature,
    envelopeSignature: stored.envelope_signature,
    keyId: stored.key_id,
    hasZkProof:
      stored.zk_proof !== null &&
      report.checks.some(({ name, status }) => name === "zk_proof" && status !== "fail"),
    predicate: stored.statement?.predicate ?? null,
    record: record === "absent" ? null : record.place,
    log: describeEntry(log),
  };
  return {
    valid: report.valid,
    warnings: isVisible ? report.warnings : report.warnings.map(({ code }) => describeWarning(code)),
    status: isErased(stored) ? "erased" : "recorded",
    erased_at: stored.erased_at?.toISOString() ?? null,
    ...describeAttestation(baseUrl, facts),
    human_authorization: isVisible ? authorization : null,
    zk_proof: shownProof(receipt.zkProof),
    tool_manifest: manifest !== null && isVisible ? showText(manifest) : null,
    record_neighbours: describeNeighbours(record),
    time_bounds: {
      made_after: describeBound(report.madeAfter),
      made_before: describeBound(report.madeBefore),
      checkpoint: time.checkpoint,
      anchors: time.anchors.map(describeAnchor),
    },
    checks: visibleChecks(report, isVisible),
    independent_verification: {
      public_key_pem: key ? key.publicKeyPem : "",
      curl_pubkey: `curl -fsS ${baseUrl}/v1/pubkey`,
      recreate_payload: payload,
      verify_signature:
        payload === null ? null : verifySignatureLines(baseUrl, stored.id, stored.key_id, stored.is_public),
    },
  };
}

/*
 * Answers verification requests, in the API and on the attestation's page. Every request has the stored bytes read and
 * digested again, with the log's tiles, the entries beside it in its record and the checkpoint. If they led to a valid
 * answer before, its text is the answer; all else is verified.
 */

const everyone = "everyone";

interface Asked {
  id: string;
  viewer: Principal | null;
  client: string | null;
}

/** The text of what `describe` makes of the verification, the stored bytes and the published keys, and of nothing else. */
export async function cacheVerification(
  context: Context,
  kind: "verification" | "page",
  { id, viewer, client }: Asked,
  describe: (answer: VerifyResponse, stored: StoredAttestation) => unknown,
): Promise<SerializedJson> {
  const { answers, keys } = context;
  const begun = answers.begin();
  const version = identifyKeys(await keys.published());
  const nameView = (audience: string) => `${audience} ${version}`;
  const own = nameView(viewer?.organizationId ?? "strangers");
  const isOfView = ({ view }: CachedResponse) => view === nameView(everyone) || view === own;
  const found = answers.get(kind, id);
  const known = found !== undefined && isOfView(found) ? found : null;
  const { digest, stored } = await readIfChanged(context, id, known?.digest ?? null);
  if (stored === null) return SerializedJson.again(known?.text ?? "null");
  const answer = await describeVerification(context, stored, maySee(stored, viewer), client);
  const written = SerializedJson.of(await describe(answer, stored));
  const isUnderTheseKeys = identifyKeys(await keys.published()) === version;
  if (answer.valid && isUnderTheseKeys && isWhole(stored)) {
    const view = stored.is_public ? nameView(everyone) : own;
    answers.keep(begun, kind, stored.id, { digest, view, text: written.text });
  }
  return written;
}

export const writeVerification = (
  context: Context,
  id: string,
  viewer: Principal | null,
  client: string | null,
): Promise<SerializedJson> =>
  cacheVerification(context, "verification", { id, viewer, client }, (answer) => answer);
