/** Human authorization: requests, nonces, received proofs and what was accepted of them. */
import { sql } from "drizzle-orm";
import {
  bigint,
  boolean,
  date,
  foreignKey,
  index,
  integer,
  pgTable,
  primaryKey,
  text,
  uniqueIndex,
  uuid,
} from "drizzle-orm/pg-core";
import { organizationId } from "./accounts";
import { agentId } from "./agents";
import { approvers } from "./approvers";
import { at, bytea, createdAt, leafIndex, signedStatement } from "./columns";

export const authorizationRequests = pgTable(
  "authorization_requests",
  {
    id: text().primaryKey(),
    organization_id: organizationId(),
    agent_id: agentId(),
    api_key_id: uuid().notNull(),
    /** Canonical bytes of `human_authorization.request`, made once. */
    request: bytea().notNull(),
    request_hash: bytea().notNull().unique(),
    context: text(),
    context_salt: text(),
    /** Names as the page shows them, bound by the hash of the context. */
    agent_name: text(),
    organization_name: text(),
    /** JSON array of the required groups' names, bound likewise. */
    group_names: text(),
    /** Canonical JSON of who asks (lib/protocol/approval/assign-groups.ts), bound likewise. */
    requested_by: text(),
    /** SHA-256 of what makes two requests equal. */
    fingerprint: bytea().notNull(),
    /** Amount in units of 10⁻⁴, in which a day's sums are counted. */
    amount_units: bigint({ mode: "bigint" }),
    currency: text(),
    /** The request of the standing approval that approved this one. */
    grant_id: text(),
    /** Canonical JSON of what the rules were evaluated over (lib/protocol/policy/rule-context.ts); null without rules. */
    rule_context: text(),
    /** JSON of what they said. */
    rule_outcome: text(),
    /** JSON of what a suggested standing approval rests on (lib/protocol/policy/suggest.ts). */
    derivation: text(),
    status: text({ enum: ["pending", "approved", "denied", "expired", "cancelled"] }).notNull(),
    approvals_required: integer().notNull(),
    /** True if a decision needs the confirmation code, which the page never shows. */
    require_code: boolean().notNull().default(false),
    wrong_codes: integer().notNull().default(0),
    /** Fixed by the first approval, so that no person counts twice. */
    protocol_version: text(),
    denial_reason: text(),
    denied_by: uuid(),
    callback_url: text(),
    created_at: at("created_at").notNull(),
    expires_at: at("expires_at").notNull(),
    decided_at: at("decided_at"),
    /** JSON of who decided (lib/protocol/approval/decided-by.ts). */
    decided_by: text(),
    /** Null: without an end. */
    usable_until: at("usable_until"),
    human_authorization: bytea(),
    /** The decision's statement and its leaf. */
    decision_payload: bytea(),
    decision_signature: bytea(),
    decision_envelope_signature: bytea(),
    decision_key_id: text(),
    decision_log: text(),
    log_id: integer(),
    leaf_index: leafIndex("leaf_index"),
    attestation_id: uuid(),
    revoked_at: at("revoked_at"),
    used_at: at("used_at"),
    /** The one run of the action that may begin, and since when it has its claim. */
    run: text(),
    claimed_at: at("claimed_at"),
    unattested_at: at("unattested_at"),
    /** The request that this one changes, and the one that changed this one. */
    amends: text(),
    amended_by: text(),
    /** JSON of approvers' questions and their answers (lib/protocol/approval/amendment.ts). */
    questions: text(),
  },
  (t) => [
    index("authorizations_organization").on(t.organization_id, t.created_at.desc()),
    index("authorizations_agent").on(t.agent_id, t.status),
    index("authorizations_pending").on(t.organization_id, t.status),
    index("authorizations_fingerprint").on(t.fingerprint, t.decided_at),
    index("authorizations_grant").on(t.grant_id).where(sql`${t.grant_id} IS NOT NULL`),
    index("authorizations_approved").on(t.agent_id, t.decided_at).where(sql`${t.status} = 'approved'`),
    // Lists by amount, of attestations too: the largest first.
    index("authorizations_amount")
      .on(t.organization_id, t.currency, sql`(-${t.amount_units})`, t.id)
      .where(sql`${t.amount_units} IS NOT NULL`),
    index("authorizations_overdue").on(t.expires_at).where(sql`${t.status} = 'pending'`),
    index("authorizations_claimed")
      .on(t.claimed_at)
      .where(sql`${t.claimed_at} IS NOT NULL AND ${t.attestation_id} IS NULL AND ${t.unattested_at} IS NULL`),
    index("authorizations_unattested")
      .on(t.organization_id)
      .where(sql`${t.attestation_id} IS NULL AND ${t.unattested_at} IS NOT NULL`),
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
    /** The client whose share of the costly checks it takes; forgotten when it has ended. */
    client: text(),
    status: text({ enum: ["pending", "accepted", "refused"] }).notNull(),
    /** Reason for the refusal: the error's name and its words at that time. */
    code: text({
      enum: [
        "approval_refused",
        "approver_not_enrolled",
        "passkey_refused",
        "already_approved",
        "authorization_not_pending",
        "agent_frozen",
        "rule_forbids",
        "rule_demands_more",
      ],
    }),
    detail: text(),
    attempts: integer().notNull().default(0),
    next_attempt_at: at("next_attempt_at").notNull(),
    created_at: createdAt(),
  },
  (t) => [index().on(t.request_id), index().on(t.status, t.next_attempt_at)],
);

