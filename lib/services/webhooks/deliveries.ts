/** The delivery log of an endpoint: what was sent, tried and given up, sent again, and the test message. Runs /v1/webhooks. */
import { and, desc, eq, sql } from "drizzle-orm";
import { type MemberPrincipal, type Principal, toActor } from "#lib/api/http/context";
import { cutPage, decodeCursor, encodeCursor, type PageQuery } from "#lib/api/http/opaque-text";
import type { Handlers, Params } from "#lib/api/http/pipeline";
import type { webhooksOperations as specs } from "#lib/api/operations/webhooks";
import { isCalendarTime } from "#lib/api/schemas/primitives";
import type { WebhookDelivery } from "#lib/api/schemas/webhooks";
import type { Database, Executor } from "#lib/db/client";
import { webhookDeliveries, webhookMessages } from "#lib/db/schema";
import { AppError } from "#lib/errors";
import { claimDue } from "#lib/jobs/due-work";
import { hexEncode } from "#lib/protocol/encoding/bytes";
import { recordAudit } from "#lib/services/accounts/audit";
import { forRole } from "#lib/services/accounts/members";
import type { Context } from "#lib/services/approvals/context";
import { lockAndRecheckKey } from "#lib/services/keys/authenticate";
import {
  createEndpoint,
  deleteEndpoint,
  describeEndpoint,
  type EndpointRow,
  findOwn,
  listEndpoints,
  readCallbacks,
  readEndpoint,
  rotateEndpoint,
  shownAddress,
  updateEndpoint,
  webhookNotFound,
} from "./endpoints";

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
    url: delivery.url ?? shownAddress(endpoint, endpoint.url),
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

/** Accepts the form that this service writes: `Date` would take the 30th of February too. */
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

async function listDeliveries(context: Context, principal: Principal, id: string, query: DeliveryQuery) {
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

/** Holds it until the commit: disabling it fails what waits for it then. */
async function holdEnabled(tx: Executor, principal: Principal, id: string): Promise<void> {
  await lockAndRecheckKey(tx, principal, "operate");
  const { disabled_at } = await findOwn(tx, principal, id, "share");
  if (disabled_at !== null)
    throw new AppError("webhook_disabled", "this webhook endpoint is disabled; enable it first");
}

/** Replays under the same id, with all its tries before it; a waiting one is left to its schedule. */
async function replayDelivery(
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

async function sendTest(context: Context, principal: Principal, id: string): Promise<WebhookDelivery> {
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
      actor: toActor(principal),
      action: "webhook.tested",
      subject: endpoint.id,
    });
  });
  return readDelivery(context.database.db, endpoint, messageId);
}

export interface Due {
  message_id: string;
  endpoint_id: string;
  organization_id: string;
}

/** Limits of messages that are read together, of one endpoint and of all. */
const maxOfEndpoint = 32;
const maxDue = 256;

/**
 * Reads in rounds: first one of each organization, then each one's second, and so on, and likewise its endpoints among each
 * other. `$1`: what failed before, or else what didn't; `$2`: what to leave out.
 */
export const dueReader = (database: Database) =>
  database.statement<Due>(
    `SELECT message_id, endpoint_id, organization_id FROM (
       SELECT due.message_id, e.id AS endpoint_id, e.organization_id, due.next_attempt_at,
         row_number() OVER (PARTITION BY e.organization_id ORDER BY due.place, due.next_attempt_at) AS place
       FROM webhook_endpoints e
       JOIN organizations o ON o.id = e.organization_id AND o.deleted_at IS NULL
       CROSS JOIN LATERAL (
         SELECT message_id, next_attempt_at, row_number() OVER (ORDER BY next_attempt_at) AS place
         FROM webhook_deliveries d
         WHERE d.endpoint_id = e.id AND d.status = 'pending' AND d.next_attempt_at <= clock_timestamp()
           AND (d.attempts > 0 OR e.failing_since IS NOT NULL) = $1
           AND d.message_id || ' ' || d.endpoint_id <> ALL ($2::text[])
         ORDER BY d.next_attempt_at LIMIT ${maxOfEndpoint}
       ) AS due
       WHERE e.disabled_at IS NULL
     ) AS ranked ORDER BY place, next_attempt_at LIMIT ${maxDue}`,
  );

export interface Claimed extends EndpointRow {
  message_id: string;
  attempts: number;
  body: string;
  address: string;
}

