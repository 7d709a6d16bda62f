/**
 * The tables, one schema for the embedded database and PostgreSQL 15. Signed bytes are `bytea` and are
 * never rebuilt; no verdict is stored beside them (columns that repeat a signed field are search aids).
 */
import { sql } from "drizzle-orm";
import {
  bigint,
  boolean,
  customType,
  date,
  foreignKey,
  index,
  integer,
  jsonb,
  pgTable,
  primaryKey,
  text,
  timestamp,
  uniqueIndex,
  uuid,
} from "drizzle-orm/pg-core";

const bytea = customType<{ data: Uint8Array; driverData: Uint8Array }>({
  dataType: () => "bytea",
  fromDriver: (value) => new Uint8Array(value),
});
const at = (name: string) => timestamp(name, { withTimezone: true, precision: 3, mode: "date" });
const createdAt = () => at("created_at").notNull().defaultNow();
const leafIndex = (name: string) => bigint(name, { mode: "number" });

/* Organizations and the people in them. `users`, `sessions`, `verification_tokens` and `accounts` have the shape that next-auth's adapter asks for. */

export const organizations = pgTable("organizations", {
  id: uuid().primaryKey(),
  name: text().notNull(),
  default_public: boolean().notNull().default(true),
  attestations_per_day: integer(),
  created_at: createdAt(),
  deleted_at: at("deleted_at"),
});

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
});

export const verificationTokens = pgTable(
  "verification_tokens",
  { identifier: text().notNull(), token: text().notNull(), expires: at("expires").notNull() },
  (t) => [primaryKey({ columns: [t.identifier, t.token] })],
);

export const memberships = pgTable(
  "memberships",
  {
    organization_id: uuid()
      .notNull()
      .references(() => organizations.id),
    user_id: text()
      .notNull()
      .references(() => users.id, { onDelete: "cascade" }),
    role: text({ enum: ["owner", "member"] }).notNull(),
    created_at: createdAt(),
  },
  (t) => [primaryKey({ columns: [t.organization_id, t.user_id] }), index().on(t.user_id)],
);

export const invitations = pgTable(
  "invitations",
  {
    id: uuid().primaryKey(),
    organization_id: uuid()
      .notNull()
      .references(() => organizations.id),
    email: text().notNull(),
    role: text({ enum: ["owner", "member"] }).notNull(),
    token_hash: bytea().notNull().unique(),
    invited_by: text().notNull(),
    created_at: createdAt(),
    expires_at: at("expires_at").notNull(),
    accepted_at: at("accepted_at"),
  },
  (t) => [index().on(t.organization_id)],
);

/** Keys are stored as SHA-256 of the whole text; a key is live while neither revoked nor expired. */
export const apiKeys = pgTable(
  "api_keys",
  {
    id: uuid().primaryKey(),
    organization_id: uuid()
      .notNull()
      .references(() => organizations.id),
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
  },
  (t) => [index().on(t.organization_id)],
);

/** One live e-mail code per address; the code itself only as HMAC. */
export const emailCodes = pgTable("email_codes", {
  email: text().primaryKey(),
  code_hmac: bytea().notNull(),
  name: text(),
  tries: integer().notNull().default(0),
  created_at: createdAt(),
  expires_at: at("expires_at").notNull(),
});

/** Wrong codes of one address on one UTC day. */
export const emailCodeFailures = pgTable(
  "email_code_failures",
  { email: text().notNull(), day: date({ mode: "string" }).notNull(), failures: integer().notNull() },
  (t) => [primaryKey({ columns: [t.email, t.day] })],
);

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

/* Agents */

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

/* Keys that sign, and the log */

/** One row for each log that a key signs in: an attestation key's range of indexes belongs to one log. */
export const signingKeys = pgTable(
  "signing_keys",
  {
    key_id: text().notNull(),
    purpose: text({ enum: ["attestation", "log", "zk"] }).notNull(),
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
    kind: text({ enum: ["attestation", "decision", "key_event", "epoch"] }).notNull(),
    leaf_hash: bytea().notNull(),
    data: bytea().notNull(),
  },
  (t) => [primaryKey({ columns: [t.log_id, t.leaf_index] })],
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

/** Every checkpoint that ever left the service. */
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
    line: text().notNull(),
    created_at: createdAt(),
  },
  (t) => [primaryKey({ columns: [t.log_id, t.size, t.witness] })],
);

/** The statement that /v1/pubkey shows, signed by the attestation key of the time (`signed_by`), and its leaf. */
export const keyEvents = pgTable(
  "key_events",
  {
    purpose: text({ enum: ["attestation", "log", "zk"] }).notNull(),
    key_id: text().notNull(),
    event: text({ enum: ["made", "retired", "revoked"] }).notNull(),
    log_id: integer().notNull(),
    leaf_index: leafIndex("leaf_index").notNull(),
    payload: bytea().notNull(),
    signature: bytea().notNull(),
    envelope_signature: bytea().notNull(),
    signed_by: text().notNull(),
    created_at: createdAt(),
  },
  (t) => [primaryKey({ columns: [t.purpose, t.key_id, t.event, t.log_id] })],
);

/* Attestations */