/** Accepted approvals, one of each person. The unique indexes are the rule that each human approves once per request. */
export const approvals = pgTable(
  "approvals",
  {
    id: uuid().primaryKey(),
    request_id: text().notNull(),
    environment: text().notNull(),
    world_action: text().notNull(),
    /** Null without a World ID proof. */
    nullifier_hash: text(),
    approver_id: uuid(),
    /** JSON array of what the object has of this person: a World ID proof, a passkey's signature, or both. */
    records: text().notNull(),
    created_at: createdAt(),
  },
  (t) => [
    uniqueIndex("approvals_nullifier").on(t.environment, t.world_action, t.nullifier_hash),
    uniqueIndex("approvals_approver").on(t.request_id, t.approver_id),
    foreignKey({ columns: [t.request_id], foreignColumns: [authorizationRequests.id] }),
  ],
);

/* Standing approvals: what people allowed once for many uses. Their uses are requests of their own. */

export const grants = pgTable(
  "grants",
  {
    request_id: text()
      .primaryKey()
      .references(() => authorizationRequests.id),
    agent_id: agentId(),
    /** Key that the request names; another one suspends the grant. */
    public_key: bytea(),
    /** Code hash that was registered at the approval; another one suspends the grant. */
    code_hash: text(),
    /** Canonical JSON (lib/protocol/approval/decided-by.ts). */
    terms: text().notNull(),
    request_hash: text().notNull(),
    authorization_hash: text().notNull(),
    /** Environment of the approval: in anything but production its uses are TESTs. */
    environment: text().notNull(),
    approved_at: at("approved_at").notNull(),
    expires_at: at("expires_at").notNull(),
  },
  (t) => [index("grants_agent").on(t.agent_id, t.expires_at)],
);

/** Decisions on the approval page, read to the end or not, of groups whose attention is measured: no person, no request. */
export const groupReadings = pgTable(
  "group_readings",
  {
    group_id: uuid()
      .notNull()
      .references(() => approvers.id, { onDelete: "cascade" }),
    agent_id: agentId(),
    /** UTC */
    day: date({ mode: "string" }).notNull(),
    to_end: integer().notNull(),
    not_to_end: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.group_id, t.agent_id, t.day] })],
);

/*
 * Recipients of notices about authorization requests. Notices are the outbox of their mails: notify-approvers.ts (in
 * lib/services/approvals/request) and a trigger write them in the transaction that makes or ends the request, so neither is
 * ever without the other. They hold no content: a mail is written from the request when it is sent.
 */

export const requestApprovers = pgTable(
  "request_approvers",
  {
    /** A request's, or a planted one's. */
    request_id: text().notNull(),
    approver_id: uuid()
      .notNull()
      .references(() => approvers.id, { onDelete: "cascade" }),
  },
  (t) => [primaryKey({ columns: [t.request_id, t.approver_id] }), index().on(t.approver_id)],
);

