/** What the approval page shows of a request: everything that whoever has the link may see. */

import { and, desc, eq } from "drizzle-orm";
import { type ApprovalView, maxWrongCodes } from "#lib/contract/approval-view";
import { type ApprovalRequest, bindRequest, type HumanAuthorization } from "#lib/core/approval/approval";
import { base64Decode, utf8Decode } from "#lib/core/encoding/bytes";
import { publicUrl } from "#lib/core/statement/addresses";
import type { ProtocolVersion } from "#lib/core/world-id/world-id-proof";
import type { Executor } from "#lib/db/client";
import { agentKeys, attestations } from "#lib/db/schema";
import { codeOf } from "./confirmation-code";
import type { Context } from "./context";
import { readApprovalToken } from "./link";
import { environmentOf } from "./read";
import {
  type AuthorizationRow,
  describeDenied,
  type FoundAuthorization,
  findAuthorization,
  parseContext,
  parseRequest,
  parseRequestedBy,
  readDatabaseTime,
} from "./rows";

/** The current state of the key that the request names. */
async function readKeyStatus(
  executor: Executor,
  agentId: string,
  publicKey: string | null,
): Promise<ApprovalView["agent"]["key_status"]> {
  if (publicKey === null) return "none";
  const [key] = await executor
    .select()
    .from(agentKeys)
    .where(and(eq(agentKeys.agent_id, agentId), eq(agentKeys.public_key, base64Decode(publicKey))))
    .orderBy(desc(agentKeys.registered_at))
    .limit(1);
  if (!key || key.retired_at !== null) return "retired";
  return key.proven_at === null ? "unproven" : "proven";
}

async function readUse(
  context: Context,
  row: AuthorizationRow,
  request: ApprovalRequest,
): Promise<ApprovalView["attestation"]> {
  if (row.attestation_id === null) return null;
  const [used] = await context.database.db
    .select({ isPublic: attestations.is_public })
    .from(attestations)
    .where(eq(attestations.id, row.attestation_id));
  return {
    id: row.attestation_id,
    public_url: publicUrl(context.settings.baseUrl, request.agent_slug, row.attestation_id),
    is_public: used?.isPublic ?? false,
  };
}

function readProofs(row: AuthorizationRow): ApprovalView["proofs"] {
  if (row.human_authorization === null) return [];
  const { approvals } = JSON.parse(utf8Decode(row.human_authorization)) as HumanAuthorization;
  return approvals.map(({ level, verified_by, anchor }) => ({
    level,
    verified_by,
    is_anchored: anchor !== undefined,
  }));
}

/** Those that the request binds. Version 1 bound none: the page showed, and shows, today's. */
function namesOf(row: AuthorizationRow) {
  if (row.version === 1) return { agentName: row.agentName, organizationName: row.organizationName };
  return { agentName: row.agent_name, organizationName: row.organization_name };
}

async function describeApproval(context: Context, row: FoundAuthorization): Promise<ApprovalView> {
  const { db } = context.database;
  const request = parseRequest(row);
  const binding = bindRequest(request);
  const environment = environmentOf(context, row);
  const { agentName, organizationName } = namesOf(row);
  return {
    request_id: row.id,
    status: row.status,
    version: row.version,
    request,
    binding,
    context: parseContext(row),
    context_salt: row.context_salt ?? "",
    agent: {
      slug: request.agent_slug,
      name: agentName,
      public_key: request.agent_public_key,
      key_status: await readKeyStatus(db, row.agent_id, request.agent_public_key),
    },
    organization: { id: row.organization_id, name: organizationName },
    requested_by: parseRequestedBy(row),
    required_level: request.required_level,
    approvals: { required: row.approvals_required, given: row.given },
    protocol_version: row.protocol_version as ProtocolVersion | null,
    created_at: request.created_at,
    expires_at: request.expires_at,
    now: (await readDatabaseTime(db)).toISOString(),
    decided_at: row.decided_at?.toISOString() ?? null,
    confirmation_code: row.require_code ? null : codeOf(context, row),
    code_tries_left: row.require_code ? maxWrongCodes - row.wrong_codes : null,
    previously_denied: describeDenied(row.deniedId, row.deniedAt),
    environment,
    is_test: environment !== "production",
    proofs: readProofs(row),
    denial_reason: row.denial_reason,
    is_erased: row.context === null,
    attestation: await readUse(context, row, request),
  };
}

/** Null for a token that this service did not make, or a request that is gone. Changes nothing. */
export async function readApprovalView(context: Context, token: string): Promise<ApprovalView | null> {
  const requestId = readApprovalToken(context, token);
  const row = requestId === null ? null : await findAuthorization(context.database, requestId);
  return row === null ? null : describeApproval(context, row);
}
