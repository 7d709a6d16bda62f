/** The portal's first page and an organization's first steps, usage of keys and agents, search, and the log of requests. */

import { and, count, desc, eq, gt, gte, ilike, inArray, lt, or, sql, sum } from "drizzle-orm";
import type { PgColumn } from "drizzle-orm/pg-core";
import type { MemberPrincipal } from "#lib/api/http/context";
import { cutPage, decodeCursor, encodeCursor, type PageQuery } from "#lib/api/http/opaque-text";
import type { NextStepName, RequestFilters, SearchHit, Usage } from "#lib/api/schemas/portal";
import { isCalendarTime } from "#lib/api/schemas/primitives";
import { containing, queryRows } from "#lib/db/client";
import {
  agents,
  apiKeys,
  attestations,
  authorizationRequests,
  dailyCounts,
  dailyKeyUsage,
  dailyRequests,
  dailyUsage,
  organizations,
  requestLog,
} from "#lib/db/schema";
import { AppError } from "#lib/errors";
import { hexEncode, isUuid, sha256, utf8Encode } from "#lib/protocol/encoding/bytes";
import { findRequestId, parseSearched } from "#lib/protocol/text/mixed-script";
import { dayMs } from "#lib/protocol/time/time-words";
import { listApprovers } from "#lib/services/accounts/approvers";
import { recordAct } from "#lib/services/accounts/audit";
import { readRequesterRule, requireRole } from "#lib/services/accounts/members";
import type { Context } from "#lib/services/approvals/context";
import { requestAuthorization } from "#lib/services/approvals/request/request";
import { approvalUrl } from "#lib/services/approvals/rows";
import { attest } from "#lib/services/attestations/attest";
import { countAttestations, ofOrganization } from "#lib/services/attestations/list";
import { listOwnAttestations, toFilter } from "#lib/services/attestations/own";
import { isLiveKey, isTestKey, utcDay } from "#lib/services/keys/api-keys";
import { actAsKey } from "#lib/services/keys/authenticate";

/* The three steps with which an organization begins: read from what it has done, never from a mark of their own. */

export interface FirstSteps {
  hasKey: boolean;
  attestation: { id: string; slug: string } | null;
  approval: { requestId: string; isApproved: boolean; approvalUrl: string } | null;
}

export async function findNextStep(context: Context, organizationId: string): Promise<NextStepName | null> {
  const { db } = context.database;
  const [found] = await queryRows<Record<NextStepName, boolean>>(
    db,
    sql`SELECT
      EXISTS (SELECT FROM agents WHERE organization_id = ${organizationId} AND public_key IS NOT NULL) AS agent_key,
      EXISTS (SELECT FROM approvers WHERE organization_id = ${organizationId}) AS approvers,
      EXISTS (SELECT FROM organization_domains WHERE organization_id = ${organizationId}) AS domain`,
  );
  const order = ["agent_key", "approvers", "domain"] as const;
  return order.find((name) => found?.[name] !== true) ?? null;
}

/** The caller has seen that the person belongs to the organization. */
export async function readFirstSteps(context: Context, organizationId: string): Promise<FirstSteps> {
  const { db } = context.database;
  const keys = db
    .select({ id: apiKeys.id })
    .from(apiKeys)
    .where(and(eq(apiKeys.organization_id, organizationId), isLiveKey))
    .limit(1);
  const first = db
    .select({ id: attestations.id, slug: agents.slug })
    .from(attestations)
    .innerJoin(agents, eq(agents.id, attestations.agent_id))
    .where(eq(attestations.organization_id, organizationId))
    .orderBy(attestations.id)
    .limit(1);
  const { status, expires_at, created_at, organization_id, id } = authorizationRequests;
  const hasStatus = (wanted: "approved" | "pending") =>
    and(eq(organization_id, organizationId), eq(status, wanted));
  const approved = db.select({ id }).from(authorizationRequests).where(hasStatus("approved")).limit(1);
  const waiting = db
    .select({ id })
    .from(authorizationRequests)
    .where(and(hasStatus("pending"), gt(expires_at, sql`now()`)))
    .orderBy(desc(created_at))
    .limit(1);
  const [[key], [attestation], [given], [asked]] = await Promise.all([keys, first, approved, waiting]);
  const shown = given ?? asked;
  return {
    hasKey: key !== undefined || attestation !== undefined,
    attestation: attestation ?? null,
    approval: shown
      ? {
          requestId: shown.id,
          isApproved: given !== undefined,
          approvalUrl: approvalUrl(context, shown.id),
        }
      : null,
  };
}

const firstAgent = "my-first-agent";

/** The organization's first agent, or one whose name no other organization can have. */
export async function chooseSlug(context: Context, organizationId: string, name: string): Promise<string> {
  const [own] = await context.database.db
    .select({ slug: agents.slug })
    .from(agents)
    .where(eq(agents.organization_id, organizationId))
    .orderBy(agents.created_at)
    .limit(1);
  return own?.slug ?? `${name}-${hexEncode(context.random(4))}`;
}

