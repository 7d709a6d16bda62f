/**
 * People, organizations and the audit log. `users`, `sessions`, `verification_tokens` and `accounts` have the shape
 * that next-auth's adapter asks for.
 */
import { sql } from "drizzle-orm";
import {
  boolean,
  date,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  uniqueIndex,
  uuid,
} from "drizzle-orm/pg-core";
import { at, bytea, createdAt, role } from "./columns";

export const organizations = pgTable("organizations", {
  id: uuid().primaryKey(),
  name: text(),
  default_public: boolean().notNull().default(true),
  requester_may_approve: boolean().notNull().default(false),
  /** Time at which an owner chose the previous; null: it follows from how many people there are. */
  requester_rule_chosen_at: at("requester_rule_chosen_at"),
  /** Acts that ask for a passkey first, and `owners`: all that owners change (lib/services/accounts/members.ts). */
  second_factor: text().array().notNull().default([]),
  /** False: an approver's lock screen shows only that a request waits. */
  push_shows_facts: boolean().notNull().default(true),
  attestations_per_day: integer(),
  /** JSON: how many percent of the uses of rules and standing approvals people review (lib/services/policies/reviews.ts). */
  review_rates: text(),
  /** Days for which content is kept (lib/services/attestations/erase.ts); null: until somebody erases it. */
  retention_days: integer(),
  /** Start of erasing by age: owners have a day to object. */
  retention_from: at("retention_from"),
  /** Content up to this time was erased, or is checked again. */
  retention_done_at: at("retention_done_at"),
  /** While set, nobody erases anything. */
  legal_hold_since: at("legal_hold_since"),
  legal_hold_reason: text(),
  /** Null together with the colour: derived from the name (lib/protocol/text/organization-name.ts). */
  mark_text: text(),
  mark_color: text({ enum: ["slate", "blue", "violet", "teal", "brown", "plum"] }),
  created_at: createdAt(),
  deleted_at: at("deleted_at"),
});

export const organizationId = () =>
  uuid()
    .notNull()
    .references(() => organizations.id);

/** Domains that an organization says are its own, and what checks found. Several organizations may prove the same one. */
export const organizationDomains = pgTable(
  "organization_domains",
  {
    id: uuid().primaryKey(),
    organization_id: organizationId(),
    domain: text().notNull(),
    /** Token that the domain publishes; for this organization only. */
    token: text().notNull(),
    created_at: createdAt(),
    /** Null: not proven, or no longer. */
    verified_since: at("verified_since"),
    found_in: text({ enum: ["dns", "file"] }),
    found_at: at("found_at"),
    /** Consecutive days on which checks found it gone, and the last of them. */
    days_gone: integer().notNull().default(0),
    last_day_gone: date({ mode: "string" }),
    problem: text(),
    checked_at: at("checked_at"),
  },
  (t) => [
    uniqueIndex("organization_domains_domain").on(t.organization_id, t.domain),
    index("organization_domains_due").on(t.checked_at).where(sql`${t.verified_since} IS NOT NULL`),
  ],
);

export const users = pgTable("users", {
  id: text().primaryKey(),
  name: text(),
  email: text().notNull().unique(),
  emailVerified: at("email_verified"),
  image: text(),
  created_at: createdAt(),
});

export const accounts = pgTable(
  "accounts",
  {
    userId: text("user_id")
      .notNull()
      .references(() => users.id, { onDelete: "cascade" }),
    type: text().notNull(),
    provider: text().notNull(),
    providerAccountId: text("provider_account_id").notNull(),
    refresh_token: text(),
    access_token: text(),
    expires_at: integer(),
    token_type: text(),
    scope: text(),
    id_token: text(),
    session_state: text(),
  },
  (t) => [primaryKey({ columns: [t.provider, t.providerAccountId] })],
);

export const sessions = pgTable("sessions", {
  sessionToken: text("session_token").primaryKey(),
  userId: text("user_id")
    .notNull()
    .references(() => users.id, { onDelete: "cascade" }),
  expires: at("expires").notNull(),
  /** Time at which its person last used a passkey of theirs, and the organization in which it is enrolled. */
  confirmedAt: at("confirmed_at"),
  confirmedFor: uuid("confirmed_for"),
});

export const verificationTokens = pgTable(
  "verification_tokens",
  { identifier: text().notNull(), token: text().notNull(), expires: at("expires").notNull() },
  (t) => [primaryKey({ columns: [t.identifier, t.token] })],
);

export const memberships = pgTable(
  "memberships",
  {
    organization_id: organizationId(),
    user_id: text()
      .notNull()
      .references(() => users.id, { onDelete: "cascade" }),
    role: role().notNull(),
    /** The provider's group that gave the role; null: an owner did, or nobody. */
    role_by: text(),
    created_at: createdAt(),
  },
  (t) => [primaryKey({ columns: [t.organization_id, t.user_id] }), index().on(t.user_id)],
);

