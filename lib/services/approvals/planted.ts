/**
 * Planted requests of groups whose owner arms them (docs/decisions/0054-attention-by-group.md). A schedule of 30 days is
 * committed to in the log, each request is made when its time has come as a real one would be, and opened when it has
 * ended. It never becomes a row of `authorization_requests`: nothing can run from it.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { and, asc, count, desc, eq, gt, gte, isNotNull, isNull, lte, sql } from "drizzle-orm";
import type { MemberPrincipal } from "#lib/api/http/context";
import type { AuthorizeBody } from "#lib/api/schemas/authorize";
import type { LoggedStatement } from "#lib/api/schemas/record";
import type { Executor } from "#lib/db/client";
import {
  apiKeys,
  approverGroups,
  approvers,
  authorizationRequests,
  logs,
  organizations,
  plantedRequests,
  plantedStatements,
} from "#lib/db/schema";
import { readDatabaseTime } from "#lib/db/shared-clock";
import { AppError } from "#lib/errors";
import { randomShare } from "#lib/jobs/due-work";
import { hashInputs, readInputs } from "#lib/protocol/approval/amendment";
import { amountUnits } from "#lib/protocol/approval/amount";
import { requestHash } from "#lib/protocol/approval/approval";
import { minGroupPeople } from "#lib/protocol/approval/attention";
import {
  drawTime,
  isCaught,
  makeMistake,
  type PackedPlanted,
  type PlantedEntry,
  type PlantedOpening,
  type PlantedSchedule,
  plantedFacts,
  plantedHash,
  type Share,
} from "#lib/protocol/approval/planted";
import { detailTypes, readTypes, writeTypes } from "#lib/protocol/approval/shown-content";
import {
  authorizationRequestId,
  base64Encode,
  hexDecode,
  hexEncode,
  utf8Decode,
} from "#lib/protocol/encoding/bytes";
import { canonicalBytes, canonicalJson, type JsonObject } from "#lib/protocol/encoding/canonical-json";
import { dayMs } from "#lib/protocol/time/time-words";
import { requireRole } from "#lib/services/accounts/members";
import { findAgent } from "#lib/services/agents/agents";
import { isLiveKey } from "#lib/services/keys/api-keys";
import type { Context } from "./context";
import { logPlanted, openedFrom, openPlanted } from "./decision/planted";
import { buildRequest } from "./request/build-request";
import { notifyApprovers } from "./request/notify-approvers";
import { prepareRequest } from "./request/request";
import { byPeople, parseContext, parseRequest, parseRequestedBy } from "./rows";

const scheduleDays = 30;
/** The last is shown so early that its time ends within the schedule. */
const lastDay = 28;
const templateDays = 90;
/** Minimum below which a planted request would stand out. */
const minTemplates = 5;
const maxTemplates = 50;
/** Lists of what is over stay so long on their page; of a shorter retention, so long. */
const shownDays = 30;

/** Real requests that people of the group approved by passkey alone: what can be made like one is asked of nobody else. */
async function readTemplates(executor: Executor, organizationId: string, groupId: string) {
  const r = authorizationRequests;
  const request = sql`convert_from(${r.request}, 'UTF8')::jsonb`;
  return executor
    .select()
    .from(r)
    .where(
      and(
        eq(r.organization_id, organizationId),
        gt(r.created_at, sql`clock_timestamp() - make_interval(days => ${templateDays})`),
        eq(r.status, "approved"),
        sql.raw(byPeople("decided_by")),
        isNotNull(r.context_salt),
        isNull(r.amends),
        eq(r.require_code, false),
        sql`${request} -> 'grant' = 'null' AND ${request} ->> 'required_level' = 'none'`,
        sql`${request} -> 'required_approvers' @> ${JSON.stringify([{ group: groupId }])}::jsonb`,
      ),
    )
    .orderBy(desc(r.created_at))
    .limit(maxTemplates);
}

type Template = Awaited<ReturnType<typeof readTemplates>>[number];

const minuteMs = 60_000;