export async function sendFirstAttestation(context: Context, person: MemberPrincipal): Promise<void> {
  const caller = await actAsKey(context, person, "attest");
  const { attestation } = await readFirstSteps(context, person.organizationId);
  if (attestation !== null) throw new AppError("forbidden", "your organization has attestations already");
  const action = "Sent a first attestation from the portal";
  const body = {
    agent_slug: await chooseSlug(context, person.organizationId, firstAgent),
    action,
    inputs_hash: `sha256:${hexEncode(sha256(utf8Encode(action)))}`,
  };
  const { attestation_id } = await attest(context, { caller, body, raw: body, hold: null });
  context.requestLog.countAttested(person.organizationId, body.agent_slug, context.clock().getTime());
  await recordAct(context, context.database.db, person, {
    action: "attestation.created",
    subject: attestation_id,
  });
}

/** The group that can decide: the default one, or the first that has somebody with a passkey. */
async function findAbleGroup(context: Context, person: MemberPrincipal) {
  const { groups } = await listApprovers(context, person);
  const able = groups.filter(({ enrolled }) => enrolled > 0);
  return able.find(({ isDefault }) => isDefault) ?? able[0];
}

/** Chooses deciders: without World ID a group; with it, only a group of somebody who may approve what they ask for. */
async function chooseDeciders(context: Context, person: MemberPrincipal) {
  const group = await findAbleGroup(context, person);
  const { mayApprove } = await readRequesterRule(context.database.db, person.organizationId);
  if (context.settings.worldId !== "none" && (group === undefined || !mayApprove)) return {};
  if (group === undefined)
    throw new AppError(
      "forbidden",
      "add a passkey first, or under Approvers an approver with one and a group with them",
    );
  return { required_approvers: [{ group: group.id, count: 1 }], required_level: "none" as const };
}

export async function askForFirstApproval(context: Context, person: MemberPrincipal): Promise<void> {
  const principal = await actAsKey(context, person, "authorize");
  const { approval } = await readFirstSteps(context, person.organizationId);
  if (approval !== null) throw new AppError("forbidden", "your organization has a request already");
  const body = {
    agent_slug: await chooseSlug(context, person.organizationId, firstAgent),
    action: "Try out an approval",
    context: { what_happens: "Nothing. This is your first approval, requested from the portal." },
    ...(await chooseDeciders(context, person)),
  };
  await requestAuthorization(context, { principal, body, hold: null });
}

/*
 * Usage of keys and agents, today and in the last 7 and 30 UTC days. Nothing is counted here: the statement that stores
 * a batch adds up a key's attestations, and the request log its requests and an agent's attestations.
 */

const shownFirst = 5;

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

export async function readKeyUsage(
  context: Context,
  person: MemberPrincipal,
): Promise<Map<string, KeyUsage>> {
  const { db } = context.database;
  await requireRole(db, person, "read");
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

export async function readAgentUsage(context: Context, person: MemberPrincipal): Promise<Map<string, Usage>> {
  await requireRole(context.database.db, person, "read");
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

const chartDays = 30;
const latest = 5;

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
  const filter = toFilter(context, { warnings: "true", from });
  return { count: await countAttestations(context, ofOrganization(organizationId), filter), from };
}

export async function readOverview(context: Context, person: MemberPrincipal) {
  const { db } = context.database;
  await requireRole(db, person, "read");
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
    hasPasskeys: (await findAbleGroup(context, person)) !== undefined,
    nextStep: await findNextStep(context, organizationId),
    busiest: await readBusiest(context, person),
    latest: (await listOwnAttestations(context, person, {}, { limit: latest })).rows,
  };
}

const most = 5;

type Find = (context: Context, organizationId: string, text: string) => Promise<SearchHit[]>;

const findKeys: Find = async ({ database: { db } }, organizationId, text) => {
  const isIt = isUuid(text) ? eq(apiKeys.id, text) : ilike(apiKeys.name, containing(text));
  const rows = await db
    .select({ id: apiKeys.id, name: apiKeys.name })
    .from(apiKeys)
    .where(and(eq(apiKeys.organization_id, organizationId), isIt))
    .orderBy(desc(apiKeys.id))
    .limit(most);
  return rows.map(({ id, name }) => ({ kind: "Key", label: name, href: `/portal/requests?key=${id}` }));
};

const findAgents: Find = async ({ database: { db } }, organizationId, text) => {
  const isIt = or(ilike(agents.slug, containing(text)), ilike(agents.name, containing(text)));
  const rows = await db
    .select({ slug: agents.slug })
    .from(agents)
    .where(and(eq(agents.organization_id, organizationId), isIt))
    .orderBy(desc(agents.id))
    .limit(most);
  return rows.map(({ slug }) => ({ kind: "Agent", label: slug, href: `/portal/agents/${slug}` }));
};