export const claimDelivery = ({ database }: Context, { message_id, endpoint_id }: Due) =>
  claimDue<Claimed>(database, {
    table: "webhook_deliveries",
    key: { message_id, endpoint_id },
    set: [
      "attempts = attempts + 1",
      "last_attempt_at = clock_timestamp()",
      "last_status = NULL",
      "last_problem = NULL",
    ],
    select: `SELECT e.*, c.message_id, c.attempts, m.body, coalesce(c.url, e.url) AS address FROM claimed c
      JOIN webhook_messages m ON m.id = c.message_id JOIN webhook_endpoints e ON e.id = c.endpoint_id`,
  });

const ofThisAttempt = "message_id = $1 AND endpoint_id = $2 AND attempts = $3";

/** An arrived message counts as delivered, whatever was said of it while it was on its way. */
export async function settleDelivered(
  { database }: Context,
  claimed: Claimed,
  status: number,
): Promise<void> {
  const { message_id, id, url, attempts } = claimed;
  await database.query(
    `UPDATE webhook_deliveries SET status = 'delivered', last_status = $4, last_problem = NULL
     WHERE ${ofThisAttempt} AND status <> 'delivered'`,
    [message_id, id, attempts, status],
  );
  if (url === null) return;
  // Updates whatever it was when this one was taken: another message may have failed meanwhile.
  await database.query(
    "UPDATE webhook_endpoints SET failing_since = NULL WHERE id = $1 AND url = $2 AND failing_since IS NOT NULL",
    [id, url],
  );
}

export interface Failure {
  status: number | null;
  problem: string;
  /** Seconds until the next attempt; null if there is none. */
  pauseSeconds: number | null;
}

export async function settleFailed({ database }: Context, claimed: Claimed, failure: Failure): Promise<void> {
  const { message_id, id, attempts } = claimed;
  await database.query(
    `UPDATE webhook_deliveries SET last_status = $4, last_problem = $5,
       status = CASE WHEN $6::float8 IS NULL THEN 'failed' ELSE 'pending' END,
       next_attempt_at = clock_timestamp() + make_interval(secs => coalesce($6::float8, 0))
     WHERE ${ofThisAttempt} AND status = 'pending'`,
    [message_id, id, attempts, failure.status, failure.problem, failure.pauseSeconds],
  );
}

/* Webhooks as the portal manages them: the API's own services, for members of the organization. */

export const listOwnWebhooks = forRole("read", async (context: Context, person: MemberPrincipal) => ({
  callbacks: describeEndpoint(context, await readCallbacks(context, person)),
  rows: await listEndpoints(context, person),
}));

export const readOwnWebhook = forRole(
  "read",
  async (context: Context, person: MemberPrincipal, id: string, query: DeliveryQuery) => ({
    webhook: describeEndpoint(context, await readEndpoint(context, person, id)),
    ...(await listDeliveries(context, person, id, query)),
  }),
);

export const createOwnWebhook = forRole("operate", createEndpoint);
export const updateOwnWebhook = forRole("operate", updateEndpoint);
export const rotateOwnWebhook = forRole("operate", rotateEndpoint);
export const deleteOwnWebhook = forRole("operate", deleteEndpoint);
export const testOwnWebhook = forRole("operate", sendTest);
export const replayOwnDelivery = forRole("operate", replayDelivery);

const readId = (params: Params) => params["webhook_id"] ?? "";

export const webhooksHandlers: Handlers<typeof specs, Context> = {
  createWebhook: async (call) => ({
    status: 201,
    body: await createEndpoint(call.context, call.principal, call.body),
  }),
  listWebhooks: async (call) => ({
    body: { webhooks: await listEndpoints(call.context, call.principal) },
  }),
  readCallbackWebhook: async (call) => ({
    body: describeEndpoint(call.context, await readCallbacks(call.context, call.principal)),
  }),
  readWebhook: async (call) => ({
    body: describeEndpoint(
      call.context,
      await readEndpoint(call.context, call.principal, readId(call.params)),
    ),
  }),
  updateWebhook: async (call) => ({
    body: await updateEndpoint(call.context, call.principal, readId(call.params), call.body),
  }),
  deleteWebhook: async (call) => {
    const id = readId(call.params);
    await deleteEndpoint(call.context, call.principal, id);
    return { body: { id, message: "The webhook endpoint is deleted. Nothing more is sent to it." } };
  },
  rotateWebhook: async (call) => ({
    body: await rotateEndpoint(call.context, call.principal, readId(call.params), call.body.overlap_hours),
  }),
  testWebhook: async (call) => ({
    status: 202,
    body: await sendTest(call.context, call.principal, readId(call.params)),
  }),
  listWebhookDeliveries: async (call) => ({
    body: await listDeliveries(call.context, call.principal, readId(call.params), call.query),
  }),
  replayWebhookDelivery: async (call) => ({
    status: 202,
    body: await replayDelivery(
      call.context,
      call.principal,
      readId(call.params),
      call.params["message_id"] ?? "",
    ),
  }),
};