/** Body as its caller sent it, as far as that shows. */
function toBody(template: Template): AuthorizeBody & { context: Record<string, string> } {
  const request = parseRequest(template);
  const { agent_slug, action, tool, amount, details, amendable, inputs_hash, usable_for_seconds } = request;
  const context = parseContext(template);
  const types = details && readTypes(details, context);
  return {
    ...{ agent_slug, action, tool, amount, context, amendable, inputs_hash, usable_for_seconds },
    ...(details && {
      details: {
        complete: details.complete,
        types:
          types &&
          Object.fromEntries(detailTypes.flatMap((type) => types[type].map(([name]) => [name, type]))),
      },
    }),
    requester: parseRequestedBy(template)?.requester,
    required_level: request.required_level,
    required_approvers: request.required_approvers,
    expires_in_minutes: Math.round(
      (Date.parse(request.expires_at) - Date.parse(request.created_at)) / minuteMs,
    ),
  };
}

/** Hash of the arguments that the details are; of arguments that nobody sees, of none. */
function hashArguments(context: Context, body: ReturnType<typeof toBody>): string | undefined {
  const { inputs_hash, details, context: shown } = body;
  if (inputs_hash == null) return undefined;
  const signed = details && { complete: details.complete, types: writeTypes(shown, details.types ?? {}) };
  const inputs = readInputs(signed ?? undefined, shown);
  return inputs === null ? `sha256:${hexEncode(context.random(32))}` : hashInputs(inputs);
}

function shuffle<One>(list: readonly One[], share: Share): One[] {
  return list
    .map((one) => ({ one, at: share() }))
    .sort((a, b) => a.at - b.at)
    .map(({ one }) => one);
}

/* Commits to a schedule. */

const isArmed = and(isNotNull(approvers.planted_per_month), eq(approvers.status, "confirmed"));

async function readArmed(executor: Executor) {
  return executor
    .select({
      id: approvers.id,
      organizationId: approvers.organization_id,
      perMonth: approvers.planted_per_month,
    })
    .from(approvers)
    .innerJoin(approverGroups, eq(approverGroups.group_id, approvers.id))
    .innerJoin(
      organizations,
      and(eq(organizations.id, approvers.organization_id), isNull(organizations.deleted_at)),
    )
    .where(isArmed)
    .groupBy(approvers.id)
    .having(gte(count(), minGroupPeople));
}

const isRunning = (groupId: string) =>
  and(
    eq(plantedStatements.group_id, groupId),
    eq(plantedStatements.kind, "schedule"),
    gt(plantedStatements.until, sql`clock_timestamp()`),
  );

class ScheduleRuns extends AppError {
  constructor() {
    super("idempotency_conflict", "a schedule of this group runs");
  }
}

async function commitSchedule(
  context: Context,
  { id: group, organizationId: organization, perMonth }: Awaited<ReturnType<typeof readArmed>>[number],
): Promise<void> {
  const { db } = context.database;
  const running = await db.select().from(plantedStatements).where(isRunning(group)).limit(1);
  if (running.length > 0) return;
  const templates = await readTemplates(db, organization, group);
  if (templates.length < minTemplates) return;
  const now = (await readDatabaseTime(db)).getTime();
  const share = () => randomShare(context);
  const bodies = templates.map(toBody);
  const facts = plantedFacts.filter((fact) => bodies.some((body) => makeMistake(body, fact, () => 0)));
  const past = templates.map(({ created_at }) => created_at.getTime());
  const entries = Array.from({ length: perMonth ?? 0 }, (): PlantedEntry => {
    const at = drawTime(past, { from: now + 60 * minuteMs, to: now + lastDay * dayMs }, share);
    return {
      request_id: authorizationRequestId(context.random(16)),
      at: new Date(at).toISOString(),
      fact: facts[Math.floor(share() * facts.length)] ?? "agent",
      salt: base64Encode(context.random(16)),
    };
  });
  const document: PlantedSchedule = {
    ...{ version: 1, organization, group },
    from: new Date(now).toISOString(),
    until: new Date(now + scheduleDays * dayMs).toISOString(),
    entries: entries.map(plantedHash).sort(),
  };
  const { from: at, until } = document;
  const schedule = hexDecode(plantedHash(document));
  await logPlanted(
    context,
    { document, organizationId: organization, groupId: group, until, at },
    async (tx) => {
      if ((await tx.select().from(plantedStatements).where(isRunning(group)).limit(1)).length > 0)
        return new ScheduleRuns();
      await tx.insert(plantedRequests).values(
        entries.map(({ request_id, at: shownAt, fact, salt }) => ({
          ...{ id: request_id, organization_id: organization, group_id: group, schedule, fact, salt },
          at: new Date(shownAt),
          status: "planned" as const,
        })),
      );
      return null;
    },
  ).catch((error: unknown) => {
    if (!(error instanceof ScheduleRuns)) throw error;
  });
}

