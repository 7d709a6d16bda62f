/** Keys that sign, and the log. */
import { sql } from "drizzle-orm";
import {
  bigint,
  check,
  index,
  integer,
  pgTable,
  primaryKey,
  text,
  uniqueIndex,
  uuid,
} from "drizzle-orm/pg-core";
import { at, bytea, createdAt, leafIndex, signedStatement } from "./columns";

/** One row for each log that a key signs in: an attestation key's range of indexes belongs to one log. */
export const signingKeys = pgTable(
  "signing_keys",
  {
    key_id: text().notNull(),
    purpose: text({ enum: ["attestation", "log", "log_post_quantum", "zk"] }).notNull(),
    public_key: bytea().notNull(),
    status: text({ enum: ["active", "retired", "revoked"] }).notNull(),
    log_id: integer().notNull(),
    valid_from_index: leafIndex("valid_from_index"),
    valid_to_index: leafIndex("valid_to_index"),
    created_at: createdAt(),
    retired_at: at("retired_at"),
  },
  (t) => [
    primaryKey({ columns: [t.purpose, t.key_id, t.log_id] }),
    uniqueIndex("signing_keys_one_active").on(t.purpose).where(sql`${t.status} = 'active'`),
  ],
);

/** One row per log (epoch); the row of the current one is the head, and its lock is the only lock. */
export const logs = pgTable("logs", {
  id: integer().primaryKey(),
  origin: text().notNull(),
  key_id: text().notNull(),
  size: leafIndex("size").notNull(),
  root: bytea().notNull(),
  checkpoint: text().notNull(),
  /** The statement of leaf 0 that names the log before, signed by `epoch_key_id`; null for log 1. */
  epoch_payload: bytea(),
  epoch_signature: bytea(),
  epoch_envelope_signature: bytea(),
  epoch_key_id: text(),
  created_at: createdAt(),
  updated_at: at("updated_at").notNull().defaultNow(),
  closed_at: at("closed_at"),
});

export const logLeaves = pgTable(
  "log_leaves",
  {
    log_id: integer().notNull(),
    leaf_index: leafIndex("leaf_index").notNull(),
    kind: text({
      enum: [
        "attestation",
        "decision",
        "agent_change",
        "key_event",
        "epoch",
        "agent_heads",
        "ruleset",
        "approver_roster",
        "planted_requests",
      ],
    }).notNull(),
    /** Null, both, once the store has them and they were dropped here (lib/log/reading/compact.ts). */
    leaf_hash: bytea(),
    data: bytea(),
    payload_hash: bytea().notNull(),
    /** Position in an agent's record; the service's own statements have none. */
    agent_id: uuid(),
    sequence: bigint({ mode: "number" }),
    previous: bytea(),
  },
  (t) => [
    primaryKey({ columns: [t.log_id, t.leaf_index] }),
    uniqueIndex("log_leaves_record").on(t.agent_id, t.sequence).where(sql`${t.agent_id} IS NOT NULL`),
    index("log_leaves_statements")
      .on(t.log_id, t.leaf_index)
      .where(sql`${t.kind} NOT IN ('attestation', 'decision', 'agent_change')`),
    index("log_leaves_unrecorded")
      .on(t.log_id, t.leaf_index)
      .where(sql`${t.agent_id} IS NULL AND ${t.kind} IN ('attestation', 'decision', 'agent_change')`),
    check("log_leaves_dropped", sql`num_nulls(${t.leaf_hash}, ${t.data}) IN (0, 2)`),
    /** Every new leaf is in a record, or is a statement of the service's own: whatever version writes it. */
    check(
      "log_leaves_place",
      sql`num_nonnulls(${t.agent_id}, ${t.sequence}, ${t.previous}) =
        CASE WHEN ${t.kind} IN ('attestation', 'decision', 'agent_change') THEN 3 ELSE 0 END`,
    ),
  ],
);

