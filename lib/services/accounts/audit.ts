/**
 * The audit log: who did what, when, and with which key or session. Written in the same transaction as the action, if
 * it has one.
 */

import { type Actor, type Principal, toActor } from "#lib/api/http/context";
import type { Executor } from "#lib/db/client";
import { auditEvents } from "#lib/db/schema";
import { uuidV7 } from "#lib/protocol/encoding/bytes";
import type { JsonObject } from "#lib/protocol/encoding/canonical-json";
import type { AccountsContext } from "./context";

export interface AuditEvent {
  organizationId: string;
  actor: Actor;
  /** noun.verb, for example `api_key.revoked` */
  action: string;
  subject: string;
  detail?: JsonObject;
}

/** Recorded last by this process. */
let last = { ms: 0, count: 0 };

/** Ids order events of one millisecond by their recording: a counter leads the random bits (RFC 9562, 6.2, method 1). */
function createId(ms: number, random: Uint8Array): string {
  last = { ms, count: ms === last.ms ? last.count + 1 : 0 };
  const bytes = new Uint8Array(random);
  new DataView(bytes.buffer).setUint16(6, last.count);
  return uuidV7(ms, bytes);
}

export async function recordAudit(
  context: Pick<AccountsContext, "clock" | "random">,
  executor: Executor,
  ...events: [AuditEvent, ...AuditEvent[]]
): Promise<void> {
  const now = context.clock();
  const rows = events.map(({ organizationId, actor, action, subject, detail }) => ({
    id: createId(now.getTime(), context.random(16)),
    organization_id: organizationId,
    actor_kind: actor.kind,
    actor: actor.id,
    action,
    subject,
    detail: (actor.session === undefined ? detail : { ...detail, session: actor.session }) ?? null,
    ip: actor.ip,
    created_at: now,
  }));
  await executor.insert(auditEvents).values(rows);
}

/** Records what somebody did in the organization that they act for. */
export const recordAct = (
  context: Pick<AccountsContext, "clock" | "random">,
  executor: Executor,
  principal: Principal,
  act: Omit<AuditEvent, "organizationId" | "actor">,
): Promise<void> =>
  recordAudit(context, executor, {
    organizationId: principal.organizationId,
    actor: toActor(principal),
    ...act,
  });
