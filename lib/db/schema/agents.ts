/** Agents, the keys that they have had, their tools and attestations. */
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
import { at, bytea, createdAt, leafIndex } from "./columns";

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

/** Changes by its organization to what an agent may do, each with its signed statement and leaf of the log. */
export const agentChanges = pgTable(
  "agent_changes",
  {
    id: uuid().primaryKey(),
    organization_id: uuid()
      .notNull()
      .references(() => organizations.id),
    agent_id: uuid()
      .notNull()
      .references(() => agents.id),
    change: text({ enum: ["frozen", "unfrozen", "authorization_revoked"] }).notNull(),
    request_id: text(),
    changed_at: at("changed_at").notNull(),
    reason: text(),
    reason_salt: text(),
    payload: bytea().notNull(),
    signature: bytea().notNull(),
    envelope_signature: bytea().notNull(),
    signed_by: text().notNull(),
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

/** Kept by content hash (hex SHA-256 of the canonical bytes), so that an old verdict can be drawn again. */
export const toolManifests = pgTable("tool_manifests", {
  hash: text().primaryKey(),
  manifest: bytea().notNull(),
  created_at: createdAt(),
});

/** A payload's canonical JSON ends with its subject, the SHA-256 of the inputs: `…"<64 hex digits>"},"name":"inputs"}]}`. */
const afterDigest = '"},"name":"inputs"}]}'.length;

/** SQL of the 64 bytes where a payload that names a SHA-256 of its inputs has it; of any other payload they mean nothing. */
export const payloadDigestSql = (payload: string) =>
  `substring(${payload} FROM octet_length(${payload}) - ${afterDigest + 63} FOR 64)`;

export const attestations = pgTable(
  "attestations",
  {
    id: uuid().primaryKey(),
    /** No foreign keys: `store_attestations` checks both, and a trigger keeps the agent. */
    organization_id: uuid().notNull(),
    agent_id: uuid().notNull(),
    api_key_id: uuid().notNull(),
    log_id: integer().notNull(),
    leaf_index: leafIndex("leaf_index").notNull(),
    /** The exact signed bytes; null only after erasure. */
    payload: bytea(),
    payload_hash: bytea().notNull(),
    signature: bytea().notNull(),
    envelope_signature: bytea().notNull(),
    key_id: text().notNull(),
    is_public: boolean().notNull(),
    created_at: at("created_at").notNull(),
    /** Search aids that repeat signed fields; null after erasure. */
    action: text(),
    human_approval_method: text(),
    /** Codes that the signed bytes warn of (lib/protocol/statement/warnings.ts): for filters, never for what is shown. */
    warnings: text().array(),
    /** SHA-256 of a verified agent signature: one signature backs one attestation. */
    agent_signature_hash: bytea(),
    /** Canonical bytes of the embedded object. */
    human_authorization: bytea(),
    authorization_id: text(),
    zk_proof: text(),
    bbs_signature: bytea(),
    erased_at: at("erased_at"),
  },
  (t) => [
    uniqueIndex().on(t.log_id, t.leaf_index),
    uniqueIndex("attestations_agent_signature")
      .on(t.agent_signature_hash)
      .where(sql`${t.agent_signature_hash} IS NOT NULL`),
    uniqueIndex("attestations_authorization")
      .on(t.authorization_id)
      .where(sql`${t.authorization_id} IS NOT NULL`),
    index("attestations_feed").on(t.agent_id, t.is_public, t.log_id.desc(), t.leaf_index.desc()),
    // Hash index: four bytes an entry, and a salted payload has a hash of its own.
    index("attestations_payload_hash").using("hash", t.payload_hash).where(sql`${t.is_public}`),
    // Many attestations may name one input: with its id each entry is another, and the newest are read first.
    index("attestations_inputs")
      .on(sql.raw(`(${payloadDigestSql("payload")})`), t.id)
      .where(sql`${t.is_public} AND ${t.payload} IS NOT NULL`),
    index("attestations_organization").on(t.organization_id, t.id.desc()),
    // Public lists by amount. An attestation without an approval has no entry, and costs nothing.
    index("attestations_amount")
      .on(t.agent_id, sql`amount_place(${t.human_authorization})`, t.id)
      .where(sql`${t.is_public} AND ${t.payload} IS NOT NULL AND ${t.human_authorization} IS NOT NULL`),
  ],
);

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

export const dailyUsage = pgTable(
  "daily_usage",
  {
    organization_id: uuid().notNull(),
    day: date({ mode: "string" }).notNull(),
    attestations: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.organization_id, t.day] })],
);
