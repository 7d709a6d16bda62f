/** View of a request on the approval page: everything that a holder of the link may see. */

import { and, desc, eq } from "drizzle-orm";
import { maxWrongCodes } from "#lib/api/schemas/approval-page";
import type { ApprovalView } from "#lib/api/schemas/approval-view";
import type { Executor } from "#lib/db/client";
import { readDatabaseTime } from "#lib/db/database-time";
import { agentKeys, attestations } from "#lib/db/schema";
import {
  type ApprovalRequest,
  bindRequest,
  type HumanAuthorization,
  isPasskeyApproval,
  isWorldIdApproval,
} from "#lib/protocol/approval/approval";
import { fillPlaces } from "#lib/protocol/approval/assign-groups";
import { base64Decode, utf8Decode } from "#lib/protocol/encoding/bytes";
import { publicUrl } from "#lib/protocol/statement/addresses";
import type { ProtocolVersion } from "#lib/protocol/world-id/world-id-proof";
import type { Context } from "#lib/services/approvals/context";
import { readApprovalToken } from "#lib/services/approvals/link";
import { environmentOf } from "#lib/services/approvals/read";
import {
  type AuthorizationRow,
  describeDenied,
  type FoundAuthorization,
  findAuthorization,
  parseContext,
  parseDecidedBy,
  parseGroupNames,
  parseRequest,
  parseRequestedBy,
} from "#lib/services/approvals/rows";
import { codeOf } from "./confirmation-code";
import { readApprovals } from "./store";

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
  return approvals.filter(isWorldIdApproval).map(({ level, verified_by, anchor }) => ({
    level,
    verified_by,
    is_anchored: anchor !== undefined,
  }));
}

/** Who has approved, by the groups that they count for. */
async function readGroups(
  executor: Executor,
  row: AuthorizationRow,
  { required_approvers: required }: ApprovalRequest,
): Promise<ApprovalView["groups"]> {
  if (required.length === 0) return [];
  const given = (await readApprovals(executor, row.id)).flatMap(({ records }) => records);
  const people = given.filter(isPasskeyApproval).map(({ groups }) => groups.map(({ group }) => group));
  const filled = fillPlaces(required, people);
  const names = parseGroupNames(row);
  return required.map(({ count }, index) => ({
    name: names[index] ?? null,
    count,
    given: filled[index] ?? 0,
  }));
}

async function describeApproval(context: Context, row: FoundAuthorization): Promise<ApprovalView> {
  const { db } = context.database;
  const request = parseRequest(row);
  const binding = bindRequest(request);
  const environment = environmentOf(context, row);
  return {
    request_id: row.id,
    status: row.status,
    request,
    binding,
    context: parseContext(row),
    context_salt: row.context_salt ?? "",
    agent: {
      slug: request.agent_slug,
      name: row.agent_name,
      public_key: request.agent_public_key,
      key_status: await readKeyStatus(db, row.agent_id, request.agent_public_key),
    },
    organization: { id: row.organization_id, name: row.organization_name },
    group_names: parseGroupNames(row),
    requested_by: parseRequestedBy(row),
    required_level: request.required_level,
    groups: await readGroups(db, row, request),
    approvals: { required: row.approvals_required, given: row.given },
    protocol_version: row.protocol_version as ProtocolVersion | null,
    created_at: request.created_at,
    expires_at: request.expires_at,
    now: (await readDatabaseTime(db)).toISOString(),
    decided_at: row.decided_at?.toISOString() ?? null,
    decided_by: parseDecidedBy(row),
    confirmation_code: row.require_code ? null : codeOf(context, row),
    code_tries_left: row.require_code ? maxWrongCodes - row.wrong_codes : null,
    previously_denied: describeDenied(row.deniedId, row.deniedAt),
    environment,
    is_test: environment !== "production",
    usable_until: row.usable_until?.toISOString() ?? null,
    proofs: readProofs(row),
    denial_reason: row.denial_reason,
    revoked_at: row.revoked_at?.toISOString() ?? null,
    is_frozen: row.agentFrozenAt !== null,
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
