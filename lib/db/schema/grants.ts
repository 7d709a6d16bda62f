/** Standing approvals: what people allowed once for many uses. Their uses are requests of their own. */
import { index, pgTable, text, uuid } from "drizzle-orm/pg-core";
import { agents } from "./agents";
import { authorizationRequests } from "./approvals";
import { at, bytea } from "./columns";

export const grants = pgTable(
  "grants",
  {
    /** The request that people approved. */
    request_id: text()
      .primaryKey()
      .references(() => authorizationRequests.id),
    agent_id: uuid()
      .notNull()
      .references(() => agents.id),
    /** As the request names it; another one suspends the grant. */
    public_key: bytea(),
    /** As registered when it was approved; another one suspends the grant. */
    code_hash: text(),
    /** Canonical JSON (lib/protocol/approval/decided-by.ts). */
    terms: text().notNull(),
    request_hash: text().notNull(),
    authorization_hash: text().notNull(),
    /** Where it was given: in anything but production its uses are TESTs. */
    environment: text().notNull(),
    approved_at: at("approved_at").notNull(),
    expires_at: at("expires_at").notNull(),
  },
  (t) => [index("grants_agent").on(t.agent_id, t.expires_at)],
);
