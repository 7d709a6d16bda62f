/** API keys, and the email codes that are exchanged for them. */

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
import { approvers } from "./approvals";
import { at, bytea, createdAt, leafIndex } from "./columns";

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

/*
 * Passkeys of approvers, and the roster that says who may approve (lib/protocol/passkey/roster.ts). The tables here and those
 * of approvers say what is so; triggers note in `stale_rosters` whatever changes it, and the next roster is made of it.
 */

export const passkeys = pgTable(
  "passkeys",
  {
    id: uuid().primaryKey(),
    organization_id: uuid()
      .notNull()
      .references(() => organizations.id),
    approver_id: uuid()
      .notNull()
      .references(() => approvers.id, { onDelete: "cascade" }),
    /** base64url, as WebAuthn's JSON has it. */
    credential_id: text().notNull().unique(),
    /** COSE, in its canonical form. */
    public_key: bytea().notNull(),
    sign_count: bigint({ mode: "number" }).notNull(),
    backup_eligible: boolean().notNull(),
    backed_up: boolean().notNull(),
    transports: text().array().notNull(),
    name: text().notNull(),
    /** Salt of its entries in rosters. */
    salt: bytea().notNull(),
    created_at: createdAt(),
    last_used_at: at("last_used_at"),
    removed_at: at("removed_at"),
  },
  (t) => [
    index("passkeys_approver").on(t.approver_id),
    index("passkeys_organization").on(t.organization_id).where(sql`${t.removed_at} IS NULL`),
  ],
);

export const passkeyChallenges = pgTable("passkey_challenges", {
  challenge: bytea().primaryKey(),
  approver_id: uuid()
    .notNull()
    .references(() => approvers.id, { onDelete: "cascade" }),
  expires_at: at("expires_at").notNull(),
});

/** Every roster that there was, with the statement that logged it. */
export const rosters = pgTable(
  "rosters",
  {
    organization_id: uuid().notNull(),
    number: integer().notNull(),
    /** Canonical; its SHA-256 is the roster's name. */
    head: bytea().notNull(),
    /** JSON: the entries in their order. */
    entries: text().notNull(),
    /** JSON: what opens the entries' groups, and the names of the time (lib/services/accounts/roster.ts). */
    details: text().notNull(),
    /** JSON: what differs from the roster before. */
    changes: text().notNull(),
    log_id: integer().notNull(),
    leaf_index: leafIndex("leaf_index").notNull(),
    /** The leaf's place, as it was when it was stored. */
    receipt: text().notNull(),
    payload: bytea().notNull(),
    signature: bytea().notNull(),
    envelope_signature: bytea().notNull(),
    signed_by: text().notNull(),
    created_at: createdAt(),
    /** When the owners' mails are due; null once they are sent. */
    mail_due_at: at("mail_due_at").defaultNow(),
  },
  (t) => [
    primaryKey({ columns: [t.organization_id, t.number] }),
    uniqueIndex("rosters_leaf").on(t.log_id, t.leaf_index),
    index("rosters_mail_due").on(t.mail_due_at).where(sql`${t.mail_due_at} IS NOT NULL`),
  ],
);

/** Organizations whose roster may no longer be what it should be. */
export const staleRosters = pgTable("stale_rosters", {
  organization_id: uuid().primaryKey(),
  since: at("since").notNull(),
});
