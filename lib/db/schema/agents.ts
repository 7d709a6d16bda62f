/** Agents, the keys that they have had, and their tools. */
import { boolean, index, pgTable, primaryKey, text, uuid } from "drizzle-orm/pg-core";
import { organizations } from "./accounts";
import { at, bytea, createdAt } from "./columns";

/** `slug` as written by its owner, `slug_key` = its lower case, unique: `Bank` and `bank` are one. */
export const agents = pgTable(
  "agents",
  {
    id: uuid().primaryKey(),
    organization_id: uuid()
      .notNull()
      .references(() => organizations.id),
    slug: text().notNull(),
    slug_key: text().notNull().unique(),
    name: text(),
    description: text(),
    public_key: bytea(),
    code_hash: text(),
    model_id: text(),
    tool_manifest_hash: text(),
    /** Made by a test key, or in the portal of an instance that only makes such keys. */
    is_test: boolean().notNull().default(false),
    created_at: createdAt(),
    updated_at: at("updated_at").notNull().defaultNow(),
  },
  (t) => [index().on(t.organization_id)],
);

/** Every key an agent has had. `proven_at`: when a signature under it first verified. */
export const agentKeys = pgTable(
  "agent_keys",
  {
    agent_id: uuid()
      .notNull()
      .references(() => agents.id),
    public_key: bytea().notNull(),
    registered_at: at("registered_at").notNull(),
    proven_at: at("proven_at"),
    retired_at: at("retired_at"),
  },
  (t) => [primaryKey({ columns: [t.agent_id, t.registered_at] })],
);

/** Kept by content hash (hex SHA-256 of the canonical bytes), so that an old verdict can be drawn again. */
export const toolManifests = pgTable("tool_manifests", {
  hash: text().primaryKey(),
  manifest: bytea().notNull(),
  created_at: createdAt(),
});
