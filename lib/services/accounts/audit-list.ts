/** The audit log as the portal, its exports and the API show it: newest first, keys and approvers by name. */

import { and, desc, eq, gte, inArray, like, lt, notInArray, type SQL, sql } from "drizzle-orm";
import type { MemberPrincipal } from "#lib/api/http/context";
import { cutPage, decodeCursor, encodeCursor, type PageQuery } from "#lib/api/http/opaque-text";
import type { Handlers } from "#lib/api/http/pipeline";
import type { rostersOperations as specs } from "#lib/api/operations/agents";
import type { AuditFilters, ExportFormat } from "#lib/api/schemas/portal";
import type { AuditEventView, AuditQuery } from "#lib/api/schemas/rosters";
import type { Executor } from "#lib/db/client";
import { apiKeys, approvers, auditEvents, organizations } from "#lib/db/schema";
import { isUuid } from "#lib/protocol/encoding/bytes";
import { isJsonObject } from "#lib/protocol/encoding/canonical-json";
import { byteOrderMark, encodeCsvLine } from "#lib/protocol/encoding/csv";
import { dayMs, readableTime } from "#lib/protocol/time/time-words";
import { recordAct } from "./audit";
import type { AccountsContext } from "./context";
import { requireRole } from "./members";
import { readRoster } from "./roster";

type Event = typeof auditEvents.$inferSelect;

async function nameKeys(executor: Executor, organizationId: string, events: Event[]) {
  const ids = events.flatMap(({ actor, subject }) => [actor, subject]).filter(isUuid);
  if (ids.length === 0) return new Map<string, string>();
  const rows = await executor
    .select({ id: apiKeys.id, name: apiKeys.name, prefix: apiKeys.prefix, lastFour: apiKeys.last_four })
    .from(apiKeys)
    .where(and(eq(apiKeys.organization_id, organizationId), inArray(apiKeys.id, [...new Set(ids)])));
  return new Map(rows.map(({ id, name, prefix, lastFour }) => [id, `${name} (${prefix}…${lastFour})`]));
}

/** Names the approvers who decided with a passkey: their actor is "approver" and the id, and "deputy_for" and another's. */
async function nameApprovers(executor: Executor, organizationId: string, events: Event[]) {
  const actors = new Map(
    events.flatMap(({ actor }) => {
      const [, id = "", replaced = ""] = /^approver (\S+)(?: deputy_for (\S+))?$/.exec(actor) ?? [];
      return isUuid(id) ? [[actor, [id, replaced].filter(isUuid)] as const] : [];
    }),
  );
  if (actors.size === 0) return [];
  const ids = [...new Set([...actors.values()].flat())];
  const rows = await executor
    .select({ id: approvers.id, name: approvers.name, email: approvers.email })
    .from(approvers)
    .where(and(eq(approvers.organization_id, organizationId), inArray(approvers.id, ids)));
  const named = new Map(rows.map(({ id, name, email }) => [id, `${name ?? "Approver"} (${email})`]));
  return [...actors].map(([actor, people]) => {
    const words = people.map((id) => named.get(id) ?? "Approver").join(", as deputy of ");
    return [actor, words] as const;
  });
}

const findName = (names: ReadonlyMap<string, string>, id: string) => names.get(id) ?? null;

function describeEvent(event: Event, names: ReadonlyMap<string, string>): AuditEventView {
  const { session, ...rest } = isJsonObject(event.detail) ? event.detail : {};
  return {
    event_id: event.id,
    at: event.created_at.toISOString(),
    actor_kind: event.actor_kind,
    actor: event.actor,
    actor_name: findName(names, event.actor),
    action: event.action,
    subject: event.subject,
    subject_name: findName(names, event.subject),
    detail: Object.keys(rest).length === 0 ? null : rest,
    ip: event.ip,
    session: typeof session === "string" ? session : null,
  };
}

async function readPage(
  executor: Executor,
  organizationId: string,
  which: SQL | undefined,
  page: PageQuery,
): Promise<{ rows: AuditEventView[]; nextCursor: string | null }> {
  const isLater = page.cursor === undefined ? undefined : lt(auditEvents.id, page.cursor);
  const found = await executor
    .select()
    .from(auditEvents)
    .where(and(eq(auditEvents.organization_id, organizationId), which, isLater))
    .orderBy(desc(auditEvents.id))
    .limit(page.limit + 1);
  const { shown, nextCursor } = cutPage(found, page, ({ id }) => id);
  const names = new Map([
    ...(await nameKeys(executor, organizationId, shown)),
    ...(await nameApprovers(executor, organizationId, shown)),
  ]);
  return { rows: shown.map((event) => describeEvent(event, names)), nextCursor };
}

/** Reads by the API's filters. An action without a dot is the first word of several. */
async function readAudit({ database }: AccountsContext, organizationId: string, query: AuditQuery) {
  const { limit, actor_kind, action, from, until } = query;
  const cursor =
    query.cursor === undefined
      ? undefined
      : decodeCursor(query.cursor, (text) => (isUuid(text) ? text : undefined));
  const isAction = action?.includes(".")
    ? eq(auditEvents.action, action)
    : like(auditEvents.action, `${action?.replaceAll("_", "\\_")}.%`);
  const which = and(
    actor_kind === undefined ? undefined : eq(auditEvents.actor_kind, actor_kind),
    action === undefined ? undefined : isAction,
    from === undefined ? undefined : gte(auditEvents.created_at, new Date(from)),
    until === undefined ? undefined : lt(auditEvents.created_at, new Date(until)),
  );
  return readPage(database.db, organizationId, which, { limit, cursor });
}

