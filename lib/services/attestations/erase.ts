/**
 * DELETE /v1/attestations/:id/content. One transaction deletes everything that says, or helps to guess, what was
 * attested: the payload with its salt, the authorization with its request, every stored answer that repeats them,
 * the BBS signature and the proof. Hashes of salted bytes stay, so the log stays valid.
 */

import { and, asc, eq, gte, inArray, isNotNull, isNull, lt, lte, ne, or, type SQL, sql } from "drizzle-orm";
import type { AnyPgColumn } from "drizzle-orm/pg-core";
import type { MemberPrincipal, Principal } from "#lib/api/http/context";
import { eraseAnswers } from "#lib/api/http/idempotency";
import { announceErased } from "#lib/api/http/response-cache";
import type { Retention } from "#lib/api/schemas/portal";
import type { EraseResponse } from "#lib/api/schemas/receipts";
import { arrayLiteral, type Executor } from "#lib/db/client";
import {
  agentChanges,
  agentRecords,
  apiKeys,
  approvalSubmissions,
  approvals,
  attestations,
  authorizationRequests,
  grants,
  idempotencyKeys,
  mailboxMessages,
  organizations,
  plantedRequests,
  webhookMessages,
} from "#lib/db/schema";
import type { Decider } from "#lib/protocol/approval/decided-by";
import { hexEncode, isUuid, utf8Decode, uuidV7 } from "#lib/protocol/encoding/bytes";
import { canonicalBytes, type JsonObject } from "#lib/protocol/encoding/canonical-json";
import { formatCount } from "#lib/protocol/text/display-text";
import { dayMs, readableTime } from "#lib/protocol/time/time-words";
import { recordAct, recordAudit } from "#lib/services/accounts/audit";
import { mailOwners, retentionMail } from "#lib/services/accounts/mails";
import { holdRole } from "#lib/services/accounts/members";
import { isOnHold, onHold, shareOrganization } from "#lib/services/accounts/organizations";
import type { Context } from "#lib/services/approvals/context";
import { noContent } from "#lib/services/approvals/planted";
import { lockAndRecheckKey } from "#lib/services/keys/authenticate";
import { batchRoute } from "./attest";
import { attestationNotFound } from "./stored-receipt";

/** Erases, by a key with that scope or as an owner. Erasing again changes nothing and answers the same. */
export async function eraseContent(
  context: Context,
  principal: Principal,
  id: string,
): Promise<EraseResponse> {
  const erased = await context.database.db.transaction(async (tx) => {
    await lockAndRecheckKey(tx, principal, "erase", "erase");
    const isHeld = await isOnHold(tx, principal.organizationId);
    const row = await lockOwn(tx, principal, id);
    const erasedAt = row.erased_at ?? context.clock();
    if (row.erased_at === null || row.payload !== null) {
      if (isHeld) throw onHold();
      await eraseAttestations(tx, [row], erasedAt);
      await eraseAuthorizations(tx, row.authorization_id === null ? [] : [row.authorization_id], erasedAt);
      await recordAct(context, tx, principal, {
        action: "attestation.erased",
        subject: row.id,
        ...(await describeKey(tx, principal)),
      });
    }
    return {
      attestation_id: row.id,
      status: "erased",
      erased_at: erasedAt.toISOString(),
      payload_hash: hexEncode(row.payload_hash),
      message: "The content is erased. The log entry, which contains only hashes and a signature, stays.",
    } as const;
  });
  await announceOnReplica(context, [id]);
  return erased;
}

/** A process that hears that it is erased must not find it. */
async function announceOnReplica({ replica, database }: Context, ids: readonly string[]): Promise<void> {
  if (replica === null) return;
  await replica.caughtUp();
  for (const id of ids) await announceErased(database.db, id);
}

