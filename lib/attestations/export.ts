/** Exports of an organization's own attestations, private ones included, written batch by batch. */

import { recordAudit } from "#lib/accounts/audit";
import { type Person, requireRole } from "#lib/accounts/members";
import type { Context } from "#lib/approvals/context";
import type { AttestationFilters, ExportFormat } from "#lib/contract/portal-attestations";
import { publicUrl } from "#lib/domain/addresses";
import { encodeCsvLine } from "#lib/domain/csv";
import { type OwnAttestation, readOwnAttestations } from "./own";

const batchSize = 500;

function toRecord(context: Context, row: OwnAttestation) {
  return {
    attestation_id: row.id,
    timestamp: row.createdAt,
    agent_slug: row.slug,
    action: row.action,
    inputs_hash: row.inputsHash,
    is_public: row.isPublic,
    agent_authenticated: row.agentAuthenticated,
    code_hash_verified: row.codeHashVerified,
    tools_authorized: row.toolsAuthorized,
    human_approval_method: row.approvalMethod,
    human_approval_environment: row.approvalEnvironment,
    warnings: row.warnings.map(({ code }) => code).join(" "),
    has_zk_proof: row.hasZkProof,
    log_index: row.logIndex,
    payload_hash: row.payloadHash,
    key_id: row.keyId,
    signature: row.signature,
    public_url: publicUrl(context.settings.baseUrl, row.slug, row.id),
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
  for (let before: string | undefined; ; ) {
    const rows = await readOwnAttestations(context, organizationId, filters, {
      before,
      limit: batchSize,
    });
    if (rows.length > 0) yield rows;
    if (rows.length < batchSize) return;
    before = rows.at(-1)?.id;
  }
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

/** Each line also has `payload`, the exact signed bytes as text; null after erasure, or where nobody signed what is there. */
async function* encodeNdjson(context: Context, organizationId: string, filters: AttestationFilters) {
  for await (const rows of readAll(context, organizationId, filters)) {
    const lines = rows.map((row) => JSON.stringify({ ...toRecord(context, row), payload: row.payload }));
    yield `${lines.join("\n")}\n`;
  }
}

export async function exportOwnAttestations(
  context: Context,
  person: Person,
  format: ExportFormat,
  filters: AttestationFilters,
): Promise<AsyncGenerator<string>> {
  const { organizationId, actor } = person;
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
