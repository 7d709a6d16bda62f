/** Loads the portal's first page: today's use against the limit, the last 30 days, what waits, what came last. */

import { and, count, eq, gt, gte, sql } from "drizzle-orm";
import type { MemberPrincipal } from "#lib/api/http/principal";
import { authorizationRequests, dailyUsage, organizations } from "#lib/db/schema";
import { requireRole } from "#lib/services/accounts/members";
import type { Context } from "#lib/services/approvals/context";
import { countAttestations, ofOrganization } from "#lib/services/attestations/list";
import { listOwnAttestations, toFilter } from "#lib/services/attestations/own";
import { utcDay } from "#lib/services/keys/api-keys";
import { findNextStep, readFirstSteps } from "./first-steps";
import { readBusiest } from "./usage";

const dayMs = 86_400_000;
const chartDays = 30;
const latest = 5;

/** One entry for each of the last 30 UTC days, oldest first, zero if nothing was recorded. */
async function readUsage(context: Context, organizationId: string) {
  const today = Date.parse(`${utcDay(context.clock())}T00:00:00Z`);
  const days = Array.from({ length: chartDays }, (_, i) =>
    utcDay(new Date(today - (chartDays - 1 - i) * dayMs)),
  );
  const rows = await context.database.db
    .select({ day: dailyUsage.day, attestations: dailyUsage.attestations })
    .from(dailyUsage)
    .where(and(eq(dailyUsage.organization_id, organizationId), gte(dailyUsage.day, days[0] ?? "")));
  const byDay = new Map(rows.map((row) => [row.day, row.attestations]));
  return days.map((day) => ({ day, attestations: byDay.get(day) ?? 0 }));
}

async function readPending(context: Context, organizationId: string) {
  const { db } = context.database;
  const isPending = and(
    eq(authorizationRequests.organization_id, organizationId),
    eq(authorizationRequests.status, "pending"),
    gt(authorizationRequests.expires_at, sql`now()`),
  );
  const [total] = await db.select({ count: count() }).from(authorizationRequests).where(isPending);
  return total?.count ?? 0;
}

/** Counts over the days that the chart shows. `from`: the first of them, as the list's filter takes it. */
async function readWarned(context: Context, organizationId: string, from: string) {
  const filter = toFilter({ warnings: "true", from });
  return { count: await countAttestations(context, ofOrganization(organizationId), filter), from };
}

export async function readOverview(context: Context, person: MemberPrincipal) {
  const { db } = context.database;
  await requireRole(db, person, "member");
  const { organizationId } = person;
  const [organization] = await db
    .select({
      name: organizations.name,
      perDay: organizations.attestations_per_day,
      isPublic: organizations.default_public,
    })
    .from(organizations)
    .where(eq(organizations.id, organizationId));
  const usage = await readUsage(context, organizationId);
  return {
    name: organization?.name ?? null,
    defaultPublic: organization?.isPublic ?? false,
    usage,
    attestationsToday: usage.at(-1)?.attestations ?? 0,
    attestationsPerDay: organization?.perDay ?? context.settings.LIMIT_ATTEST_PER_DAY ?? null,
    warned: await readWarned(context, organizationId, usage[0]?.day ?? utcDay(context.clock())),
    pendingAuthorizations: await readPending(context, organizationId),
    firstSteps: await readFirstSteps(context, organizationId),
    nextStep: await findNextStep(context, organizationId),
    busiest: await readBusiest(context, person),
    latest: (await listOwnAttestations(context, person, {}, { limit: latest })).rows,
  };
}
