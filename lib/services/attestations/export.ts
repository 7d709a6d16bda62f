/** Exports of an organization's own attestations, private ones included, written batch by batch. */

import { actorOf, type MemberPrincipal } from "#lib/api/http/principal";
import type { AttestationFilters, ExportFormat } from "#lib/api/schemas/portal-attestations";
import { base64Encode, utf8Decode } from "#lib/protocol/encoding/bytes";
import { encodeCsvLine } from "#lib/protocol/encoding/csv";
import { recordAudit } from "#lib/services/accounts/audit";
import { requireRole } from "#lib/services/accounts/members";
import type { Context } from "#lib/services/approvals/context";
import { describeOwn, type ListedAttestation, ofOrganization, readAttestations } from "./list";
import { toFilter } from "./own";

const batchSize = 500;

function toRecord(context: Context, listed: ListedAttestation) {
  const { row } = listed;
  const own = describeOwn(context.settings.baseUrl, listed);
  return {
    attestation_id: own.attestation_id,
    timestamp: own.created_at,
    agent_slug: own.agent_slug,
    action: own.action,
    inputs_hash: own.inputs_hash,
    is_public: own.is_public,
    agent_authenticated: own.agent_authenticated,
    code_hash_verified: own.code_hash_verified,
    tools_authorized: own.tools_authorized,
    client_gap: own.client_gap,
    human_approval_method: own.human_approval_method,
    human_approval_environment: own.human_approval_environment,
    warnings: own.warnings.map(({ code }) => code).join(" "),
    has_zk_proof: own.has_zk_proof,
    log_index: row.leaf_index,
    payload_hash: own.payload_hash,
    key_id: row.key_id,
    signature: base64Encode(row.signature),
    public_url: own.public_url,
  };
}

const columns = [
  "attestation_id",
  "timestamp",
  "agent_slug",
  "action",
  "inputs_hash",
  "is_public",
  "agent_authenticated",
  "code_hash_verified",
  "tools_authorized",
  "client_gap",
  "human_approval_method",
  "human_approval_environment",
  "warnings",
  "has_zk_proof",
  "log_index",
  "payload_hash",
  "key_id",
  "signature",
  "public_url",
] as const satisfies readonly (keyof ReturnType<typeof toRecord>)[];

/** Newest first; a new attestation that arrives meanwhile is not in it. */
async function* readAll(context: Context, organizationId: string, filters: AttestationFilters) {
  const scope = ofOrganization(organizationId);
  const filter = toFilter(filters);
  let cursor: string | undefined;
  do {
    const page = { limit: batchSize, cursor };
    const { shown, nextCursor } = await readAttestations(context, scope, filter, page);
    if (shown.length > 0) yield shown;
    cursor = nextCursor ?? undefined;
  } while (cursor !== undefined);
}

async function* encodeCsv(context: Context, organizationId: string, filters: AttestationFilters) {
  yield encodeCsvLine(columns);
  for await (const rows of readAll(context, organizationId, filters)) {
    const records = rows.map((row) => toRecord(context, row));
    yield records
      .map((record) => encodeCsvLine(columns.map((column) => String(record[column] ?? ""))))
      .join("");
  }
}

const payloadOf = ({ row: { payload }, statement }: ListedAttestation) =>
  payload === null || statement === null ? null : utf8Decode(payload);

/**
 * Each line also has `payload`, the exact signed bytes as text; null after erasure, or if what is there isn't signed.
 */
async function* encodeNdjson(context: Context, organizationId: string, filters: AttestationFilters) {
  for await (const rows of readAll(context, organizationId, filters)) {
    const lines = rows.map((row) => JSON.stringify({ ...toRecord(context, row), payload: payloadOf(row) }));
    yield `${lines.join("\n")}\n`;
  }
}

export async function exportOwnAttestations(
  context: Context,
  person: MemberPrincipal,
  format: ExportFormat,
  filters: AttestationFilters,
): Promise<AsyncGenerator<string>> {
  const { organizationId } = person;
  const actor = actorOf(person);
  await requireRole(context.database.db, person, "member");
  await recordAudit(context, context.database.db, {
    organizationId,
    actor,
    action: "attestations.exported",
    subject: format,
    detail: { filters: JSON.stringify(filters) },
  });
  return format === "csv"
    ? encodeCsv(context, organizationId, filters)
    : encodeNdjson(context, organizationId, filters);
}