/** An erasure is looked into long afterwards: its line says by itself which key it was, and whose. */
async function describeKey(tx: Executor, principal: Principal) {
  if (principal.kind !== "key") return {};
  const [key] = await tx.select().from(apiKeys).where(eq(apiKeys.id, principal.keyId));
  return key ? { detail: { key_id: key.id, key_name: key.name, key_made_by: key.email } } : {};
}

async function lockOwn(tx: Executor, { organizationId }: Principal, id: string) {
  if (!isUuid(id)) throw attestationNotFound();
  const [row] = await tx
    .select()
    .from(attestations)
    .where(and(eq(attestations.id, id), eq(attestations.organization_id, organizationId)))
    .for("update");
  if (!row) throw attestationNotFound();
  return row;
}

type Erasable = Pick<typeof attestations.$inferSelect, "id" | "agent_id" | "is_public" | "payload">;

/**
 * Takes rows of one agent. The count of its feed is changed last, because batches of the log wait for that row, and before
 * approvals are, as a batch does. The hash of the agent's signature and the authorization's id stay: neither may be
 * used a second time.
 */
async function eraseAttestations(tx: Executor, rows: readonly Erasable[], erasedAt: Date): Promise<void> {
  const ids = rows.map(({ id }) => id);
  await tx
    .update(attestations)
    .set({
      payload: null,
      action: null,
      human_approval_method: null,
      warnings: null,
      human_authorization: null,
      zk_proof: null,
      bbs_signature: null,
      erased_at: erasedAt,
    })
    .where(inArray(attestations.id, ids));
  await eraseAnswers(tx, isOfRequest(tx, ids));
  await tx.delete(webhookMessages).where(inArray(webhookMessages.subject, ids));
  for (const id of ids) await announceErased(tx, id);
  const listed = rows.filter(({ payload, is_public }) => payload !== null && is_public);
  const [first] = listed;
  if (first === undefined) return;
  await tx
    .update(agentRecords)
    .set({ listed: sql`${agentRecords.listed} - ${listed.length}` })
    .where(eq(agentRecords.agent_id, first.agent_id));
}

/** The answers to the request that stored it: each entry of a batch has one, with the hash of the whole body. */
function isOfRequest(tx: Executor, ids: readonly string[]): SQL {
  const { organization_id, route, key, attestation_id } = idempotencyKeys;
  const sent = sql`CASE WHEN ${route} = ${batchRoute} THEN regexp_replace(${key}, ' [0-9]+$', '') ELSE ${key} END`;
  const own = tx
    .select({ organization_id, route, sent })
    .from(idempotencyKeys)
    .where(inArray(attestation_id, [...ids]));
  return sql`(${organization_id}, ${route}, ${sent}) IN ${own}`;
}

