/**
 * GET /v1/verify/:id: every request verifies the stored bytes again, the same list that outsiders run
 * (lib/domain/verify.ts). What a private attestation keeps to itself is taken out afterwards.
 */

import { DrizzleQueryError, eq } from "drizzle-orm";
import type { Context } from "#lib/approvals/context";
import type { LogReceipt } from "#lib/contract/attest";
import type { VerifyResponse } from "#lib/contract/verify";
import type { Executor } from "#lib/db/client";
import { agents, attestations, toolManifests } from "#lib/db/schema";
import { base64Decode, hexEncode } from "#lib/domain/bytes";
import { isJsonObject, type JsonObject, type JsonValue } from "#lib/domain/canonical-json";
import { encodePublicKeyPem } from "#lib/domain/ed25519-key";
import { isUuid } from "#lib/domain/ids";
import { parseZkProof } from "#lib/domain/presentation-shape";
import { reasons } from "#lib/domain/reasons";
import type { Receipt } from "#lib/domain/receipt";
import { type ActionStatement, parseActionStatement } from "#lib/domain/statement";
import { type AttestationReport, verifyAttestation } from "#lib/domain/verify";
import { warningOf } from "#lib/domain/warnings";
import { isOwnerOf, type Principal } from "#lib/door/principal";
import { AppError } from "#lib/errors";
import { readOpenHead, readReceipt } from "#lib/log/reader";
import { shareOf } from "#lib/workers/fair-share";
import { createCostlyChecks } from "./costly-checks";
import { verifyOwnSignature } from "./own-signature";
import { describeAttestation, isErased } from "./view";

export const attestationNotFound = () => new AppError("attestation_not_found", "no attestation has this id");

export async function readAttestation(executor: Executor, id: string) {
  if (!isUuid(id)) throw attestationNotFound();
  const [row] = await executor
    .select({ attestation: attestations, slug: agents.slug })
    .from(attestations)
    .innerJoin(agents, eq(agents.id, attestations.agent_id))
    .where(eq(attestations.id, id));
  if (!row) throw attestationNotFound();
  const { attestation, slug } = row;
  const statement = attestation.payload === null ? null : parseActionStatement(attestation.payload);
  const asked = statement?.predicate.request["agent_slug"];
  return { ...attestation, statement, slug: typeof asked === "string" ? asked : slug };
}

export type StoredAttestation = Awaited<ReturnType<typeof readAttestation>>;

/** `viewer`: null for the public. */
export function maySee(attestation: StoredAttestation, viewer: Principal | null): boolean {
  return attestation.is_public || isOwnerOf(viewer, attestation);
}

async function readManifest(
  executor: Executor,
  statement: ActionStatement | null,
): Promise<Uint8Array | null> {
  const hash = statement?.predicate.registered.tool_manifest_hash ?? null;
  if (hash === null) return null;
  const [row] = await executor
    .select({ manifest: toolManifests.manifest })
    .from(toolManifests)
    .where(eq(toolManifests.hash, hash));
  return row?.manifest ?? null;
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
const showText = (bytes: Uint8Array) => new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);

export function parseObject(bytes: Uint8Array | null): JsonObject | null {
  if (bytes === null) return null;
  const value = parseStored(showText(bytes)) as JsonValue;
  return isJsonObject(value) ? value : {};
}

/** Where the log's rows do not give a receipt (a leaf or tile is gone), one that proves nothing. */
async function readReceiptAsStored(context: Context, stored: StoredAttestation): Promise<LogReceipt> {
  const { db } = context.database;
  try {
    return await readReceipt(db, stored.log_id, stored.leaf_index, context.settings.WITNESSES);
  } catch (error) {
    if (error instanceof DrizzleQueryError) throw error;
    context.logger.error({ err: error, attestation: stored.id }, "the log has no receipt for an attestation");
    const { origin } = await readOpenHead(db);
    return { origin, index: stored.leaf_index, tree_size: 0, entry: "", inclusion_proof: [], checkpoint: "" };
  }
}

async function makeReceipt(context: Context, stored: StoredAttestation) {
  const { db } = context.database;
  const log = await readReceiptAsStored(context, stored);
  const manifest = await readManifest(db, stored.statement);
  const authorization = parseObject(stored.human_authorization);
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
    log: {
      index: log.index,
      treeSize: log.tree_size,
      entry: base64Decode(log.entry),
      inclusionProof: log.inclusion_proof.map(base64Decode),
      checkpoint: log.checkpoint,
    },
    toolManifest: manifest,
    humanAuthorization: authorization,
    zkProof: parseStored(stored.zk_proof),
  };
  return { receipt, log, manifest, authorization };
}

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
    verifySignature: verifyOwnSignature,
  };
  const share = shareOf("other", { organization: stored.organization_id, client });
  const report = await verifyAttestation(made.receipt, trust, createCostlyChecks(context, isVisible, share));
  return { ...made, report };
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
 * Also null if the stored text is not JSON of that shape: only a changed row is like that, and its check has failed.
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

/** `client`: the address that asks; costly checks are done as its share. Null for a signed-in person. */
export async function verifyAttestationById(
  context: Context,
  id: string,
  viewer: Principal | null,
  client: string | null,
): Promise<VerifyResponse> {
  const stored = await readAttestation(context.database.db, id);
  const isVisible = maySee(stored, viewer);
  const { receipt, log, manifest, authorization, report } = await verifyStored(
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
    log,
  };
  return {
    valid: report.valid,
    warnings: isVisible ? report.warnings : report.warnings.map(({ code }) => warningOf(code)),
    status: isErased(stored) ? "erased" : "recorded",
    erased_at: stored.erased_at?.toISOString() ?? null,
    ...describeAttestation(baseUrl, facts),
    human_authorization: isVisible ? authorization : null,
    zk_proof: shownProof(receipt.zkProof),
    tool_manifest: manifest !== null && isVisible ? showText(manifest) : null,
    checks: visibleChecks(report, isVisible),
    independent_verification: {
      public_key_pem: key ? encodePublicKeyPem(key.publicKey) : "",
      curl_pubkey: `curl -fsS ${baseUrl}/v1/pubkey`,
      recreate_payload: payload,
      verify_signature:
        payload === null ? null : verifySignatureLines(baseUrl, stored.id, stored.key_id, stored.is_public),
    },
  };
}