export const attestations = pgTable(
  "attestations",
  {
    id: uuid().primaryKey(),
    organization_id: uuid()
      .notNull()
      .references(() => organizations.id),
    agent_id: uuid()
      .notNull()
      .references(() => agents.id),
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
    /** Codes that the signed bytes warn of (lib/domain/warnings.ts): for filters, never for what is shown. */
    warnings: text().array(),
    /** SHA-256 of a verified agent signature: one signature backs one attestation. */
    agent_signature_hash: bytea().unique(),
    /** Canonical bytes of the embedded object. */
    human_authorization: bytea(),
    authorization_id: text().unique(),
    zk_proof: text(),
    bbs_signature: bytea(),
    erased_at: at("erased_at"),
  },
  (t) => [
    uniqueIndex().on(t.log_id, t.leaf_index),
    index("attestations_feed").on(t.agent_id, t.is_public, t.log_id.desc(), t.leaf_index.desc()),
    index("attestations_organization").on(t.organization_id, t.id.desc()),
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

/** `response` is null while the first request is in flight (until `locked_until`). */
export const idempotencyKeys = pgTable(
  "idempotency_keys",
  {
    organization_id: uuid().notNull(),
    route: text().notNull(),
    key: text().notNull(),
    body_hash: bytea().notNull(),
    holder: uuid().notNull(),
    locked_until: at("locked_until").notNull(),
    status: integer(),
    response: text(),
    attestation_id: uuid(),
    created_at: createdAt(),
    expires_at: at("expires_at").notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.organization_id, t.route, t.key] }),
    index().on(t.expires_at),
    index().on(t.attestation_id),
  ],
);

/* Human authorization */

export const authorizationRequests = pgTable(
  "authorization_requests",
  {
    id: text().primaryKey(),
    organization_id: uuid()
      .notNull()
      .references(() => organizations.id),
    agent_id: uuid()
      .notNull()
      .references(() => agents.id),
    api_key_id: uuid().notNull(),
    /** Canonical bytes of `human_authorization.request`, made once. */
    request: bytea().notNull(),
    request_hash: bytea().notNull().unique(),
    /** Of the object that an approval of it makes (lib/domain/approval.ts); 1 was before there were versions. */
    version: integer().notNull().default(1).$type<1 | 2>(),
    context: text(),
    context_salt: text(),
    /** As the page shows them, bound by the hash of the context; version 1 has none. */
    agent_name: text(),
    organization_name: text(),
    /** SHA-256 of what makes two requests equal. */
    fingerprint: bytea().notNull(),
    status: text({ enum: ["pending", "approved", "denied", "expired", "cancelled"] }).notNull(),
    approvals_required: integer().notNull(),
    /** Fixed by the first approval, so that nobody counts twice. */
    protocol_version: text(),
    denial_reason: text(),
    callback_url: text(),
    created_at: at("created_at").notNull(),
    expires_at: at("expires_at").notNull(),
    decided_at: at("decided_at"),
    /** Canonical bytes of the signed object without `log`; only when approved. */
    human_authorization: bytea(),
    /** The decision's statement and its leaf. */
    decision_payload: bytea(),
    decision_signature: bytea(),
    decision_envelope_signature: bytea(),
    decision_key_id: text(),
    decision_log: text(),
    log_id: integer(),
    leaf_index: leafIndex("leaf_index"),
    /** The attestation that this authorization backs. */
    attestation_id: uuid(),
  },
  (t) => [
    index("authorizations_organization").on(t.organization_id, t.created_at.desc()),
    index("authorizations_pending").on(t.organization_id, t.status),
    index("authorizations_fingerprint").on(t.fingerprint, t.decided_at),
  ],
);

/** Nonces of RP signatures: single use, bound to one request. */
export const worldNonces = pgTable("world_nonces", {
  nonce: text().primaryKey(),
  request_id: text()
    .notNull()
    .references(() => authorizationRequests.id),
  created_at: createdAt(),
  expires_at: at("expires_at").notNull(),
  used_at: at("used_at"),
});

/** A received proof, stored before anything that can fail; wallets do not issue it twice. */
export const approvalSubmissions = pgTable(
  "approval_submissions",
  {
    id: uuid().primaryKey(),
    request_id: text()
      .notNull()
      .references(() => authorizationRequests.id),
    nonce: text().notNull().unique(),
    body: text().notNull(),
    /** Whose share of the costly checks it takes; forgotten when it has ended. */
    client: text(),
    status: text({ enum: ["pending", "accepted", "refused"] }).notNull(),
    /** Why it was refused: the error's name and its words at that time. */
    code: text({ enum: ["approval_refused", "already_approved", "authorization_not_pending"] }),
    detail: text(),
    attempts: integer().notNull().default(0),
    next_attempt_at: at("next_attempt_at").notNull(),
    created_at: createdAt(),
  },
  (t) => [index().on(t.request_id), index().on(t.status, t.next_attempt_at)],
);

/** Accepted approvals. The unique index is the rule that each human approves once per request. */
export const approvals = pgTable(
  "approvals",
  {
    id: uuid().primaryKey(),
    request_id: text().notNull(),
    environment: text().notNull(),
    world_action: text().notNull(),
    nullifier_hash: text().notNull(),
    record: text().notNull(),
    created_at: createdAt(),
  },
  (t) => [
    uniqueIndex("approvals_nullifier").on(t.environment, t.world_action, t.nullifier_hash),
    foreignKey({ columns: [t.request_id], foreignColumns: [authorizationRequests.id] }),
  ],
);

/* Besides */

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
  },
  (t) => [index("audit_organization").on(t.organization_id, t.id.desc())],
);

/** The shape that rate-limiter-flexible's PostgreSQL store reads and writes. */
export const rateLimits = pgTable(
  "rate_limits",
  {
    key: text().primaryKey(),
    points: integer().notNull().default(0),
    expire: bigint({ mode: "number" }),
  },
  (t) => [index().on(t.expire)],
);
