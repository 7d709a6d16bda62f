/**
 * DELETE /v1/attestations/:id/content. One transaction deletes everything that says, or helps to guess, what was
 * attested: the payload with its salt, the authorization with its request, every stored answer that repeats them,
 * the BBS signature and the proof. Hashes of salted bytes stay, so the log stays valid.
 */

import { and, eq, inArray, or, type SQL, sql } from "drizzle-orm";
import type { AnyPgColumn } from "drizzle-orm/pg-core";
import { type Principal, toActor } from "#lib/api/http/context";
import { eraseAnswers } from "#lib/api/http/idempotency";
import { announceErased } from "#lib/api/http/response-cache";
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
  plantedRequests,
  webhookMessages,
} from "#lib/db/schema";
import type { Decider } from "#lib/protocol/approval/decided-by";
import { hexEncode, isUuid, utf8Decode } from "#lib/protocol/encoding/bytes";
import { canonicalBytes, type JsonObject } from "#lib/protocol/encoding/canonical-json";
import { recordAudit } from "#lib/services/accounts/audit";
import { isOnHold, onHold } from "#lib/services/accounts/organizations";
import type { Context } from "#lib/services/approvals/context";
import { noContent } from "#lib/services/approvals/planted";
import { lockAndRecheckKey } from "#lib/services/keys/authenticate";
import { batchRoute } from "./attest";
import { attestationNotFound } from "./stored-receipt";

/** By a key that may, or an owner. Erasing again changes nothing and answers the same. */
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
      await recordAudit(context, tx, {
        organizationId: principal.organizationId,
        actor: toActor(principal),
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
export async function announceOnReplica(
  { replica, database }: Context,
  ids: readonly string[],
): Promise<void> {
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

export type Erasable = Pick<typeof attestations.$inferSelect, "id" | "agent_id" | "is_public" | "payload">;

/**
 * Takes rows of one agent. The count of its feed is changed last, because batches of the log wait for that row, and before
 * approvals are, as a batch does. The hash of the agent's signature and the authorization's id stay: neither may be
 * used a second time.
 */
export async function eraseAttestations(
  tx: Executor,
  rows: readonly Erasable[],
  erasedAt: Date,
): Promise<void> {
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
    // With the request that an erased one changed.
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
  // Made from them, with their words.
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