const toFilter = ({ kind, from, until }: AuditFilters) =>
  and(
    kind === undefined ? undefined : eq(auditEvents.actor_kind, kind),
    from === undefined ? undefined : gte(auditEvents.created_at, new Date(`${from}T00:00:00Z`)),
    until === undefined
      ? undefined
      : lt(auditEvents.created_at, new Date(Date.parse(`${until}T00:00:00Z`) + dayMs)),
  );

/** `until`: the last day. */
export async function listAuditEvents(
  { database: { db } }: AccountsContext,
  person: MemberPrincipal,
  query: AuditFilters & PageQuery,
) {
  await requireRole(db, person, "read");
  const { rows, nextCursor } = await readPage(db, person.organizationId, toFilter(query), query);
  const shown = rows.map((row) => ({
    id: row.event_id,
    at: row.at,
    actorKind: row.actor_kind,
    actor: row.actor_name ?? row.actor,
    action: row.action,
    subject: row.subject_name ?? row.subject,
    detail: row.detail === null ? null : JSON.stringify(row.detail),
    ip: row.ip,
    session: row.session,
  }));
  return { rows: shown, nextCursor };
}

const batchSize = 500;

async function* readAll(executor: Executor, organizationId: string, which: SQL | undefined) {
  let cursor: string | undefined;
  do {
    const page = await readPage(executor, organizationId, which, { limit: batchSize, cursor });
    if (page.rows.length > 0) yield page.rows;
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
}

const csvColumns = [
  "when",
  "action",
  "subject",
  "subject_name",
  "actor_kind",
  "actor",
  "actor_name",
  "ip",
  "session",
  "detail",
  "at",
  "event_id",
] as const;

/** `when` in words, for people; `at` for programs. */
const toLine = (row: AuditEventView) => {
  const texts = { ...row, when: readableTime(row.at), detail: row.detail && JSON.stringify(row.detail) };
  return encodeCsvLine(csvColumns.map((column) => String(texts[column] ?? "")));
};

async function* encode(format: ExportFormat, pages: AsyncGenerator<AuditEventView[]>) {
  if (format === "csv") yield `${byteOrderMark}${encodeCsvLine(csvColumns)}`;
  for await (const rows of pages)
    yield rows.map(format === "csv" ? toLine : (row) => `${JSON.stringify(row)}\n`).join("");
}

export async function exportAudit(
  context: AccountsContext,
  person: MemberPrincipal,
  format: ExportFormat,
  filters: AuditFilters,
): Promise<AsyncGenerator<string>> {
  const { organizationId } = person;
  const { db } = context.database;
  await requireRole(db, person, "take_out");
  await recordAct(context, db, person, {
    action: "audit.exported",
    subject: format,
    detail: { filters: JSON.stringify(filters) },
  });
  return encode(format, readAll(db, organizationId, toFilter(filters)));
}

/** Events that provider-sign-in.ts reads to know who may not come back by their domain. */
const kept = ["member.removed", "member.joined"];

/** Deletes events that are older than the operator keeps them, unless their organization is on legal hold. */
export async function deleteOldAudit(executor: Executor, days: number): Promise<void> {
  const onHold = executor
    .select({ id: organizations.id })
    .from(organizations)
    .where(sql`${organizations.legal_hold_since} IS NOT NULL`);
  await executor
    .delete(auditEvents)
    .where(
      and(
        lt(auditEvents.created_at, sql`now() - make_interval(days => ${days})`),
        notInArray(auditEvents.action, kept),
        notInArray(auditEvents.organization_id, onHold),
      ),
    );
}

/** A line an event; where the next page begins is in the header, as RFC 8288 has it. */
const ndjson = "application/x-ndjson";

export const rostersHandlers: Handlers<typeof specs, AccountsContext> = {
  readRoster: async ({ context, principal, query }) => ({
    body: await readRoster(context.database.db, principal.organizationId, query.number),
  }),
  readAudit: async ({ context, principal, query, request }) => {
    const { rows, nextCursor } = await readAudit(context, principal.organizationId, query);
    const next_cursor = nextCursor === null ? null : encodeCursor(nextCursor);
    if (!request.headers.get("accept")?.includes(ndjson))
      return { body: { events: rows, next_cursor }, headers: { vary: "Accept" } };
    const next = new URL(request.url);
    if (next_cursor !== null) next.searchParams.set("cursor", next_cursor);
    return new Response(rows.map((row) => `${JSON.stringify(row)}\n`).join(""), {
      headers: {
        "content-type": ndjson,
        "cache-control": "no-store",
        vary: "Accept",
        ...(next_cursor !== null && { link: `<${next.pathname}${next.search}>; rel="next"` }),
      },
    });
  },
};
