/**
 * Webhooks. Messages and deliveries are the outbox: functions of drizzle/0001_functions.sql write them in the statement that
 * changes the state they tell of, so neither is ever without the other.
 */

import { sql } from "drizzle-orm";
import { boolean, index, integer, pgTable, primaryKey, text, uniqueIndex, uuid } from "drizzle-orm/pg-core";
import { organizationId } from "./accounts";
import { at, bytea, createdAt } from "./columns";

export const webhookEndpoints = pgTable(
  "webhook_endpoints",
  {
    id: uuid().primaryKey(),
    organization_id: organizationId(),
    /** Null for the organization's callbacks: each request names an address of its own, and all share the keys. */
    url: text(),
    events: text().array().notNull(),
    format: text({ enum: ["standard", "slack", "teams"] })
      .notNull()
      .default("standard"),
    /** False: messages in a chat say that something happened, and no more. */
    shows_facts: boolean().notNull().default(true),
    /** Sealed (lib/services/webhooks/endpoints.ts); null until they are first needed. */
    keys: bytea(),
    /** Keys before the last rotation, which sign as well until then. */
    old_keys: bytea(),
    old_keys_until: at("old_keys_until"),
    disabled_at: at("disabled_at"),
    disabled_reason: text({ enum: ["owner", "gone", "failing"] }),
    /** Time of the first attempt that failed since one succeeded. */
    failing_since: at("failing_since"),
    created_at: createdAt(),
  },
  (t) => [
    index("webhook_endpoints_organization").on(t.organization_id),
    uniqueIndex("webhook_endpoints_callbacks").on(t.organization_id).where(sql`${t.url} IS NULL`),
  ],
);

export const webhookMessages = pgTable(
  "webhook_messages",
  {
    /** `webhook-id`, made from what it tells of: the same event is the same message. */
    id: text().primaryKey(),
    organization_id: uuid().notNull(),
    type: text().notNull(),
    /** The id of what it tells of, by which erasure finds it. */
    subject: text().notNull(),
    /** The exact text that is sent and signed. */
    body: text().notNull(),
    created_at: createdAt(),
  },
  (t) => [index("webhook_messages_subject").on(t.subject), index("webhook_messages_age").on(t.created_at)],
);

export const webhookDeliveries = pgTable(
  "webhook_deliveries",
  {
    message_id: text()
      .notNull()
      .references(() => webhookMessages.id, { onDelete: "cascade" }),
    /** No foreign key: an endpoint that is being deleted must not hold up the log. */
    endpoint_id: uuid().notNull(),
    url: text(),
    status: text({ enum: ["pending", "delivered", "failed"] }).notNull(),
    attempts: integer().notNull().default(0),
    next_attempt_at: at("next_attempt_at").notNull(),
    last_attempt_at: at("last_attempt_at"),
    last_status: integer(),
    last_problem: text(),
    created_at: createdAt(),
  },
  (t) => [
    primaryKey({ columns: [t.message_id, t.endpoint_id] }),
    index("webhook_deliveries_due").on(t.endpoint_id, t.next_attempt_at).where(sql`${t.status} = 'pending'`),
    index("webhook_deliveries_log").on(t.endpoint_id, t.created_at.desc(), t.message_id.desc()),
  ],
);
