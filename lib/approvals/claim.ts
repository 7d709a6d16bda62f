/** At most one run for an approval: the first that claims it. */
import { and, eq, isNull } from "drizzle-orm";
import { recordAudit } from "#lib/accounts/audit";
import type { Executor } from "#lib/db/client";
import { agents, authorizationRequests } from "#lib/db/schema";
import { AppError } from "#lib/errors";
import { actorOf, type Principal } from "#lib/http/principal";
import type { Context } from "./context";
import { findOwn } from "./decide";
import { describeClaim } from "./read";
import { authorizationNotFound, databaseNow, isUsable } from "./rows";
import { unclaimable, whyUnusable } from "./unusable";

const { id, status, run: runColumn, claimed_at } = authorizationRequests;

/** Null if it can't be claimed, or has been. */
async function claimOnce(tx: Executor, requestId: string, agentId: string, run: string) {
  // A freeze comes before the claim, or after its commit.
  await tx.select({ id: agents.id }).from(agents).where(eq(agents.id, agentId)).for("share");
  const [claimed] = await tx
    .update(authorizationRequests)
    .set({ claimed_at: databaseNow, run })
    .where(and(eq(id, requestId), isUsable, isNull(claimed_at)))
    .returning({ claimed_at, run: runColumn });
  return claimed ?? null;
}

/** The claim that this very run has already, or why it gets none. */
async function explain(tx: Executor, requestId: string, run: string) {
  const [row] = await tx
    .select({ status, claimed_at, run: runColumn, why: whyUnusable })
    .from(authorizationRequests)
    .where(eq(id, requestId));
  if (row === undefined) throw authorizationNotFound();
  if (row.why === null && row.run === run) return row;
  const unfit = unclaimable(row.why);
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

/** Repeats of the same run get the same answer until it is attested. */
export async function claimAuthorization(
  context: Context,
  requestId: string,
  principal: Principal,
  run: string,
) {
  const { organization_id, agent_id } = await findOwn(context, requestId, principal, "claims");
  return context.database.db.transaction(async (tx) => {
    const claimed = await claimOnce(tx, requestId, agent_id, run);
    if (claimed === null) return describeClaim(await explain(tx, requestId, run));
    await recordAudit(context, tx, {
      organizationId: organization_id,
      actor: actorOf(principal),
      action: "authorization.claimed",
      subject: requestId,
    });
    return describeClaim(claimed);
  });
}
