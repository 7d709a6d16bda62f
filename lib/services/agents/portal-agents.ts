/** An organization's own agents, as the portal lists and changes them. */

import { and, count, desc, eq, lt, ne } from "drizzle-orm";
import type { z } from "zod";
import type { MemberPrincipal } from "#lib/api/http/context";
import { cutPage, type PageQuery } from "#lib/api/http/cursor";
import type { registerBody, updateIdentityBody } from "#lib/api/schemas/identity";
import type { Executor } from "#lib/db/client";
import { agentChanges, agents, attestations } from "#lib/db/schema";
import { toolsOfManifest } from "#lib/protocol/statement/identity-checks";
import type { AccountsContext } from "#lib/services/accounts/context";
import { type Act, requireRole } from "#lib/services/accounts/members";
import { agentNotFound, describeKeyStatus, type FoundAgent, findAgent } from "./agents";
import {
  type FreezeContext,
  freezeAgent,
  putTools,
  readIdentity,
  registerIdentity,
  unfreezeAgent,
  updateIdentity,
} from "./identities";

export async function listOwnAgents(context: AccountsContext, person: MemberPrincipal, page: PageQuery) {
  const { db } = context.database;
  await requireRole(db, person, "read");
  const rows = await db
    .select({ slug: agents.slug, id: agents.id })
    .from(agents)
    .where(
      and(
        eq(agents.organization_id, person.organizationId),
        page.cursor === undefined ? undefined : lt(agents.id, page.cursor),
      ),
    )
    .orderBy(desc(agents.id))
    .limit(page.limit + 1);
  const { shown, nextCursor } = cutPage(rows, page, ({ id }) => id);
  const described = await Promise.all(shown.map(({ slug }) => describeOwnAgent(context, slug)));
  return {
    rows: described.filter((row) => row !== null),
    nextCursor,
  };
}

async function describeOwnAgent(context: AccountsContext, slug: string) {
  const { db } = context.database;
  const agent = await findAgent(db, slug);
  if (agent === null) return null;
  const [total] = await db
    .select({ count: count() })
    .from(attestations)
    .where(eq(attestations.agent_id, agent.id));
  return {
    slug: agent.slug,
    name: agent.name,
    isTest: agent.is_test,
    keyStatus: describeKeyStatus(agent),
    frozenAt: agent.frozen_at?.toISOString() ?? null,
    hasCodeHash: agent.code_hash !== null,
    tools: agent.manifest === null ? null : (toolsOfManifest(agent.manifest)?.length ?? null),
    attestations: total?.count ?? 0,
    createdAt: agent.created_at.toISOString(),
  };
}

/** Another organization's agent is one that does not exist. */
export async function requireOwnAgent(
  context: AccountsContext,
  person: MemberPrincipal,
  slug: string,
  act: Act = "read",
): Promise<FoundAgent> {
  await requireRole(context.database.db, person, act);
  const agent = await findAgent(context.database.db, slug);
  if (agent?.organization_id !== person.organizationId) throw agentNotFound();
  return agent;
}

export async function readOwnAgent(context: AccountsContext, person: MemberPrincipal, slug: string) {
  const { id, is_test: isTest } = await requireOwnAgent(context, person, slug);
  const { db } = context.database;
  return { ...(await readIdentity(db, slug)), isTest, stops: await readStops(db, id) };
}

const stopsShown = 10;

/** When it was frozen and unfrozen, newest first, with the organization's own reasons. */
async function readStops(executor: Executor, agentId: string) {
  const { change, changed_at, reason, leaf_index } = agentChanges;
  const rows = await executor
    .select({ change, changed_at, reason })
    .from(agentChanges)
    .where(and(eq(agentChanges.agent_id, agentId), ne(change, "authorization_revoked")))
    .orderBy(desc(changed_at), desc(leaf_index))
    .limit(stopsShown);
  return rows.map((row) => ({
    isFrozen: row.change === "frozen",
    at: row.changed_at.toISOString(),
    reason: row.reason,
  }));
}

export async function freezeOwnAgent(
  context: FreezeContext,
  person: MemberPrincipal,
  slug: string,
  reason: string,
): Promise<void> {
  await requireOwnAgent(context, person, slug, "freeze");
  await freezeAgent(context, person, slug, reason);
}

export async function unfreezeOwnAgent(
  context: FreezeContext,
  person: MemberPrincipal,
  slug: string,
  reason: string | null,
): Promise<void> {
  await requireOwnAgent(context, person, slug, "operate");
  await unfreezeAgent(context, person, slug, reason);
}

export async function registerOwnAgent(
  context: AccountsContext,
  person: MemberPrincipal,
  body: z.output<typeof registerBody>,
): Promise<string> {
  await requireRole(context.database.db, person, "operate");
  return (await registerIdentity(context, person, body)).identity.slug;
}

export async function updateOwnAgent(
  context: AccountsContext,
  person: MemberPrincipal,
  slug: string,
  profile: z.output<typeof updateIdentityBody>,
): Promise<void> {
  await requireOwnAgent(context, person, slug, "operate");
  await updateIdentity(context, person, slug, profile);
}

/** Descriptions stay with the tools that stay. */
export async function putOwnTools(
  context: AccountsContext,
  person: MemberPrincipal,
  slug: string,
  tools: string[],
): Promise<string> {
  const { tool_descriptions: kept } = await readOwnAgent(context, person, slug);
  const descriptions = Object.fromEntries(
    Object.entries(kept ?? {}).filter(([tool]) => tools.includes(tool)),
  );
  const body = { tools, ...(Object.keys(descriptions).length > 0 && { tool_descriptions: descriptions }) };
  return (await putTools(context, person, slug, body)).tool_manifest_hash;
}
