/** Attestations, and how many an organization made on each day. */
import { sql } from "drizzle-orm";
import {
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
import { at, bytea, leafIndex } from "./columns";

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

export const dailyUsage = pgTable(
  "daily_usage",
  {
    organization_id: uuid().notNull(),
    day: date({ mode: "string" }).notNull(),
    attestations: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.organization_id, t.day] })],
);
