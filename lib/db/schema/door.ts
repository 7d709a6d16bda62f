/** What the door keeps: answers by idempotency key, and limits. */
import { bigint, index, integer, pgTable, primaryKey, text, uuid } from "drizzle-orm/pg-core";
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
    created_at: createdAt(),
    expires_at: at("expires_at").notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.organization_id, t.route, t.key] }),
    index().on(t.expires_at),
    index().on(t.attestation_id),
  ],
);

/** The shape that rate-limiter-flexible's PostgreSQL store reads and writes. */
export const rateLimits = pgTable(
  "rate_limits",
  {
    key: text().primaryKey(),
    points: integer().notNull().default(0),
    expire: bigint({ mode: "number" }),
  },
  (t) => [index().on(t.expire)],
);