export async function eraseAuthorizations(
  tx: Executor,
  ids: readonly string[],
  erasedAt: Date,
): Promise<void> {
  if (ids.length === 0) return;
  const rows = await tx
    .select({
      id: authorizationRequests.id,
      request: authorizationRequests.request,
      decided_by: authorizationRequests.decided_by,
    })
    .from(authorizationRequests)
    // Includes the request that an erased one changed.
    .where(
      or(inArray(authorizationRequests.id, [...ids]), inArray(authorizationRequests.amended_by, [...ids])),
    )
    .orderBy(authorizationRequests.id)
    .for("update");
  if (rows.length === 0) return;
  for (const { id, request, decided_by } of rows)
    await tx
      .update(authorizationRequests)
      .set({
        request: withoutContent(request),
        // Unsalted, so that a guess of the request could be tested with it.
        fingerprint: sql`${authorizationRequests.request_hash}`,
        context: null,
        context_salt: null,
        rule_context: null,
        derivation: null,
        agent_name: null,
        organization_name: null,
        group_names: null,
        requested_by: null,
        callback_url: null,
        human_authorization: null,
        decided_by: decided_by && withoutSum(decided_by),
        decision_payload: null,
        denial_reason: null,
        questions: null,
        amount_units: keepSum(authorizationRequests.amount_units, erasedAt),
        currency: keepSum(authorizationRequests.currency, erasedAt),
        run: null,
      })
      .where(eq(authorizationRequests.id, id));
  const found = rows.map(({ id }) => id);
  // Planted requests are made from them, with their words.
  const planted = await tx
    .update(plantedRequests)
    .set(noContent)
    .where(inArray(plantedRequests.template_id, found))
    .returning({ id: plantedRequests.id });
  await tx
    .update(agentChanges)
    .set({ reason: null, reason_salt: null })
    .where(inArray(agentChanges.request_id, found));
  await tx.update(approvals).set({ records: "[]" }).where(inArray(approvals.request_id, found));
  await tx.delete(approvalSubmissions).where(inArray(approvalSubmissions.request_id, found));
  await tx.delete(webhookMessages).where(inArray(sql`split_part(${webhookMessages.subject}, ' ', 1)`, found));
  const gone = [...found, ...planted.map(({ id }) => id)];
  const names = (text: SQL) =>
    sql`EXISTS (SELECT FROM unnest(${arrayLiteral(gone)}::text[]) AS gone(id) WHERE ${text})`;
  // Mails name the request in their link. Those that have left this service cannot be called back.
  await tx.delete(mailboxMessages).where(names(sql`position(gone.id in ${mailboxMessages.text}) > 0`));
  // The answer to POST /v1/authorize is kept under a key of its own.
  await eraseAnswers(
    tx,
    names(sql`position('"request_id":"' || gone.id || '"' in ${idempotencyKeys.response}) > 0`),
  );
}

/** Sums of its day count it, and so does its standing approval while that is in force. */
const keepSum = (
  column: AnyPgColumn,
  at: Date,
) => sql`CASE WHEN ${authorizationRequests.created_at} > ${at.toISOString()}::timestamptz - interval '2 days'
  OR EXISTS (SELECT FROM ${grants} WHERE ${grants.request_id} = ${authorizationRequests.grant_id} AND ${grants.expires_at} > ${at.toISOString()}::timestamptz)
  THEN ${column} END`;

/** Removes the request's content and salt; the requester, the time and the deadline remain readable. */
function withoutContent(request: Uint8Array): Uint8Array {
  const asked = JSON.parse(utf8Decode(request)) as JsonObject;
  const { inputs_hash: _inputs, entries_hash: _entries, tool: _tool, amount: _amount, ...rest } = asked;
  return canonicalBytes({ ...rest, action: "", context_hash: "", salt: "" });
}

function withoutSum(decidedBy: string): string {
  const by = JSON.parse(decidedBy) as Decider;
  return JSON.stringify(by.kind === "grant" ? { ...by, spent: null } : by);
}

/*
 * Content that is older than an organization keeps it is erased in the background as an owner would erase it: hashes,
 * signatures and proofs stay in the log. Approvals that can still be used stay until their end; those without one end with
 * that time.
 */
type Row = typeof organizations.$inferSelect;

export const describeRetention = (row: Row): Retention => ({
  days: row.retention_days,
  startsAt: row.retention_from?.toISOString() ?? null,
  hold: row.legal_hold_since && {
    since: row.legal_hold_since.toISOString(),
    reason: row.legal_hold_reason ?? "",
  },
});

/** "Content older than 365 days is erased, from 2026-11-30 08:00:00 UTC on." */
export function sayRetention({ days, startsAt, hold }: Retention): string {
  const kept =
    days === null || startsAt === null
      ? "Content is kept until somebody erases it."
      : `Content older than ${formatCount(days, "day")} is erased, from ${readableTime(startsAt)} on.`;
  return hold === null ? kept : `Legal hold since ${readableTime(hold.since)}: nothing is erased. ${kept}`;
}

type Change = Partial<Row>;

/** Null: nothing changes. */
type Plan = (row: Row, now: Date) => { change: Change; action: string; detail: JsonObject } | null;

