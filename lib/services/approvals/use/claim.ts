/** One run at most for an approval: the first that claims it. */
import { and, eq, isNull, sql } from "drizzle-orm";
import { type Principal, toActor } from "#lib/api/http/context";
import { type Database, type Executor, queryRows } from "#lib/db/client";
import { agents, authorizationRequests } from "#lib/db/schema";
import { databaseNow } from "#lib/db/shared-clock";
import { AppError } from "#lib/errors";
import { isSameAgentKey } from "#lib/protocol/approval/approval";
import { recordAudit } from "#lib/services/accounts/audit";
import { shareOrganization } from "#lib/services/accounts/organizations";
import { describeRegistered } from "#lib/services/agents/agents";
import type { Context } from "#lib/services/approvals/context";
import { findOwn } from "#lib/services/approvals/decision/decide";
import { describeClaim } from "#lib/services/approvals/read";
import {
  areRulesStill,
  judgeByRulesNow,
  type RuleStop,
  RulesMoved,
} from "#lib/services/approvals/request/rules-now";
import {
  type AuthorizationRow,
  authorizationNotFound,
  isUsable,
  parseRequest,
} from "#lib/services/approvals/rows";
import { lockAndRecheckKey } from "#lib/services/keys/authenticate";
import { unclaimable, whyStopped, whyUnusable } from "./use-approval";

const { id, status, run: runColumn, claimed_at } = authorizationRequests;

/**
 * Checks that the agent has the key that the request names. The lock orders a freeze or a change of keys before or
 * after the claim.
 */
async function holdAgent(tx: Executor, row: AuthorizationRow): Promise<boolean> {
  const [agent] = await tx.select().from(agents).where(eq(agents.id, row.agent_id)).for("share");
  const { agent_public_key } = describeRegistered(agent ?? null);
  return isSameAgentKey({ ...parseRequest(row) }, agent_public_key);
}

/** Null if it can't be claimed, or has been. */
async function claimOnce(tx: Executor, requestId: string, run: string) {
  const [claimed] = await tx
    .update(authorizationRequests)
    .set({ claimed_at: databaseNow, run })
    .where(and(eq(id, requestId), isUsable, isNull(claimed_at)))
    .returning({ claimed_at, run: runColumn });
  return claimed ?? null;
}

async function explain(
  tx: Executor,
  requestId: string,
  run: string,
  { isSameKey, stop }: { isSameKey: boolean; stop: RuleStop | null },
) {
  const [row] = await tx
    .select({ status, claimed_at, run: runColumn, why: whyUnusable, stopped: whyStopped })
    .from(authorizationRequests)
    .where(eq(id, requestId));
  if (row === undefined) throw authorizationNotFound();
  const why = row.why ?? (isSameKey ? row.stopped : "other_key");
  if (why === null && stop !== null) throw new AppError(stop.reason, `${stop.words}; do not run the action`);
  if (why === null && row.run === run) return row;
  const unfit = unclaimable(why);
  if (unfit !== null) throw unfit;
  if (row.claimed_at !== null)
    throw new AppError(
      "already_claimed",
      "another run has claimed this approval; do not run the action again",
    );
  // Approved since the statement before looked: the caller didn't know of it either.
  const seen = row.status === "approved" ? "pending" : row.status;
  throw new AppError(`authorization_${seen}`, `this authorization request is ${seen}, so no run may begin`);
}

const maxAttempts = 5;

/** Repeats of the same run get the same answer until it is attested. */
export async function claimAuthorization(
  context: Context,
  requestId: string,
  principal: Principal,
  run: string,
) {
  const row = await findOwn(context, requestId, principal, "claims");
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await tryClaim(context, row, principal, run);
    } catch (error) {
      if (!(error instanceof RulesMoved) || attempt === maxAttempts) throw error;
    }
  }
}

async function tryClaim(context: Context, row: AuthorizationRow, principal: Principal, run: string) {
  const { id: requestId } = row;
  const { version, stop } = await judgeByRulesNow(context, requestId);
  return context.database.db.transaction(async (tx) => {
    await shareOrganization(tx, row.organization_id);
    await lockAndRecheckKey(tx, principal, "operate");
    const isSameKey = await holdAgent(tx, row);
    if (!(await areRulesStill(tx, requestId, version))) throw new RulesMoved();
    const claimed = isSameKey && stop === null ? await claimOnce(tx, requestId, run) : null;
    if (claimed === null) return describeClaim(await explain(tx, requestId, run, { isSameKey, stop }));
    await recordAudit(context, tx, {
      organizationId: row.organization_id,
      actor: toActor(principal),
      action: "authorization.claimed",
      subject: requestId,
    });
    return describeClaim(claimed);
  });
}

/* Approvals that a run has claimed and that no attestation followed: the action ran unrecorded, or its program ended. */

/** Notices each once. The message is written by the same statement; a process that comes second finds nothing left. */
export async function markUnattested({ db }: Pick<Database, "db">): Promise<void> {
  await queryRows(
    db,
    sql`WITH late AS (
      UPDATE authorization_requests SET unattested_at = clock_timestamp()
      WHERE claimed_at <= clock_timestamp() - interval '1 hour' AND attestation_id IS NULL AND unattested_at IS NULL
      RETURNING id, organization_id, unattested_at, callback_url
    )
    SELECT announce_event(organization_id, 'authorization.unattested', id, unattested_at,
      format('"request_id":"%s","status":"approved"', id), callback_url) FROM late`,
  );
}
