/** Agents, the keys that they have had, their tools and records. */
import { sql } from "drizzle-orm";
import {
  bigint,
  boolean,
  index,
  integer,
  pgTable,
  primaryKey,
  text,
  uniqueIndex,
  uuid,
} from "drizzle-orm/pg-core";
import { organizationId } from "./accounts";
import { at, bytea, createdAt, leafIndex, signedStatement } from "./columns";

/** `slug` as written by its owner, `slug_key` = its lower case, unique: `Bank` and `bank` are one. */
export const agents = pgTable(
  "agents",
  {
    id: uuid().primaryKey(),
    organization_id: organizationId(),
    slug: text().notNull(),
    slug_key: text().notNull().unique(),
    name: text(),
    description: text(),
    public_key: bytea(),
    code_hash: text(),
    model_id: text(),
    tool_manifest_hash: text(),
    /** True if made by a test key, or in the portal of an instance that only makes such keys. */
    is_test: boolean().notNull().default(false),
    frozen_at: at("frozen_at"),
    created_at: createdAt(),
    updated_at: at("updated_at").notNull().defaultNow(),
  },
  (t) => [
    index().on(t.organization_id),
    // The function is in drizzle/0006_find_look_alikes.sql.
    index("agents_slug_skeleton").on(sql`slug_skeleton(${t.slug_key})`, t.id),
  ],
);

export const agentId = () =>
  uuid()
    .notNull()
    .references(() => agents.id);

/** Every key an agent has had. `proven_at`: when a signature under it first verified. */
export const agentKeys = pgTable(
  "agent_keys",
  {
    agent_id: agentId(),
    public_key: bytea().notNull(),
    registered_at: at("registered_at").notNull(),
    proven_at: at("proven_at"),
    retired_at: at("retired_at"),
  },
  (t) => [primaryKey({ columns: [t.agent_id, t.registered_at] })],
);

/** Changes by its organization to what an agent may do, each with its signed statement and leaf of the log. */
export const agentChanges = pgTable(
  "agent_changes",
  {
    id: uuid().primaryKey(),
    organization_id: organizationId(),
    agent_id: agentId(),
    change: text({ enum: ["frozen", "unfrozen", "authorization_revoked"] }).notNull(),
    request_id: text(),
    changed_at: at("changed_at").notNull(),
    reason: text(),
    reason_salt: text(),
    ...signedStatement(),
    log: text().notNull(),
    log_id: integer().notNull(),
    leaf_index: leafIndex("leaf_index").notNull(),
  },
  (t) => [
    index("agent_changes_agent").on(t.agent_id, t.changed_at.desc()),
    index("agent_changes_request").on(t.request_id),
    uniqueIndex("agent_changes_leaf").on(t.log_id, t.leaf_index),
  ],
);

/** Stored under the content's hash (hex SHA-256 of the canonical bytes), so that an old verdict can be computed again. */
export const toolManifests = pgTable("tool_manifests", {
  hash: text().primaryKey(),
  manifest: bytea().notNull(),
  created_at: createdAt(),
});

/** Counters that grow with each of an agent's attestations and decisions. */
export const agentRecords = pgTable("agent_records", {
  agent_id: uuid().primaryKey(),
  listed: bigint({ mode: "number" }).notNull(),
  /** The head of its record (lib/protocol/record/agent-record.ts); 0 and null before the first entry. */
  sequence: bigint({ mode: "number" }).notNull(),
  link: bytea(),
  /** 16 bytes, of its tag in snapshots; drawn with the first entry. */
  salt: bytea(),
});

/** The last number that an instance of an agent has given an attestation (lib/log/sequencer/positions.ts). */
export const agentClients = pgTable("agent_clients", {
  /** SHA-256 over the agent's id and the instance's name. */
  id: bytea().primaryKey(),
  sequence: bigint({ mode: "number" }).notNull(),
});