/** Changes it as an owner, in the audit log, with a mail to every owner. */
async function changeRetention(context: Context, person: MemberPrincipal, plan: Plan): Promise<Retention> {
  const { organizationId } = person;
  const { row, isChanged } = await context.database.db.transaction(async (tx) => {
    await holdRole(tx, person, "erase");
    const isOwn = eq(organizations.id, organizationId);
    const [before] = await tx.select().from(organizations).where(isOwn);
    if (!before) throw new Error("the organization is gone while it is held");
    const planned = plan(before, context.clock());
    if (planned === null) return { row: before, isChanged: false };
    const [after = before] = await tx.update(organizations).set(planned.change).where(isOwn).returning();
    const { action, detail } = planned;
    await recordAct(context, tx, person, { action, subject: organizationId, detail });
    return { row: after, isChanged: true };
  });
  const retention = describeRetention(row);
  const link = `${context.settings.baseUrl}/portal/settings#limits`;
  if (isChanged)
    await mailOwners(context, organizationId, "retention", (to) =>
      retentionMail(to, link, person.email, sayRetention(retention)),
    );
  return retention;
}

/** A shorter time begins a day later, so that another owner can object before anything is lost. */
export const setRetention = (context: Context, person: MemberPrincipal, days: number | null) =>
  changeRetention(context, person, (row, now) => {
    if (row.retention_days === days) return null;
    const isShorter = days !== null && days < (row.retention_days ?? Number.POSITIVE_INFINITY);
    const from = days === null ? null : isShorter ? new Date(now.getTime() + dayMs) : row.retention_from;
    return {
      // Looks at everything again: what a longer time leaves may have been looked at.
      change: { retention_days: days, retention_from: from },
      action: "organization.retention",
      detail: { retention_days: days, starts_at: from?.toISOString() ?? null },
    };
  });

export const setLegalHold = (context: Context, person: MemberPrincipal, reason: string | null) =>
  changeRetention(context, person, (row, now) => {
    const isOn = row.legal_hold_since !== null;
    if (isOn === (reason !== null)) return null;
    return {
      change: { legal_hold_since: reason === null ? null : now, legal_hold_reason: reason },
      action: reason === null ? "organization.legal_hold_ended" : "organization.legal_hold",
      detail: reason === null ? {} : { reason },
    };
  });

/* Erases what is older, a part at a time, so that no batch of the log waits for long. */

const maxTogether = 200;

interface Outdated {
  id: string;
  now: Date;
  from: Date;
  before: Date;
}

async function readDue(executor: Executor, now: Date): Promise<(Outdated & { days: number })[]> {
  const { retention_days, retention_from, retention_done_at, legal_hold_since } = organizations;
  const rows = await executor
    .select({ id: organizations.id, days: retention_days, from: retention_done_at })
    .from(organizations)
    .where(and(isNotNull(retention_days), isNull(legal_hold_since), lte(retention_from, now)));
  return rows.map(({ id, days, from }) => ({
    id,
    now,
    days: days ?? 0,
    from: from ?? new Date(0),
    before: new Date(now.getTime() - (days ?? 0) * dayMs),
  }));
}

/** False if an owner has changed it meanwhile. A hold and other days begin under the lock that is taken here. */
async function isStillDue(tx: Executor, { id, now, before }: Outdated): Promise<boolean> {
  await shareOrganization(tx, id);
  const due = await readDue(tx, now);
  return due.some((one) => one.id === id && one.before >= before);
}

const firstIdAt = (time: Date) => uuidV7(time.getTime(), new Uint8Array(16));

async function readOldAttestations(tx: Executor, { id, from, before }: Outdated): Promise<Erasable[]> {
  const { organization_id, payload, agent_id } = attestations;
  const rows = await tx
    .select({ id: attestations.id, agent_id, is_public: attestations.is_public, payload })
    .from(attestations)
    .where(
      and(
        eq(organization_id, id),
        gte(attestations.id, firstIdAt(from)),
        lt(attestations.id, firstIdAt(before)),
        isNotNull(payload),
      ),
    )
    .orderBy(asc(attestations.id))
    .limit(maxTogether)
    // Locked rows are being erased, and counted, by somebody else.
    .for("update", { skipLocked: true });
  // Rows of one agent: its count is one row, which the log changes too.
  return rows.filter((row) => row.agent_id === rows[0]?.agent_id);
}

