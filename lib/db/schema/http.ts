import { bigint, date, index, integer, pgTable, primaryKey, text, uuid } from "drizzle-orm/pg-core";
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
 * Counts of a UTC day: requests of a key (by its id), attestations of an agent (by its slug key), or audit events that the
 * collector rejected (lib/server/telemetry/audit-events.ts), which are counted for no organization.
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