/* Shows what is due, made by the code that makes real requests, from what is registered and allowed at that moment. */

type Planned = typeof plantedRequests.$inferSelect;

/** Null if it wouldn't be asked of the group, by passkey alone, or is no mistake. */
async function makeOne(context: Context, planned: Planned, template: Template) {
  const { db } = context.database;
  const { organization_id: organizationId, group_id: groupId, fact } = planned;
  const made = makeMistake(toBody(template), fact, () => randomShare(context));
  if (made === null) return null;
  const body = { ...made.wrong, inputs_hash: hashArguments(context, made.wrong) };
  if (fact === "agent" && (await findAgent(db, body.agent_slug)) !== null) return null;
  const isItsKey = and(eq(apiKeys.id, template.api_key_id), isLiveKey);
  const [key] = await db.select().from(apiKeys).where(isItsKey);
  if (!key) return null;
  const principal = { organizationId, keyId: key.id };
  const prepared = await prepareRequest(context, db, { principal, body }).catch((error: unknown) => {
    // Busy rules say nothing about the request: the next round asks them again.
    if (error instanceof AppError && error.errorName !== "service_unavailable") return null;
    throw error;
  });
  if (prepared === null || prepared.judged.verdict !== "ask") return null;
  const { required_level: level, required_approvers: required } = prepared.demands;
  if (level !== "none" || !required.some(({ group }) => group === groupId)) return null;
  const request = {
    ...buildRequest(context, { organizationId, body, ...prepared }),
    request_id: planned.id,
  };
  return { body, request, prepared, mistake: made.mistake };
}

/** Announces to chats as well, which people read; never to programs. */
async function announceInChats(tx: Executor, { id, organization_id: organizationId }: Planned, at: string) {
  const type = "authorization.requested";
  const data = { request_id: id, status: "pending" };
  const takes = sql`organization_id = ${organizationId} AND disabled_at IS NULL AND format <> 'standard' AND ${type} = ANY(events)`;
  const name = sql`'msg_' || left(encode(sha256(convert_to(${`${type} ${id}`}::text, 'UTF8')), 'hex'), 32)`;
  await tx.execute(sql`WITH written AS (
      INSERT INTO webhook_messages (id, organization_id, type, subject, body)
      SELECT ${name}, ${organizationId}::uuid, ${type}, ${id}, ${JSON.stringify({ type, timestamp: at, data })}
      WHERE EXISTS (SELECT FROM webhook_endpoints WHERE ${takes})
    )
    INSERT INTO webhook_deliveries (message_id, endpoint_id, status, next_attempt_at)
    SELECT ${name}, id, 'pending', clock_timestamp() FROM webhook_endpoints WHERE ${takes}`);
}

