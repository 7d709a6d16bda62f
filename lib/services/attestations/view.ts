/** An attestation as the API returns it, taken from its signed bytes alone. */

import { inArray, isNotNull, or, type SQL, sql } from "drizzle-orm";
import type { AttestResponse, LogReceipt } from "#lib/api/schemas/attest";
import { attestations } from "#lib/db/schema";
import type { PublishedKey } from "#lib/log/signing/signing-keys";
import { base64Encode } from "#lib/protocol/encoding/bytes";
import { isJsonObject, type JsonValue } from "#lib/protocol/encoding/canonical-json";
import type { RecordPlace } from "#lib/protocol/record/agent-record";
import { isHumanApproved } from "#lib/protocol/statement/human-approval";
import { publicUrl } from "#lib/protocol/statement/product";
import {
  type ActionStatement,
  readClientNumber,
  type UnplacedPredicate,
} from "#lib/protocol/statement/statement";
import { drawWarnings, factsOfStatement, type Warning } from "#lib/protocol/statement/warnings";

export interface AttestationFacts {
  id: string;
  slug: string;
  isPublic: boolean;
  /** Null after erasure, or if the reader may not see it. */
  payload: string | null;
  payloadHashHex: string;
  signature: Uint8Array;
  envelopeSignature: Uint8Array;
  keyId: string;
  hasZkProof: boolean;
  /** Null after erasure. */
  predicate: UnplacedPredicate | null;
  record: RecordPlace | null;
  log: LogReceipt;
}

const textOrNull = (value: JsonValue | undefined) => (typeof value === "string" ? value : null);

/** Command in one line that works as is, with a program served from here. */
function verifyCommand(baseUrl: string, id: string): string {
  return `curl -fsSO ${baseUrl}/verify.mjs && node verify.mjs ${baseUrl}/v1/verify/${id}`;
}

/** True if its owner erased it. A payload that is gone without that, or still there in spite of it, is a changed row. */
export function isErased(row: { payload: Uint8Array | null; erased_at: Date | null }): boolean {
  return row.payload === null && row.erased_at !== null;
}

export function describeAttestation(baseUrl: string, facts: AttestationFacts): AttestResponse {
  const { predicate } = facts;
  const request = facts.payload === null ? undefined : predicate?.request;
  const tools = request?.["tools_used"];
  return {
    attestation_id: facts.id,
    agent_slug: facts.slug,
    action: textOrNull(request?.["action"]),
    inputs_hash: textOrNull(request?.["inputs_hash"]),
    timestamp: predicate?.timestamp ?? null,
    payload_hash: facts.payloadHashHex,
    signature: base64Encode(facts.signature),
    key_id: facts.keyId,
    public_url: publicUrl(baseUrl, facts.slug, facts.id),
    verify_command: verifyCommand(baseUrl, facts.id),
    is_public: facts.isPublic,
    has_zk_proof: facts.hasZkProof,
    agent_authenticated: predicate?.verdicts.agent_authenticated ?? null,
    code_hash_verified: predicate?.verdicts.code_hash_verified ?? null,
    tools_authorized: predicate?.verdicts.tools_authorized ?? null,
    client_gap: predicate?.verdicts.client_gap ?? null,
    human_approved: predicate ? isHumanApproved(predicate.human_approval) : null,
    human_approval: facts.payload === null ? null : (predicate?.human_approval ?? null),
    payload: facts.payload,
    envelope_signature: base64Encode(facts.envelopeSignature),
    metadata: isJsonObject(request?.["metadata"]) ? request["metadata"] : null,
    code_hash: textOrNull(request?.["code_hash"]),
    model_id: textOrNull(request?.["model_id"]),
    tools_used: Array.isArray(tools) ? tools.filter((tool) => typeof tool === "string") : null,
    client: request === undefined ? null : readClientNumber(request),
    record: facts.record,
    log: facts.log,
  };
}

/* Warnings for lists, which run no checklist: of rows whose signature holds, and the filter over them. */

type Row = Pick<typeof attestations.$inferSelect, "payload" | "erased_at" | "key_id">;

type Keys = readonly Pick<PublishedKey, "keyId" | "status">[];

export const revokedIds = (keys: Keys) =>
  keys.filter(({ status }) => status === "revoked").map(({ keyId }) => keyId);

/** Empty if the bytes aren't signed: nothing is shown of such a row. */
export function describeWarnings(row: Row, statement: ActionStatement | null, keys: Keys): Warning[] {
  if (isErased(row)) return drawWarnings({ isErased: true });
  if (statement === null) return [];
  const facts = factsOfStatement(statement.predicate, null);
  facts.isSigningKeyRevoked = keys.some(({ status, keyId }) => status === "revoked" && keyId === row.key_id);
  return drawWarnings(facts);
}

function isWarned(keys: Keys, isTestSaid: boolean): SQL | undefined {
  const revoked = revokedIds(keys);
  // Warnings that are left out: all reports of traces, or all of a TEST instance, have them, which would hide what is bad news.
  const beside = isTestSaid ? sql`'{reported_by_trace,approval_test}'` : sql`'{reported_by_trace}'`;
  return or(
    sql`NOT coalesce(${attestations.warnings}, '{}') <@ ${beside}::text[]`,
    isNotNull(attestations.erased_at),
    revoked.length === 0 ? undefined : inArray(attestations.key_id, revoked),
  );
}

export function matchesWarnings(
  wanted: boolean | undefined,
  keys: Keys,
  isTestSaid: boolean,
): SQL | undefined {
  if (wanted === undefined) return undefined;
  return wanted ? isWarned(keys, isTestSaid) : sql`NOT (${isWarned(keys, isTestSaid)})`;
}
