/** The audit log as the portal shows it: newest first, keys by name. */

import { and, desc, eq, inArray, lt } from "drizzle-orm";
import type { AuditFilters } from "#lib/contract/portal-audit";
import { isJsonObject } from "#lib/core/encoding/canonical-json";
import { isUuid } from "#lib/core/encoding/uuid";
import type { Executor } from "#lib/db/client";
import { apiKeys, auditEvents } from "#lib/db/schema";
import { cutPage, type PageQuery } from "#lib/http/cursor";
import type { MemberPrincipal } from "#lib/http/principal";
import type { AccountsContext } from "./context";
import { requireRole } from "./members";

type Event = typeof auditEvents.$inferSelect;

/** Key ids among actors and subjects, in words. */
async function nameKeys(executor: Executor, organizationId: string, events: Event[]) {
  const ids = events.flatMap(({ actor, subject }) => [actor, subject]).filter(isUuid);
  if (ids.length === 0) return new Map<string, string>();
  const rows = await executor
    .select({ id: apiKeys.id, name: apiKeys.name, prefix: apiKeys.prefix, lastFour: apiKeys.last_four })
    .from(apiKeys)
    .where(and(eq(apiKeys.organization_id, organizationId), inArray(apiKeys.id, [...new Set(ids)])));
  return new Map(rows.map(({ id, name, prefix, lastFour }) => [id, `${name} (${prefix}…${lastFour})`]));
}

function describeEvent(event: Event, keys: Map<string, string>) {
  const detail = isJsonObject(event.detail) ? event.detail : {};
  const { session, ...rest } = detail;
  return {
    id: event.id,
    at: event.created_at.toISOString(),
    actorKind: event.actor_kind,
    actor: keys.get(event.actor) ?? event.actor,
    action: event.action,
    subject: keys.get(event.subject) ?? event.subject,
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
  await requireRole(db, person, "member");
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
  const keys = await nameKeys(db, person.organizationId, shown);
  return {
    rows: shown.map((event) => describeEvent(event, keys)),
    nextCursor,
  };
}
