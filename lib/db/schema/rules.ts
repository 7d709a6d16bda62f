/** Versions of organizations' rules, each a statement in the log from when it counts. */
import { boolean, index, integer, pgTable, primaryKey, text, uniqueIndex, uuid } from "drizzle-orm/pg-core";
import { organizationId, organizations } from "./accounts";
import { authorizationRequests } from "./approvals";
import { at, leafIndex, signedStatement } from "./columns";

/** Verdicts of people about uses that nobody was asked about. */
export const useReviews = pgTable("use_reviews", {
  request_id: text()
    .primaryKey()
    .references(() => authorizationRequests.id, { onDelete: "cascade" }),
  organization_id: uuid().notNull(),
  verdict: text({ enum: ["fine", "should_ask"] }).notNull(),
  reviewed_by: text().notNull(),
  created_at: at("created_at").notNull(),
});

export const ruleSets = pgTable(
  "rule_sets",
  {
    organization_id: organizationId(),
    number: integer().notNull(),
    text: text().notNull(),
    /** Hex SHA-256 over text and schema (lib/protocol/policy/rule-context.ts). */
    hash: text().notNull(),
    mode: text({ enum: ["off", "log_only", "enforce"] }).notNull(),
    fallback: text({ enum: ["ask", "deny"] }).notNull(),
    /** True if the version after this one needs an owner besides its author. */
    second_owner: boolean().notNull(),
    /** Person or maker of the key, who can't be the second owner. */
    author_email: text().notNull(),
    author_key_id: uuid(),
    confirmed_by: text(),
    /** JSON of what a suggested rule of this version rests on (lib/protocol/policy/suggest.ts). */
    derivation: text(),
    /** Hex SHA-256 of the statement of the version before. */
    previous: text(),
    ...signedStatement(),
    log_id: integer().notNull(),
    leaf_index: leafIndex("leaf_index").notNull(),
    created_at: at("created_at").notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.organization_id, t.number] }),
    uniqueIndex("rule_sets_leaf").on(t.log_id, t.leaf_index),
    index("rule_sets_hash").on(t.organization_id, t.hash),
  ],
);

/** A change that waits for a second owner; the next one takes its place. */
export const ruleProposals = pgTable("rule_proposals", {
  organization_id: uuid()
    .primaryKey()
    .references(() => organizations.id),
  id: uuid().notNull(),
  text: text().notNull(),
  mode: text({ enum: ["off", "log_only", "enforce"] }).notNull(),
  fallback: text({ enum: ["ask", "deny"] }).notNull(),
  second_owner: boolean().notNull(),
  author_email: text().notNull(),
  author_key_id: uuid(),
  derivation: text(),
  created_at: at("created_at").notNull(),
});