/** Groups of the company's provider, and what each gives its people (lib/services/accounts/provider-groups.ts). */
export const providerGroups = pgTable(
  "provider_groups",
  {
    organization_id: organizationId(),
    /** Name in the provider's claim. */
    name: text().notNull(),
    role: role(),
    /** A group of approvers. */
    group_id: uuid(),
    mapped_by: text().notNull(),
    created_at: createdAt(),
  },
  (t) => [primaryKey({ columns: [t.organization_id, t.name] })],
);

/* People and groups as the company's directory has them, by SCIM (lib/services/directory). */

export const directoryUsers = pgTable(
  "directory_users",
  {
    id: uuid().primaryKey(),
    organization_id: organizationId(),
    user_name: text().notNull(),
    external_id: text(),
    /** Address of the account and approver, in lower case; null: none was sent. */
    email: text(),
    active: boolean().notNull(),
    /** JSON of its other attributes. */
    attributes: text().notNull(),
    created_at: createdAt(),
    updated_at: at("updated_at").notNull().defaultNow(),
  },
  (t) => [
    uniqueIndex("directory_users_name").on(t.organization_id, sql`lower(${t.user_name})`),
    uniqueIndex("directory_users_email").on(t.organization_id, t.email),
  ],
);

export const directoryGroups = pgTable(
  "directory_groups",
  {
    id: uuid().primaryKey(),
    organization_id: organizationId(),
    display_name: text().notNull(),
    external_id: text(),
    created_at: createdAt(),
    updated_at: at("updated_at").notNull().defaultNow(),
  },
  (t) => [uniqueIndex("directory_groups_name").on(t.organization_id, sql`lower(${t.display_name})`)],
);

export const directoryMembers = pgTable(
  "directory_members",
  {
    group_id: uuid()
      .notNull()
      .references(() => directoryGroups.id, { onDelete: "cascade" }),
    user_id: uuid()
      .notNull()
      .references(() => directoryUsers.id, { onDelete: "cascade" }),
  },
  (t) => [primaryKey({ columns: [t.group_id, t.user_id] }), index().on(t.user_id)],
);

export const invitations = pgTable(
  "invitations",
  {
    id: uuid().primaryKey(),
    organization_id: organizationId(),
    email: text().notNull(),
    role: role().notNull(),
    token_hash: bytea().notNull().unique(),
    invited_by: text().notNull(),
    created_at: createdAt(),
    expires_at: at("expires_at").notNull(),
    accepted_at: at("accepted_at"),
  },
  (t) => [index().on(t.organization_id)],
);

/** Receipts and evidence packs that whoever has the link may open. What they hold is read when it is opened. */
export const openingLinks = pgTable(
  "opening_links",
  {
    id: uuid().primaryKey(),
    organization_id: organizationId(),
    token_hash: bytea().notNull().unique(),
    /** Maker of the link, which opens what this person may take out at that moment. */
    user_id: text().notNull(),
    made_by: text().notNull(),
    /** Null for a pack. */
    attestation_id: uuid(),
    /** JSON: agents, period and private content; null for a receipt. */
    pack: text(),
    opening: text({ enum: ["none", "payee", "all"] }).notNull(),
    created_at: createdAt(),
    expires_at: at("expires_at").notNull(),
    revoked_at: at("revoked_at"),
    opened: integer().notNull().default(0),
    last_opened_at: at("last_opened_at"),
  },
  (t) => [index().on(t.organization_id, t.created_at.desc())],
);

export const auditEvents = pgTable(
  "audit_events",
  {
    id: uuid().primaryKey(),
    organization_id: uuid().notNull(),
    actor_kind: text({ enum: ["key", "user", "human", "system"] }).notNull(),
    actor: text().notNull(),
    action: text().notNull(),
    subject: text().notNull(),
    detail: jsonb(),
    ip: text(),
    created_at: createdAt(),
    /** Time at which it is due for the collector of events (lib/server/telemetry/audit-events.ts); null once it was sent. */
    export_due_at: at("export_due_at").defaultNow(),
  },
  (t) => [
    index("audit_organization").on(t.organization_id, t.id.desc()),
    index("audit_export_due").on(t.export_due_at).where(sql`${t.export_due_at} IS NOT NULL`),
  ],
);

/* API keys, and the codes by which an email address gets one. */

/** Keys are stored as SHA-256 of the whole text; a key is live while neither revoked nor expired. */
export const apiKeys = pgTable(
  "api_keys",
  {
    id: uuid().primaryKey(),
    organization_id: organizationId(),
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

/* The development mailbox. */

export const mailboxMessages = pgTable(
  "mailbox_messages",
  {
    id: uuid().primaryKey(),
    recipient: text().notNull(),
    subject: text().notNull(),
    text: text().notNull(),
    html: text().notNull(),
    created_at: createdAt(),
  },
  (t) => [index().on(t.created_at)],
);
