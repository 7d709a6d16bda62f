/** An approval that has been proven: counted beside those before it, and signed with the last one that was needed. */

import { and, eq } from "drizzle-orm";
import { recordAudit } from "#lib/accounts/audit";
import {
  type Approval,
  assembleAuthorization,
  authorizationSigningBytes,
  bindRequest,
  buildAuthorization,
} from "#lib/core/approval/approval";
import { base64Encode } from "#lib/core/encoding/bytes";
import { canonicalBytes, type JsonObject } from "#lib/core/encoding/canonical-json";
import { uuidV7 } from "#lib/core/encoding/ids";
import { authorizationRequests } from "#lib/db/schema";
import { AppError } from "#lib/errors";
import type { Actor } from "#lib/http/principal";
import type { Context } from "./context";
import { decide, findOpen } from "./decide";
import { wakeupName } from "./read";
import { type AuthorizationRow, isOpen, parseRequest, readDatabaseTime } from "./rows";
import {
  ApprovalsMoved,
  insertApproval,
  lockOpen,
  type NewApproval,
  notPending,
  readApprovals,
  standsBeside,
} from "./store";

export const refused = (why: string) => new AppError("approval_refused", `not approved: ${why}`);

/** The first approval fixes the version of World ID. */
export function requireSameVersion({ protocol_version: fixed }: AuthorizationRow, version: string): void {
  if (fixed === null || fixed === version) return;
  throw refused(
    `the first approval used World ID ${fixed}, and a proof of another version could be the same person's`,
  );
}

/** Throws the exact reason why this human may not approve beside those who have. */
function checkBeside(row: AuthorizationRow, present: Approval[], record: Approval): void {
  const isSameHuman = present.some(
    ({ environment, nullifier_hash }) =>
      environment === record.environment && nullifier_hash === record.nullifier_hash,
  );
  if (isSameHuman) {
    throw new AppError(
      "already_approved",
      "this person has already approved this request; nothing was changed",
    );
  }
  requireSameVersion(row, record.protocol_version);
  const isSamePlace = present.every(
    ({ environment, app_id, rp_id }) =>
      environment === record.environment && app_id === record.app_id && rp_id === record.rp_id,
  );
  if (!isSamePlace) throw refused("the first approval came from another World ID environment or app");
}

async function storeOneOfMany(
  context: Context,
  row: AuthorizationRow,
  approval: NewApproval,
  actor: Actor,
): Promise<void> {
  await context.database.db.transaction(async (tx) => {
    if (!(await lockOpen(tx, approval.requestId))) throw notPending();
    if (!(await standsBeside(tx, approval))) throw new ApprovalsMoved();
    const changed = await tx
      .update(authorizationRequests)
      .set({ protocol_version: approval.record.protocol_version })
      .where(and(eq(authorizationRequests.id, approval.requestId), isOpen))
      .returning({ id: authorizationRequests.id });
    if (changed.length !== 1) throw notPending();
    await insertApproval(tx, approval);
    await recordAudit(context, tx, {
      organizationId: row.organization_id,
      actor,
      action: "authorization.approval_given",
      subject: row.id,
    });
  });
  await context.wakeups.notify(wakeupName(approval.requestId));
}

function signAuthorization(
  context: Context,
  row: AuthorizationRow,
  all: Approval[],
  approvedAt: Date,
): Uint8Array {
  const { signer } = context.keys;
  const unsigned = buildAuthorization(
    parseRequest(row),
    all,
    approvedAt.toISOString(),
    signer.keyId,
    row.version,
  );
  const signature = base64Encode(signer.sign(authorizationSigningBytes(unsigned)));
  return canonicalBytes(assembleAuthorization(unsigned, signature) as unknown as JsonObject);
}

async function tryAccept(
  context: Context,
  requestId: string,
  proven: ProvenApproval,
  ip: string | null,
): Promise<void> {
  const { db } = context.database;
  const row = await findOpen(context, requestId);
  const now = await readDatabaseTime(db);
  const present = await readApprovals(db, requestId);
  const record: Approval = { ...proven, verified_at: now.toISOString() };
  const records = present.map((one) => one.record);
  checkBeside(row, records, record);
  const approval: NewApproval = {
    id: uuidV7(now.getTime(), context.random(16)),
    requestId,
    worldAction: bindRequest(parseRequest(row)).world_action,
    record,
    besides: present.map(({ id }) => id),
  };
  const actor: Actor = { kind: "human", id: `nullifier ${record.nullifier_hash}`, ip };
  if (present.length + 1 < row.approvals_required) return storeOneOfMany(context, row, approval, actor);
  await decide(context, row, () => ({
    actor,
    decision: "approved",
    decidedAt: now,
    denialReason: null,
    approved: { approval, object: signAuthorization(context, row, [...records, record], now) },
  }));
}

/** A proof that every check has passed, not yet counted. */
export type ProvenApproval = Approval extends infer One
  ? One extends Approval
    ? Omit<One, "verified_at">
    : never
  : never;

const maxAttempts = 10;

/** Counts the approval; judged again if another one was counted in between. Counting the same proof twice does nothing. */
export async function acceptApproval(
  context: Context,
  requestId: string,
  proven: ProvenApproval,
  ip: string | null,
): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await tryAccept(context, requestId, proven, ip);
    } catch (error) {
      if (!(error instanceof ApprovalsMoved) || attempt === maxAttempts) throw error;
    }
  }
}