async function store(
  context: Context,
  planned: Planned,
  template: Template,
  { body, request, prepared, mistake }: NonNullable<Awaited<ReturnType<typeof makeOne>>>,
): Promise<void> {
  const { agent, hidden, judged, createdAt, demands } = prepared;
  await context.database.db.transaction(async (tx) => {
    const isDue = and(eq(plantedRequests.id, planned.id), eq(plantedRequests.status, "planned"));
    const shown = await tx
      .update(plantedRequests)
      .set({
        status: "pending",
        template_id: template.id,
        agent_id: agent?.id ?? null,
        api_key_id: template.api_key_id,
        request: canonicalBytes({ ...request }),
        request_hash: hexDecode(requestHash(request)),
        context: JSON.stringify(body.context),
        context_salt: hidden.salt,
        agent_name: hidden.names.agent_name,
        organization_name: hidden.names.organization_name,
        group_names: JSON.stringify(hidden.names.group_names),
        requested_by: canonicalJson({ ...hidden.requestedBy } as unknown as JsonObject),
        amount_units: request.amount ? amountUnits(request.amount.value) : null,
        currency: request.amount?.currency ?? null,
        rule_context: judged.rules ? canonicalJson(judged.rules.context as unknown as JsonObject) : null,
        rule_outcome: judged.rules ? JSON.stringify(judged.rules.record) : null,
        approvals_required: request.approvals_required,
        created_at: createdAt,
        expires_at: new Date(request.expires_at),
        mistake: JSON.stringify(mistake),
      })
      .where(isDue)
      .returning({ id: plantedRequests.id });
    // Another process was first.
    if (shown.length !== 1) return;
    const named = { id: planned.id, organizationId: planned.organization_id };
    await notifyApprovers(tx, named, demands.groupNames);
    await announceInChats(tx, planned, createdAt.toISOString());
  });
}

async function showOne(context: Context, planned: Planned, until: Date): Promise<void> {
  const { db } = context.database;
  const armed = await readArmed(db);
  const now = (await readDatabaseTime(db)).getTime();
  const isWanted = armed.some(({ id }) => id === planned.group_id) && until.getTime() - now > 1.5 * dayMs;
  const templates = isWanted ? await readTemplates(db, planned.organization_id, planned.group_id) : [];
  for (const template of shuffle(templates, () => randomShare(context))) {
    const made = await makeOne(context, planned, template);
    if (made !== null) return store(context, planned, template, made);
  }
  await openPlanted(context, planned.id, "withdrawn", { from: "planned" });
}

/** A planted request's content, once its page has shown long enough what was wrong. */
export const noContent = {
  ...{ request: null, context: null, context_salt: null, agent_name: null, organization_name: null },
  ...{ group_names: null, requested_by: null, rule_context: null, rule_outcome: null, questions: null },
  ...{ amount_units: null, currency: null, mistake: null, created_at: null },
} as const;

async function eraseOld({ database: { db } }: Context): Promise<void> {
  const { decided_at, organization_id, created_at } = plantedRequests;
  const isOld = sql`EXISTS (SELECT FROM ${organizations} WHERE ${organizations.id} = ${organization_id}
    AND ${organizations.legal_hold_since} IS NULL
    AND ${decided_at} < clock_timestamp() - make_interval(days => least(${shownDays}, coalesce(${organizations.retention_days}, ${shownDays}))))`;
  await db
    .update(plantedRequests)
    .set(noContent)
    .where(and(isNotNull(created_at), isOld));
}

const atOnce = 20;
export const plantedRoundMs = 20_000;

/** The time of an agent's request is no round's: one that was always made when a round begins would show by it. */
async function waitUntil({ database }: Context, at: Date, isStopped: () => boolean): Promise<void> {
  let leftMs = at.getTime() - (await readDatabaseTime(database.db)).getTime();
  for (; leftMs > 0 && !isStopped(); leftMs -= 500) await sleep(Math.min(leftMs, 500));
}

/** Runs them one by one; a failure doesn't hold up the others. */
export async function runPlantedRound(context: Context, isStopped = () => false): Promise<void> {
  const { db } = context.database;
  const attempt = (work: Promise<void>) =>
    work.catch((error: unknown) => {
      const isOver = error instanceof AppError && error.errorName === "authorization_not_pending";
      if (!isOver)
        context.logger.warn({ err: error }, "a planted request failed; the next round tries again");
    });
  const { id, at, created_at, status, schedule } = plantedRequests;
  const over = await db.select({ id, created_at }).from(plantedRequests).where(openedFrom.over).limit(atOnce);
  for (const one of over) {
    const outcome = one.created_at === null ? "withdrawn" : "expired";
    await attempt(openPlanted(context, one.id, outcome, { from: "over" }));
  }
  for (const armed of await readArmed(db)) await attempt(commitSchedule(context, armed));
  await eraseOld(context);
  const due = await db
    .select({ planned: plantedRequests, until: plantedStatements.until })
    .from(plantedRequests)
    .innerJoin(plantedStatements, eq(plantedStatements.hash, schedule))
    .where(
      and(
        eq(status, "planned"),
        lte(at, sql`clock_timestamp() + make_interval(secs => ${plantedRoundMs / 1000})`),
      ),
    )
    .orderBy(asc(at))
    .limit(atOnce);
  for (const { planned, until } of due) {
    await waitUntil(context, planned.at, isStopped);
    if (isStopped()) return;
    await attempt(showOne(context, planned, until));
  }
}