const findAttestation: Find = async ({ database: { db } }, organizationId, text) => {
  // A link as well, such as a receipt's.
  const searched = parseSearched(text);
  if (searched?.kind !== "attestation_id") return [];
  const rows = await db
    .select({ id: attestations.id })
    .from(attestations)
    .where(and(eq(attestations.organization_id, organizationId), eq(attestations.id, searched.id)));
  return rows.map(({ id }) => ({ kind: "Attestation", label: id, href: `/portal/attestations/${id}` }));
};

const findAuthorization: Find = async ({ database: { db } }, organizationId, text) => {
  const { id, organization_id: owner } = authorizationRequests;
  const rows = await db
    .select({ id })
    .from(authorizationRequests)
    .where(and(eq(owner, organizationId), eq(id, findRequestId(text) ?? "")));
  return rows.map((row) => ({
    kind: "Authorization",
    label: row.id,
    href: `/portal/authorizations/${row.id}`,
  }));
};

const findRequest: Find = async ({ database: { db } }, organizationId, text) => {
  const rows = await db
    .select({ id: requestLog.id })
    .from(requestLog)
    .where(and(eq(requestLog.organization_id, organizationId), eq(requestLog.id, text)));
  return rows.map(({ id }) => ({ kind: "Request", label: id, href: `/portal/requests?id=${id}` }));
};

export async function searchOrganization(
  context: Context,
  person: MemberPrincipal,
  text: string,
): Promise<SearchHit[]> {
  await requireRole(context.database.db, person, "read");
  const finds = [findKeys, findAgents, findAttestation, findAuthorization, findRequest];
  const found = await Promise.all(finds.map((find) => find(context, person.organizationId, text)));
  return found.flat();
}

type Row = typeof requestLog.$inferSelect;

const toCursor = ({ at, id }: Row) => encodeCursor(`${at.getTime()}.${id}`);

function isAfter(cursor: string) {
  const [at, id] = decodeCursor(cursor, (text) => {
    const [, ms, id] = /^(\d{1,15})\.(req_[0-9a-f]{24})$/.exec(text) ?? [];
    const at = new Date(Number(ms));
    return id !== undefined && isCalendarTime(at) ? ([at, id] as const) : undefined;
  });
  return sql`(${requestLog.at}, ${requestLog.id}) < (${at.toISOString()}::timestamptz, ${id})`;
}

function matches({ status, key, code, id }: RequestFilters) {
  const from = status === undefined ? 0 : Number(status) * 100;
  return and(
    status === undefined ? undefined : and(gte(requestLog.status, from), lt(requestLog.status, from + 100)),
    key === undefined ? undefined : eq(requestLog.api_key_id, key),
    code === undefined ? undefined : eq(requestLog.error_code, code),
    id === undefined ? undefined : eq(requestLog.id, id),
  );
}

async function nameKeys(context: Context, organizationId: string, ids: string[]) {
  const rows = await context.database.db
    .select({ id: apiKeys.id, name: apiKeys.name, isTest: isTestKey })
    .from(apiKeys)
    .where(and(eq(apiKeys.organization_id, organizationId), inArray(apiKeys.id, [...new Set(ids)])));
  return new Map(rows.map((row) => [row.id, row]));
}

export async function listRequests(
  context: Context,
  person: MemberPrincipal,
  filters: RequestFilters,
  page: PageQuery,
) {
  const { db } = context.database;
  await requireRole(db, person, "read");
  const rows = await db
    .select()
    .from(requestLog)
    .where(
      and(
        eq(requestLog.organization_id, person.organizationId),
        matches(filters),
        page.cursor === undefined ? undefined : isAfter(page.cursor),
      ),
    )
    // Order of the index.
    .orderBy(sql`${requestLog.at} DESC NULLS LAST, ${requestLog.id} DESC NULLS LAST`)
    .limit(page.limit + 1);
  const { shown, nextCursor } = cutPage(rows, page, toCursor);
  const keys = await nameKeys(
    context,
    person.organizationId,
    shown.map((row) => row.api_key_id),
  );
  return { rows: shown.map((row) => ({ ...row, key: keys.get(row.api_key_id) ?? null })), nextCursor };
}

/** Loads the page's facts beside the list: the keys to choose from, and how many requests are missing. */
export async function describeRequestLog(context: Context, person: MemberPrincipal) {
  const { db } = context.database;
  await requireRole(db, person, "read");
  const { organizationId } = person;
  const days = context.settings.REQUEST_LOG_DAYS;
  const firstDay = utcDay(new Date(context.clock().getTime() - days * dayMs));
  const [missing] = await db
    .select({ requests: sum(dailyRequests.dropped) })
    .from(dailyRequests)
    .where(and(eq(dailyRequests.organization_id, organizationId), gte(dailyRequests.day, firstDay)));
  const keys = await db
    .select({ id: apiKeys.id, name: apiKeys.name })
    .from(apiKeys)
    .where(eq(apiKeys.organization_id, organizationId))
    .orderBy(desc(apiKeys.id))
    .limit(100);
  return { keys, days, missing: Number(missing?.requests ?? 0) };
}
