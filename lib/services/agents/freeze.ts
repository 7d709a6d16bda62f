/**
 * The stop button. From the commit on, a frozen agent's requests are denied, and its approvals can be neither given, claimed
 * nor used. What it does all the same can still be attested, with a warning in the signed bytes.
 */
import { and, eq, isNotNull, isNull } from "drizzle-orm";
import { type Principal, toActor } from "#lib/api/http/context";
import type { IdentityResponse } from "#lib/api/schemas/identity";
import type { Executor } from "#lib/db/client";
import { agents } from "#lib/db/schema";
import { AppError } from "#lib/errors";
import type { AccountsContext } from "#lib/services/accounts/context";
import { lockAndRecheckKey } from "#lib/services/keys/authenticate";
import { changeAgent, Unchanged } from "./agent-changes";
import { agentNotFound, findAgent, slugKey } from "./agents";
import { readIdentity } from "./identities";

export interface FreezeContext extends AccountsContext {
  agents: { delete(name: string): unknown };
}

const { id, frozen_at } = agents;

async function setFrozen(tx: Executor, agentId: string, at: Date | null): Promise<AppError | null> {
  const isOther = at === null ? isNotNull(frozen_at) : isNull(frozen_at);
  const changed = await tx
    .update(agents)
    .set({ frozen_at: at })
    .where(and(eq(id, agentId), isOther))
    .returning({ id });
  return changed.length === 1 ? null : new Unchanged();
}

/** An approver may stop an agent, and not let it go on; a passkey is asked for either. */
async function holdFreezer(tx: Executor, principal: Principal, isFrozen: boolean): Promise<void> {
  if (!isFrozen) await lockAndRecheckKey(tx, principal, "operate");
  await lockAndRecheckKey(tx, principal, "freeze");
}

async function change(
  context: FreezeContext,
  principal: Principal,
  slug: string,
  reason: string | null,
  isFrozen: boolean,
): Promise<IdentityResponse> {
  const { db } = context.database;
  const agent = await findAgent(db, slug);
  if (agent?.organization_id !== principal.organizationId) throw agentNotFound();
  if ((agent.frozen_at !== null) !== isFrozen) {
    await changeAgent(context, {
      change: isFrozen ? "frozen" : "unfrozen",
      agentId: agent.id,
      organizationId: agent.organization_id,
      actor: toActor(principal),
      lockAndRecheckKey: (tx) => holdFreezer(tx, principal, isFrozen),
      reason,
      request: null,
      apply: (tx, at) => setFrozen(tx, agent.id, isFrozen ? at : null),
      subject: agent.slug,
      event: isFrozen ? "agent.frozen" : "agent.unfrozen",
      announced: (changedAt) => ({ agent_slug: agent.slug, frozen_at: isFrozen ? changedAt : null }),
      callbackUrl: null,
    });
    context.agents.delete(slugKey(slug));
  }
  return readIdentity(db, slug);
}

/** Freezing a frozen agent changes nothing, and neither does its new reason. */
export const freezeAgent = (context: FreezeContext, principal: Principal, slug: string, reason: string) =>
  change(context, principal, slug, reason, true);

export const unfreezeAgent = (
  context: FreezeContext,
  principal: Principal,
  slug: string,
  reason: string | null,
) => change(context, principal, slug, reason, false);

export const agentFrozen = () =>
  new AppError("agent_frozen", "the organization has frozen this agent; stop, and report to your operator");