/* Results, for members and packs. */

export interface GroupPlanted {
  group: string;
  perMonth: number | null;
  /** Ended ones alone. */
  counts: {
    caught: number;
    ended: number;
    approved: number;
    changed: number;
    expired: number;
    withdrawn: number;
  };
}

/** Reads counts by group, never by person; nothing of a group that has become small. */
export async function readPlanted(context: Context, person: MemberPrincipal): Promise<GroupPlanted[]> {
  const { db } = context.database;
  const { organizationId } = person;
  await requireRole(db, person, "read");
  const groups = await db
    .select({ group: approvers.id, perMonth: approvers.planted_per_month })
    .from(approvers)
    .innerJoin(approverGroups, eq(approverGroups.group_id, approvers.id))
    .where(eq(approvers.organization_id, organizationId))
    .groupBy(approvers.id)
    .having(gte(count(), minGroupPeople));
  const ended = await db
    .select({ group: plantedRequests.group_id, outcome: plantedRequests.outcome, number: count() })
    .from(plantedRequests)
    .where(and(eq(plantedRequests.organization_id, organizationId), isNotNull(plantedRequests.outcome)))
    .groupBy(plantedRequests.group_id, plantedRequests.outcome);
  return groups.map(({ group, perMonth }) => {
    const own = ended.filter((one) => one.group === group);
    const sum = (isIt: (outcome: (typeof own)[number]["outcome"]) => boolean) =>
      own.filter(({ outcome }) => isIt(outcome)).reduce((all, { number }) => all + number, 0);
    const counts = {
      caught: sum(isCaught),
      ended: sum(() => true),
      approved: sum((one) => one === "approved"),
      changed: sum((one) => one === "changed"),
      expired: sum((one) => one === "expired"),
      withdrawn: sum((one) => one === "withdrawn"),
    };
    return { group, perMonth, counts };
  });
}

/** Schedules that end within the period, with all that was opened of them up to `last` of the log; null without one. */
export async function readPackedPlanted(
  executor: Executor,
  organizationId: string,
  { from, to }: { from: string; to: string },
  last: Pick<LoggedStatement, "log_origin" | "log_index"> | undefined,
): Promise<PackedPlanted | null> {
  const { organization_id, kind, until, group_id, document, log_id, leaf_index } = plantedStatements;
  if (last === undefined) return null;
  const { log_origin: origin, log_index: index } = last;
  const isLogged = sql`(${log_id}, ${leaf_index}) <= (SELECT id, ${index}::bigint FROM ${logs} WHERE ${logs.origin} = ${origin})`;
  const isEnded = and(gt(until, new Date(from)), lte(until, new Date(to)));
  const rows = await executor
    .select({ kind, document, name: approvers.name })
    .from(plantedStatements)
    .leftJoin(approvers, eq(approvers.id, group_id))
    .where(and(eq(organization_id, organizationId), isEnded, isLogged))
    .orderBy(asc(log_id), asc(leaf_index));
  const parse = <Document>(bytes: Uint8Array) => JSON.parse(utf8Decode(bytes)) as Document;
  const openings = rows
    .filter((one) => one.kind === "opening")
    .map((one) => parse<PlantedOpening>(one.document));
  const schedules = rows
    .filter((one) => one.kind === "schedule")
    .map(({ name, document: bytes }) => {
      const schedule = parse<PlantedSchedule>(bytes);
      const hash = plantedHash(schedule);
      const opened = openings.filter((one) => one.schedule === hash);
      return { name: name ?? "a deleted group", schedule, openings: opened };
    });
  return schedules.length === 0 ? null : { version: 1, organization: organizationId, schedules };
}