/**
 * True for those that can't be used any more, or have no end and are as old themselves. A standing approval explains its uses,
 * so it goes after them.
 */
const isOver = ({ now, before }: Outdated) => {
  const { id, status, decided_at, revoked_at, used_at, usable_until } = authorizationRequests;
  const given = sql`EXISTS (SELECT FROM ${grants} WHERE ${grants.request_id} = ${id})`;
  const ended = sql`EXISTS (SELECT FROM ${grants} WHERE ${grants.request_id} = ${id} AND ${grants.expires_at} < ${before.toISOString()}::timestamptz)`;
  return and(
    ne(status, "pending"),
    or(
      ne(status, "approved"),
      ended,
      and(
        sql`NOT ${given}`,
        or(
          isNotNull(used_at),
          isNotNull(revoked_at),
          lt(usable_until, new Date(now.getTime() - dayMs)),
          // Includes those without an end, which would be kept as long as nobody uses them.
          and(isNull(usable_until), lt(decided_at, before)),
        ),
      ),
    ),
  );
};

const isOldRequest = ({ id, from, before }: Outdated) =>
  and(
    eq(authorizationRequests.organization_id, id),
    gte(authorizationRequests.created_at, from),
    lt(authorizationRequests.created_at, before),
    // Null once it is erased.
    isNotNull(authorizationRequests.context_salt),
  );

/**
 * Erases one part, approvals after the attestations that used them; `done` if nothing was left, `changed` if it is no longer
 * to be erased.
 */
async function erasePart(context: Context, outdated: Outdated): Promise<"erased" | "done" | "changed"> {
  const { id: organizationId, now, before } = outdated;
  const erased = await context.database.db.transaction(async (tx) => {
    if (!(await isStillDue(tx, outdated))) return "changed";
    const rows = await readOldAttestations(tx, outdated);
    const over = () =>
      tx
        .select({ id: authorizationRequests.id })
        .from(authorizationRequests)
        .where(and(isOldRequest(outdated), isOver(outdated)))
        .limit(maxTogether);
    const requests = rows.length > 0 ? [] : await over();
    if (rows.length + requests.length === 0) return "done";
    if (rows.length > 0) await eraseAttestations(tx, rows, now);
    await eraseAuthorizations(
      tx,
      requests.map(({ id }) => id),
      now,
    );
    await recordAudit(context, tx, {
      organizationId,
      actor: { kind: "system", id: "retention", ip: null },
      action: "retention.erased",
      subject: organizationId,
      detail: { attestations: rows.length, requests: requests.length, older_than: before.toISOString() },
    });
    return rows.map(({ id }) => id);
  });
  if (typeof erased === "string") return erased;
  await announceOnReplica(context, erased);
  return "erased";
}

/** Requests that are left, because they can still be used, are looked at again. */
async function noteDone({ database: { db } }: Context, outdated: Outdated): Promise<void> {
  const [left] = await db
    .select({ created_at: authorizationRequests.created_at })
    .from(authorizationRequests)
    .where(isOldRequest(outdated))
    .orderBy(asc(authorizationRequests.created_at))
    .limit(1);
  await db
    .update(organizations)
    .set({ retention_done_at: left?.created_at ?? outdated.before })
    .where(eq(organizations.id, outdated.id));
}

export async function eraseOutdated(context: Context, isStopped: () => boolean = () => false): Promise<void> {
  for (const outdated of await readDue(context.database.db, context.clock())) {
    let state: Awaited<ReturnType<typeof erasePart>> = "erased";
    while (state === "erased" && !isStopped()) state = await erasePart(context, outdated);
    if (state === "done") await noteDone(context, outdated);
  }
}
