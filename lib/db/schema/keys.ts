import { date, index, integer, pgTable, primaryKey, text, uuid } from "drizzle-orm/pg-core";
import { organizations } from "./accounts";
import { at, bytea, createdAt } from "./columns";

/** Keys are stored as SHA-256 of the whole text; a key is live while neither revoked nor expired. */
export const apiKeys = pgTable(
  "api_keys",
  {
    id: uuid().primaryKey(),
    organization_id: uuid()
      .notNull()
      .references(() => organizations.id),
    name: text().notNull(),
    email: text().notNull(),
    secret_hash: bytea().notNull().unique(),
    prefix: text().notNull(),
    last_four: text().notNull(),
    scopes: text().array().notNull(),
    created_at: createdAt(),
    last_used_at: at("last_used_at"),
    last_used_ip: text(),
    expires_at: at("expires_at"),
    revoked_at: at("revoked_at"),
    /** Null: as many as its organization can. */
    attestations_per_day: integer(),
  },
  (t) => [index().on(t.organization_id)],
);

export const dailyKeyUsage = pgTable(
  "daily_key_usage",
  {
    api_key_id: uuid().notNull(),
    day: date({ mode: "string" }).notNull(),
    attestations: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.api_key_id, t.day] })],
);

/** One live email code per address; the code itself only as HMAC. */
export const emailCodes = pgTable("email_codes", {
  email: text().primaryKey(),
  code_hmac: bytea().notNull(),
  name: text(),
  tries: integer().notNull().default(0),
  created_at: createdAt(),
  expires_at: at("expires_at").notNull(),
});

export const emailCodeFailures = pgTable(
  "email_code_failures",
  { email: text().notNull(), day: date({ mode: "string" }).notNull(), failures: integer().notNull() },
  (t) => [primaryKey({ columns: [t.email, t.day] })],
);
