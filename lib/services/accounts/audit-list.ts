/** The audit log as the portal shows it: newest first, keys and approvers by name. */

import { and, desc, eq, inArray, lt } from "drizzle-orm";
import type { MemberPrincipal } from "#lib/api/http/context";
import { cutPage, type PageQuery } from "#lib/api/http/cursor";
import type { AuditFilters } from "#lib/api/schemas/portal";
import type { Executor } from "#lib/db/client";
import { apiKeys, approvers, auditEvents } from "#lib/db/schema";
import { isUuid } from "#lib/protocol/encoding/bytes";
import { isJsonObject } from "#lib/protocol/encoding/canonical-json";
import type { AccountsContext } from "./context";
import { requireRole } from "./members";

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

/** Those who decided with a passkey: their actor is "approver" and the id. */
async function nameApprovers(executor: Executor, organizationId: string, events: Event[]) {
  const ids = events.flatMap(({ actor }) => /^approver (\S+)$/.exec(actor)?.[1] ?? []).filter(isUuid);
  if (ids.length === 0) return [];
  const rows = await executor
    .select({ id: approvers.id, name: approvers.name, email: approvers.email })
    .from(approvers)
    .where(and(eq(approvers.organization_id, organizationId), inArray(approvers.id, [...new Set(ids)])));
  return rows.map(({ id, name, email }) => [`approver ${id}`, `${name ?? "Approver"} (${email})`] as const);
}

function describeEvent(event: Event, names: ReadonlyMap<string, string>) {
  const detail = isJsonObject(event.detail) ? event.detail : {};
  const { session, ...rest } = detail;
  return {
    id: event.id,
    at: event.created_at.toISOString(),
    actorKind: event.actor_kind,
    actor: names.get(event.actor) ?? event.actor,
    action: event.action,
    subject: names.get(event.subject) ?? event.subject,
    detail: Object.keys(rest).length === 0 ? null : JSON.stringify(rest),
    ip: event.ip,
    session: typeof session === "string" ? session : null,
  };
}

export async function listAuditEvents(
  context: AccountsContext,
  person: MemberPrincipal,
  query: AuditFilters & PageQuery,
) {
  const { db } = context.database;
  await requireRole(db, person, "read");
  const rows = await db
    .select()
    .from(auditEvents)
    .where(
      and(
        eq(auditEvents.organization_id, person.organizationId),
        query.kind === undefined ? undefined : eq(auditEvents.actor_kind, query.kind),
        query.cursor === undefined ? undefined : lt(auditEvents.id, query.cursor),
      ),
    )
    .orderBy(desc(auditEvents.id))
    .limit(query.limit + 1);
  const { shown, nextCursor } = cutPage(rows, query, ({ id }) => id);
  const names = new Map([
    ...(await nameKeys(db, person.organizationId, shown)),
    ...(await nameApprovers(db, person.organizationId, shown)),
  ]);
  return {
    rows: shown.map((event) => describeEvent(event, names)),
    nextCursor,
  };
}
