/** Approvers and their groups, deputies, devices and passkeys, and the rosters that say who may approve. */
import { sql } from "drizzle-orm";
import {
  bigint,
  boolean,
  index,
  integer,
  pgTable,
  primaryKey,
  smallint,
  text,
  uniqueIndex,
  uuid,
} from "drizzle-orm/pg-core";
import { organizationId } from "./accounts";
import { at, bytea, createdAt, leafIndex, signedStatement } from "./columns";

/** People and groups, whose names share one namespace. */
export const approvers = pgTable(
  "approvers",
  {
    id: uuid().primaryKey(),
    organization_id: organizationId(),
    /** Name for requests; null for a member who has only chosen their emails. */
    name: text(),
    /** Null for a group. */
    email: text(),
    /**
     * Confirmed approvers alone get mail. `left`: unsubscribed; `removed`: an owner took them off; `deactivated`: the directory
     * did.
     */
    status: text({ enum: ["invited", "confirmed", "left", "removed", "deactivated"] }).notNull(),
    /** Time of the last mail that asked for the confirmation. */
    invited_at: at("invited_at"),
    /** Minutes after which the people of a group's next step are notified; null notifies all at once. */
    escalate_after: integer(),
    /** Person who is notified after the last step of a group. */
    last_resort: uuid(),
    /** Time since which an owner lets a group's attention be measured; null: it isn't. */
    attention_since: at("attention_since"),
    /** Number of requests that an owner lets be planted for a group in each 30 days; null: none. */
    planted_per_month: smallint(),
    /** The group that is notified if a request names nobody. */
    is_default: boolean().notNull().default(false),
    /** Requests that they get a mail about; `all`: members only. */
    requests: text({ enum: ["all", "named", "none"] })
      .notNull()
      .default("named"),
    decisions: boolean().notNull().default(false),
    reminders: boolean().notNull().default(false),
    /** Mails name in their subject what runs, which the servers on their way can read. */
    subject_titles: boolean().notNull().default(false),
    created_at: createdAt(),
  },
  (t) => [
    uniqueIndex("approvers_email").on(t.organization_id, t.email),
    uniqueIndex("approvers_name")
      .on(t.organization_id, sql`lower(${t.name})`)
      .where(sql`${t.status} <> 'removed'`),
    uniqueIndex("approvers_default").on(t.organization_id).where(sql`${t.is_default}`),
    index("approvers_person").on(t.email),
  ],
);

/** Devices that are notified by Web Push (RFC 8030): a browser's subscription. */
export const pushDevices = pgTable(
  "push_devices",
  {
    id: uuid().primaryKey(),
    approver_id: uuid()
      .notNull()
      .references(() => approvers.id, { onDelete: "cascade" }),
    /** Address at the browser maker's push service; whoever has it and the keys can send to the device. */
    endpoint: text().notNull(),
    p256dh: text().notNull(),
    auth: text().notNull(),
    name: text().notNull(),
    /** Time at which the push service last refused a message for another reason than an ended subscription. */
    failed_at: at("failed_at"),
    created_at: createdAt(),
  },
  (t) => [uniqueIndex("push_devices_endpoint").on(t.approver_id, t.endpoint)],
);

export const approverGroups = pgTable(
  "approver_groups",
  {
    group_id: uuid()
      .notNull()
      .references(() => approvers.id, { onDelete: "cascade" }),
    approver_id: uuid()
      .notNull()
      .references(() => approvers.id, { onDelete: "cascade" }),
    /** The provider's group that put them there; null: an owner did. */
    by_provider: text(),
    /** Turn in which they are notified: 1 is at once. */
    step: smallint().notNull().default(1),
  },
  (t) => [primaryKey({ columns: [t.group_id, t.approver_id] }), index().on(t.approver_id)],
);

/** Deputies decide in an approver's place, one at a time for each. */
export const deputies = pgTable(
  "deputies",
  {
    approver_id: uuid()
      .primaryKey()
      .references(() => approvers.id, { onDelete: "cascade" }),
    deputy_id: uuid()
      .notNull()
      .references(() => approvers.id, { onDelete: "cascade" }),
    starts_at: at("starts_at").notNull(),
    ends_at: at("ends_at").notNull(),
    created_at: createdAt(),
  },
  (t) => [index("deputies_deputy").on(t.deputy_id)],
);

/*
 * Passkeys of approvers, and the roster that says who may approve (lib/protocol/passkey/roster.ts). The tables here and those
 * of approvers say what is so; triggers note in `stale_rosters` whatever changes it, and the next roster is made of it.
 */

export const passkeys = pgTable(
  "passkeys",
  {
    id: uuid().primaryKey(),
    organization_id: organizationId(),
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
    ...signedStatement(),
    created_at: createdAt(),
    /** Time at which the owners' mails are due; null once they are sent. */
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
