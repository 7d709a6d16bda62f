/** The delivery log of an endpoint: what was sent, tried and given up, sent again, and the test message. */
import { and, desc, eq, sql } from "drizzle-orm";
import { cutPage, decodeCursor, encodeCursor, type PageQuery } from "#lib/api/http/cursor";
import { actorOf, type Principal } from "#lib/api/http/principal";
import { isCalendarTime } from "#lib/api/schemas/primitives";
import type { WebhookDelivery } from "#lib/api/schemas/webhooks";
import type { Executor } from "#lib/db/client";
import { webhookDeliveries, webhookMessages } from "#lib/db/schema";
import { AppError } from "#lib/errors";
import { hexEncode } from "#lib/protocol/encoding/bytes";
import { recordAudit } from "#lib/services/accounts/audit";
import type { Context } from "#lib/services/approvals/context";
import { holdCaller } from "#lib/services/keys/hold-caller";
import { type EndpointRow, findOwn, readEndpoint, webhookNotFound } from "./endpoints";

export interface DeliveryQuery extends PageQuery {
  status?: WebhookDelivery["status"] | undefined;
}

const { message_id, endpoint_id, status, created_at } = webhookDeliveries;

function selectDeliveries(executor: Executor) {
  return executor
    .select({ delivery: webhookDeliveries, type: webhookMessages.type, body: webhookMessages.body })
    .from(webhookDeliveries)
    .innerJoin(webhookMessages, eq(webhookMessages.id, message_id));
}

type DeliveryRow = Awaited<ReturnType<typeof selectDeliveries>>[number];

function describe(endpoint: EndpointRow, { delivery, type, body }: DeliveryRow): WebhookDelivery {
  return {
    message_id: delivery.message_id,
    type,
    url: delivery.url ?? endpoint.url,
    status: delivery.status,
    attempts: delivery.attempts,
    last_attempt_at: delivery.last_attempt_at?.toISOString() ?? null,
    last_status: delivery.last_status,
    last_problem: delivery.last_problem,
    next_attempt_at: delivery.status === "pending" ? delivery.next_attempt_at.toISOString() : null,
    created_at: delivery.created_at.toISOString(),
    body,
  };
}

const isMessageId = /^msg_[0-9a-f]{32}$/;
const place = /^(\d{4}-\d\d-\d\dT[\d:.]+Z) (msg_[0-9a-f]{32})$/;

/** As this service writes it: `Date` would take the 30th of February too. */
function isWrittenTime(text: string): boolean {
  const time = new Date(text);
  return isCalendarTime(time) && time.toISOString() === text;
}

function after(cursor: string | undefined) {
  if (cursor === undefined) return undefined;
  const [, at, id] = decodeCursor(cursor, (text) => {
    const found = place.exec(text);
    return found !== null && isWrittenTime(found[1] ?? "") ? found : undefined;
  });
  return sql`(${created_at}, ${message_id}) < (${at}::timestamptz, ${id})`;
}

/** Newest first. */
export async function listDeliveries(
  context: Context,
  principal: Principal,
  id: string,
  query: DeliveryQuery,
) {
  const endpoint = await readEndpoint(context, principal, id);
  const rows = await selectDeliveries(context.database.db)
    .where(
      and(
        eq(endpoint_id, endpoint.id),
        query.status === undefined ? undefined : eq(status, query.status),
        after(query.cursor),
      ),
    )
    .orderBy(desc(created_at), desc(message_id))
    .limit(query.limit + 1);
  const { shown, nextCursor } = cutPage(rows, query, ({ delivery }) =>
    encodeCursor(`${delivery.created_at.toISOString()} ${delivery.message_id}`),
  );
  return { deliveries: shown.map((row) => describe(endpoint, row)), next_cursor: nextCursor };
}

async function readDelivery(
  executor: Executor,
  endpoint: EndpointRow,
  messageId: string,
): Promise<WebhookDelivery> {
  const [row] = await selectDeliveries(executor).where(
    and(eq(endpoint_id, endpoint.id), eq(message_id, messageId)),
  );
  if (!row) throw webhookNotFound();
  return describe(endpoint, row);
}

/** Until the commit: who disables it fails what waits for it then. */
async function holdEnabled(tx: Executor, principal: Principal, id: string): Promise<void> {
  await holdCaller(tx, principal);
  const { disabled_at } = await findOwn(tx, principal, id, "share");
  if (disabled_at !== null)
    throw new AppError("webhook_disabled", "this webhook endpoint is disabled; enable it first");
}

/** Under the same id, with all its tries before it; one that waits is left to its schedule. */
export async function replayDelivery(
  context: Context,
  principal: Principal,
  id: string,
  messageId: string,
): Promise<WebhookDelivery> {
  const endpoint = await readEndpoint(context, principal, id);
  if (!isMessageId.test(messageId)) throw webhookNotFound();
  await context.database.db.transaction(async (tx) => {
    await holdEnabled(tx, principal, id);
    await tx
      .update(webhookDeliveries)
      .set({ status: "pending", attempts: 0, next_attempt_at: sql`clock_timestamp()` })
      .where(and(eq(endpoint_id, endpoint.id), eq(message_id, messageId), sql`${status} <> 'pending'`));
  });
  return readDelivery(context.database.db, endpoint, messageId);
}

export async function sendTest(context: Context, principal: Principal, id: string): Promise<WebhookDelivery> {
  const endpoint = await readEndpoint(context, principal, id);
  const messageId = `msg_${hexEncode(context.random(16))}`;
  const data = { webhook_id: endpoint.id };
  const message = { type: "webhook.test", timestamp: context.clock().toISOString(), data };
  await context.database.db.transaction(async (tx) => {
    await holdEnabled(tx, principal, id);
    if (endpoint.url === null)
      throw new AppError("validation_error", "callbacks have no URL of their own that a test could go to");
    await tx.insert(webhookMessages).values({
      id: messageId,
      organization_id: endpoint.organization_id,
      type: message.type,
      subject: endpoint.id,
      body: JSON.stringify(message),
    });
    await tx.insert(webhookDeliveries).values({
      message_id: messageId,
      endpoint_id: endpoint.id,
      status: "pending",
      next_attempt_at: sql`clock_timestamp()`,
    });
    await recordAudit(context, tx, {
      organizationId: endpoint.organization_id,
      actor: actorOf(principal),
      action: "webhook.tested",
      subject: endpoint.id,
    });
  });
  return readDelivery(context.database.db, endpoint, messageId);
}