export const logTiles = pgTable(
  "log_tiles",
  {
    log_id: integer().notNull(),
    level: integer().notNull(),
    tile_index: leafIndex("tile_index").notNull(),
    hashes: bytea().notNull(),
  },
  (t) => [primaryKey({ columns: [t.log_id, t.level, t.tile_index] })],
);

export const logCheckpoints = pgTable(
  "log_checkpoints",
  {
    log_id: integer().notNull(),
    size: leafIndex("size").notNull(),
    root: bytea().notNull(),
    note: text().notNull(),
    created_at: createdAt(),
  },
  (t) => [primaryKey({ columns: [t.log_id, t.size] })],
);

export const logCosignatures = pgTable(
  "log_cosignatures",
  {
    log_id: integer().notNull(),
    size: leafIndex("size").notNull(),
    witness: text().notNull(),
    /** The first one, which says the most about when the log was that large. */
    line: text().notNull(),
    created_at: createdAt(),
    /** The last one, if the witness has cosigned this size again since. */
    renewed_line: text(),
    renewed_at: at("renewed_at"),
  },
  (t) => [primaryKey({ columns: [t.log_id, t.size, t.witness] })],
);

/** Cosigned checkpoints that signed statements name as what they were made after: kept byte for byte. */
export const cosignedNotes = pgTable("cosigned_notes", {
  /** hex SHA-256 of the note */
  hash: text().primaryKey(),
  log_id: integer().notNull(),
  size: leafIndex("size").notNull(),
  note: text().notNull(),
  created_at: createdAt(),
});

/** Time-stamp responses (RFC 3161) over the text of a checkpoint. */
export const logTimestamps = pgTable(
  "log_timestamps",
  {
    log_id: integer().notNull(),
    size: leafIndex("size").notNull(),
    tsa: text().notNull(),
    /** The whole response, DER. */
    response: bytea().notNull(),
    stamped_at: at("stamped_at").notNull(),
    created_at: createdAt(),
  },
  (t) => [primaryKey({ columns: [t.log_id, t.size, t.tsa] })],
);

/** Snapshots of all records' heads (lib/protocol/record/agent-heads.ts), each with its signed statement. */
export const agentHeads = pgTable(
  "agent_heads",
  {
    log_id: integer().notNull(),
    covers_size: leafIndex("covers_size").notNull(),
    leaf_index: leafIndex("leaf_index").notNull(),
    agents: integer().notNull(),
    /** Null when they are old enough to be dropped, and with them the hashes above them. */
    rows: bytea(),
    nodes: bytea(),
    ...signedStatement(),
    created_at: createdAt(),
  },
  (t) => [
    primaryKey({ columns: [t.log_id, t.covers_size] }),
    uniqueIndex("agent_heads_leaf").on(t.log_id, t.leaf_index),
  ],
);

/** Turns to contact others: one process at a time, and not too often. */
export const leases = pgTable("leases", {
  /** Name, such as `witness <name>` or `tsa <address>`. */
  name: text().primaryKey(),
  next_at: at("next_at").notNull(),
  failures: integer().notNull().default(0),
});

/** The statement that /v1/pubkey shows, signed by the attestation key of the time (`signed_by`), and its leaf. */
export const keyEvents = pgTable(
  "key_events",
  {
    purpose: text({ enum: ["attestation", "log", "log_post_quantum", "zk"] }).notNull(),
    key_id: text().notNull(),
    event: text({ enum: ["made", "retired", "revoked"] }).notNull(),
    log_id: integer().notNull(),
    leaf_index: leafIndex("leaf_index").notNull(),
    ...signedStatement(),
    created_at: createdAt(),
  },
  (t) => [primaryKey({ columns: [t.purpose, t.key_id, t.event, t.log_id] })],
);

/** Unlogged, and always empty: what the health check writes here is rolled back (lib/log/sequencer/sequencer.ts). */
export const writeProbe = pgTable("write_probe", { filler: text().notNull() });
