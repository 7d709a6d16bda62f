/**
 * Usage of keys and agents, today and in the last 7 and 30 UTC days. Nothing is counted here: the statement that stores
 * a batch adds up a key's attestations, and the request log its requests and an agent's attestations.
 */

import { and, eq, gt, sql } from "drizzle-orm";
import type { PgColumn } from "drizzle-orm/pg-core";
import type { MemberPrincipal } from "#lib/api/http/principal";
import { apiKeys, dailyCounts, dailyKeyUsage } from "#lib/db/schema";
import { requireRole } from "#lib/services/accounts/members";
import type { Context } from "#lib/services/approvals/context";
import { utcDay } from "#lib/services/keys/api-keys";

const dayMs = 86_400_000;
const shownFirst = 5;

/** In UTC days that end with this one. */
export interface Usage {
  today: number;
  days7: number;
  days30: number;
}

const nothing: Usage = { today: 0, days7: 0, days30: 0 };

function sums(total: PgColumn, day: PgColumn, now: Date) {
  const after = (days: number) => utcDay(new Date(now.getTime() - days * dayMs));
  const since = (days: number) =>
    sql<number>`coalesce(sum(${total}) FILTER (WHERE ${day} > ${after(days)}), 0)::integer`;
  return { first: after(30), usage: { today: since(1), days7: since(7), days30: since(30) } };
}

async function readCounts(context: Context, organizationId: string, kind: "key" | "agent") {
  const { first, usage } = sums(dailyCounts.total, dailyCounts.day, context.clock());
  const rows = await context.database.db
    .select({ subject: dailyCounts.subject, ...usage })
    .from(dailyCounts)
    .where(
      and(
        eq(dailyCounts.organization_id, organizationId),
        eq(dailyCounts.kind, kind),
        gt(dailyCounts.day, first),
      ),
    )
    .groupBy(dailyCounts.subject);
  return new Map(rows.map(({ subject, ...counted }): [string, Usage] => [subject, counted]));
}

export interface KeyUsage {
  attestations: Usage;
  requests: Usage;
}

/** By key id: the keys that did something. */
export async function readKeyUsage(
  context: Context,
  person: MemberPrincipal,
): Promise<Map<string, KeyUsage>> {
  const { db } = context.database;
  await requireRole(db, person, "member");
  const { first, usage } = sums(dailyKeyUsage.attestations, dailyKeyUsage.day, context.clock());
  const rows = await db
    .select({ id: apiKeys.id, ...usage })
    .from(dailyKeyUsage)
    .innerJoin(apiKeys, eq(apiKeys.id, dailyKeyUsage.api_key_id))
    .where(and(eq(apiKeys.organization_id, person.organizationId), gt(dailyKeyUsage.day, first)))
    .groupBy(apiKeys.id);
  const attestations = new Map(rows.map(({ id, ...counted }): [string, Usage] => [id, counted]));
  const requests = await readCounts(context, person.organizationId, "key");
  return new Map(
    [...new Set([...attestations.keys(), ...requests.keys()])].map((id) => [
      id,
      { attestations: attestations.get(id) ?? nothing, requests: requests.get(id) ?? nothing },
    ]),
  );
}

/** By slug in lower case: the agents that recorded something through the API. */
export async function readAgentUsage(context: Context, person: MemberPrincipal): Promise<Map<string, Usage>> {
  await requireRole(context.database.db, person, "member");
  return readCounts(context, person.organizationId, "agent");
}

/** The busiest of 30 days first. */
export async function readBusiest(context: Context, person: MemberPrincipal) {
  const keys = [...(await readKeyUsage(context, person))]
    .map(([id, usage]) => ({ id, ...usage }))
    .sort((a, b) => b.requests.days30 - a.requests.days30)
    .slice(0, shownFirst);
  const agents = [...(await readAgentUsage(context, person))]
    .map(([slug, attestations]) => ({ slug, attestations }))
    .sort((a, b) => b.attestations.days30 - a.attestations.days30)
    .slice(0, shownFirst);
  const named = await context.database.db
    .select({ id: apiKeys.id, name: apiKeys.name })
    .from(apiKeys)
    .where(eq(apiKeys.organization_id, person.organizationId));
  const names = new Map(named.map(({ id, name }) => [id, name]));
  return { keys: keys.map((key) => ({ ...key, name: names.get(key.id) ?? key.id })), agents };
}