/** People who say that they are looking at a request. Never part of its state: no foreign keys, and gone after a day. */
export const looks = pgTable(
  "looks",
  {
    request_id: text().notNull(),
    /** Name shown to the others; empty for somebody who only has the link. */
    name: text().notNull(),
    looked_at: at("looked_at").notNull(),
  },
  (t) => [primaryKey({ columns: [t.request_id, t.name] })],
);

/** No foreign keys: an organization that is being deleted must not hold up the log. */
export const notices = pgTable(
  "notices",
  {
    request_id: text().notNull(),
    /** `question`: to the person whose key asks. */
    kind: text({ enum: ["waiting", "reminder", "question", "decided"] }).notNull(),
    approver_id: uuid().notNull(),
    organization_id: uuid().notNull(),
    /** `dropped`: it was no longer wanted when its time came. */
    status: text({ enum: ["pending", "sent", "dropped", "failed"] }).notNull(),
    attempts: integer().notNull().default(0),
    next_attempt_at: at("next_attempt_at").notNull(),
    created_at: createdAt(),
  },
  (t) => [
    primaryKey({ columns: [t.request_id, t.kind, t.approver_id] }),
    index("notices_due").on(t.organization_id, t.next_attempt_at).where(sql`${t.status} = 'pending'`),
    index("notices_age").on(t.created_at),
  ],
);

/*
 * Planted requests (docs/decisions/0054): never rows of `authorization_requests`, so that no list, count, limit, rule,
 * webhook or record has them, and nothing can be claimed or attested with one.
 */

/** Logged commitments to planted requests, and their openings. */
export const plantedStatements = pgTable(
  "planted_statements",
  {
    /** SHA-256 of the document. */
    hash: bytea().primaryKey(),
    organization_id: uuid().notNull(),
    kind: text({ enum: ["schedule", "opening"] }).notNull(),
    /** Canonical schedule or opening (lib/protocol/approval/planted.ts). */
    document: bytea().notNull(),
    group_id: uuid().notNull(),
    /** The end of its schedule. */
    until: at("until").notNull(),
    log_id: integer().notNull(),
    leaf_index: leafIndex("leaf_index").notNull(),
    ...signedStatement(),
  },
  (t) => [
    index("planted_statements_group").on(t.organization_id, t.group_id, t.until),
    uniqueIndex("planted_statements_leaf").on(t.log_id, t.leaf_index),
  ],
);

export const plantedRequests = pgTable(
  "planted_requests",
  {
    /** A request's id like any other, committed to before the request is made. */
    id: text().primaryKey(),
    organization_id: organizationId(),
    group_id: uuid().notNull(),
    schedule: bytea().notNull(),
    at: at("at").notNull(),
    fact: text({ enum: ["payee", "amount", "agent"] }).notNull(),
    salt: text().notNull(),
    status: text({ enum: ["planned", "pending", "cancelled", "expired"] }).notNull(),
    outcome: text({ enum: ["denied", "corrected", "approved", "changed", "expired", "withdrawn"] }),
    /** The real request that it was made from, its agent if that is there, and the key that asked. */
    template_id: text(),
    agent_id: uuid(),
    api_key_id: uuid(),
    /** Same as in `authorization_requests`; null before it is shown, the content again after an erasure. */
    request: bytea(),
    request_hash: bytea(),
    context: text(),
    context_salt: text(),
    agent_name: text(),
    organization_name: text(),
    group_names: text(),
    requested_by: text(),
    amount_units: bigint({ mode: "bigint" }),
    currency: text(),
    rule_context: text(),
    rule_outcome: text(),
    questions: text(),
    approvals_required: integer(),
    created_at: at("created_at"),
    expires_at: at("expires_at"),
    decided_at: at("decided_at"),
    /** JSON `{ right, wrong }`, for the page. */
    mistake: text(),
  },
  (t) => [
    index("planted_requests_due").on(t.at).where(sql`${t.status} = 'planned'`),
    index("planted_requests_open").on(t.organization_id, t.expires_at).where(sql`${t.status} = 'pending'`),
    index("planted_requests_template").on(t.template_id).where(sql`${t.template_id} IS NOT NULL`),
  ],
);
