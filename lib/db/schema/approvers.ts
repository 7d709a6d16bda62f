/**
 * Who is notified of authorization requests. Notices are the outbox of their mails: lib/services/approvals/request/notify.ts and a
 * trigger write them in the transaction that makes or ends the request, so neither is ever without the other. They hold
 * no content: a mail is written from the request when it is sent.
 */
import { sql } from "drizzle-orm";
import { boolean, index, integer, pgTable, primaryKey, text, uniqueIndex, uuid } from "drizzle-orm/pg-core";
import { organizations } from "./accounts";
import { authorizationRequests } from "./approvals";
import { at, createdAt } from "./columns";

/** People and groups, whose names share one namespace. */
export const approvers = pgTable(
  "approvers",
  {
    id: uuid().primaryKey(),
    organization_id: uuid()
      .notNull()
      .references(() => organizations.id),
    /** Name for requests; null for a member who has only chosen their emails. */
    name: text(),
    /** Null for a group. */
    email: text(),
    /** Only the confirmed get mail. `left`: they unsubscribed; `removed`: an owner took them off. */
    status: text({ enum: ["invited", "confirmed", "left", "removed"] }).notNull(),
    /** When the mail that asks for the confirmation was sent last. */
    invited_at: at("invited_at"),
    /** The group that is notified if a request names nobody. */
    is_default: boolean().notNull().default(false),
    /** Which requests they get a mail about; `all`: members only. */
    requests: text({ enum: ["all", "named", "none"] })
      .notNull()
      .default("named"),
    decisions: boolean().notNull().default(false),
    reminders: boolean().notNull().default(false),
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

export const approverGroups = pgTable(
  "approver_groups",
  {
    group_id: uuid()
      .notNull()
      .references(() => approvers.id, { onDelete: "cascade" }),
    approver_id: uuid()
      .notNull()
      .references(() => approvers.id, { onDelete: "cascade" }),
  },
  (t) => [primaryKey({ columns: [t.group_id, t.approver_id] }), index().on(t.approver_id)],
);

/** Whom a request names: the people of its groups at that time. */
export const requestApprovers = pgTable(
  "request_approvers",
  {
    request_id: text()
      .notNull()
      .references(() => authorizationRequests.id),
    approver_id: uuid()
      .notNull()
      .references(() => approvers.id, { onDelete: "cascade" }),
  },
  (t) => [primaryKey({ columns: [t.request_id, t.approver_id] }), index().on(t.approver_id)],
);

/** Without foreign keys: an organization that is being deleted must not hold up the log. */
export const notices = pgTable(
  "notices",
  {
    request_id: text().notNull(),
    kind: text({ enum: ["waiting", "reminder", "decided"] }).notNull(),
    approver_id: uuid().notNull(),
    organization_id: uuid().notNull(),
    /** `dropped`: it was no longer wanted when its time came. */
    status: text({ enum: ["pending", "sent", "dropped", "failed"] }).notNull(),
    attempts: integer().notNull().default(0),
    /** While an attempt runs: when another process may think that it died. */
    next_attempt_at: at("next_attempt_at").notNull(),
    created_at: createdAt(),
  },
  (t) => [
    primaryKey({ columns: [t.request_id, t.kind, t.approver_id] }),
    index("notices_due").on(t.organization_id, t.next_attempt_at).where(sql`${t.status} = 'pending'`),
    index("notices_age").on(t.created_at),
  ],
);
