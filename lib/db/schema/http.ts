/**
 * Tables of the HTTP layer: answers by idempotency key, limits, the request log with its counts; and webhooks. Messages and
 * deliveries are the outbox: functions of drizzle/0001_functions.sql write them in the statement that changes the state they
 * tell of, so neither is ever without the other.
 */

import { sql } from "drizzle-orm";
import {
  bigint,
  boolean,
  date,
  index,
  integer,
  pgTable,
  primaryKey,
  text,
  uniqueIndex,
  uuid,
} from "drizzle-orm/pg-core";
import { organizations } from "./accounts";
import { at, bytea, createdAt } from "./columns";

/** `response` is null while the first request is in flight (until `locked_until`). */
export const idempotencyKeys = pgTable(
  "idempotency_keys",
  {
    organization_id: uuid().notNull(),
    route: text().notNull(),
    key: text().notNull(),
    body_hash: bytea().notNull(),
    holder: uuid().notNull(),
    locked_until: at("locked_until").notNull(),
    status: integer(),
    response: text(),
    attestation_id: uuid(),
    /** The request that was made, whose approval keeps the key (lib/api/http/idempotency.ts). */
    authorization_id: text(),
    created_at: createdAt(),
    expires_at: at("expires_at").notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.organization_id, t.route, t.key] }),
    index().on(t.expires_at),
    index().on(t.attestation_id),
  ],
);

/** Counters of limits (lib/api/http/rate-limit.ts); `expire`: when the window ends, milliseconds since 1970. */
export const rateLimits = pgTable(
  "rate_limits",
  {
    key: text().primaryKey(),
    points: integer().notNull().default(0),
    expire: bigint({ mode: "number" }),
  },
  (t) => [index().on(t.expire)],
);

/** One row for each request of a known key (lib/api/http/request-log.ts). Nothing that a caller wrote but its agent's slug. */
export const requestLog = pgTable(
  "request_log",
  {
    id: text().primaryKey(),
    organization_id: uuid().notNull(),
    at: at("at").notNull(),
    method: text().notNull(),
    /** The operation's, with names in place of values. */
    path: text().notNull(),
    status: integer().notNull(),
    duration_ms: integer().notNull(),
    error_code: text(),
    api_key_id: uuid().notNull(),
    agent_slug: text(),
  },
  (t) => [
    index("request_log_organization").on(t.organization_id, t.at.desc(), t.id.desc()),
    index("request_log_age").using("brin", t.at),
  ],
);

/** Requests of an organization on one UTC day, and how many of them are missing from its log. */
export const dailyRequests = pgTable(
  "daily_requests",
  {
    organization_id: uuid().notNull(),
    day: date({ mode: "string" }).notNull(),
    requests: integer().notNull(),
    dropped: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.organization_id, t.day] })],
);

/**
 * On one UTC day: requests of a key (by its id), attestations of an agent through the API (by its slug key), or audit events that
 * the collector rejected (lib/server/telemetry/audit-events.ts), which are counted for no organization.
 */
export const dailyCounts = pgTable(
  "daily_counts",
  {
    organization_id: uuid().notNull(),
    kind: text({ enum: ["key", "agent", "rejected"] }).notNull(),
    subject: text().notNull(),
    day: date({ mode: "string" }).notNull(),
    total: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.organization_id, t.kind, t.subject, t.day] })],
);

/** Unlogged, and always empty: what the health check writes here is rolled back (lib/log/sequencer/sequencer.ts). */
export const writeProbe = pgTable("write_probe", { filler: text().notNull() });

/**
 * The packages that this version and the ones before it have served under an address with their digest. An address goes on
 * serving its bytes after an upgrade (lib/services/attestations/receipt-files.ts).
 */
export const servedPackages = pgTable(
  "served_packages",
  {
    /** Hex, the beginning of the SHA-256. */
    digest: text().notNull(),
    name: text().notNull(),
    bytes: bytea().notNull(),
    created_at: createdAt(),
  },
  (t) => [primaryKey({ columns: [t.digest, t.name] })],
);

export const webhookEndpoints = pgTable(
  "webhook_endpoints",
  {
    id: uuid().primaryKey(),
    organization_id: uuid()
      .notNull()
      .references(() => organizations.id),
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
    /** Those before the last rotation, which sign as well until then. */
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
    /** Without a foreign key: an endpoint that is being deleted must not hold up the log. */
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
