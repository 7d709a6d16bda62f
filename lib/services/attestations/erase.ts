/**
 * DELETE /v1/attestations/:id/content. One transaction deletes everything that says, or helps to guess, what was
 * attested: the payload with its salt, the authorization with its request, every stored answer that repeats them,
 * the BBS signature and the proof. Hashes of salted bytes stay, so the log stays valid.
 */

import { and, eq, type SQL, sql } from "drizzle-orm";
import { actorOf, type Principal } from "#lib/api/http/context";
import { eraseAnswers } from "#lib/api/http/idempotency";
import { announceErased } from "#lib/api/http/response-cache";
import type { EraseResponse } from "#lib/api/schemas/receipts";
import type { Executor } from "#lib/db/client";
import {
  agentRecords,
  apiKeys,
  approvalSubmissions,
  approvals,
  attestations,
  authorizationRequests,
  idempotencyKeys,
  mailboxMessages,
  webhookMessages,
} from "#lib/db/schema";
import type { Decider } from "#lib/protocol/approval/decided-by";
import { hexEncode, isUuid, utf8Decode } from "#lib/protocol/encoding/bytes";
import { canonicalBytes, type JsonObject } from "#lib/protocol/encoding/canonical-json";
import { recordAudit } from "#lib/services/accounts/audit";
import type { Context } from "#lib/services/approvals/context";
import { lockAndRecheckKey } from "#lib/services/keys/authenticate";
import { batchRoute } from "./attest-batch";
import { attestationNotFound } from "./stored-receipt";

/** By a key that may, or an owner. Erasing again changes nothing and answers the same. */
export async function eraseContent(
  context: Context,
  principal: Principal,
  id: string,
): Promise<EraseResponse> {
  const erased = await context.database.db.transaction(async (tx) => {
    await lockAndRecheckKey(tx, principal, "erase");
    const row = await lockOwn(tx, principal, id);
    const erasedAt = row.erased_at ?? context.clock();
    if (row.erased_at === null || row.payload !== null) {
      await eraseAttestation(tx, row.id, erasedAt);
      if (row.payload !== null && row.is_public) await countErased(tx, row.agent_id);
      if (row.authorization_id !== null) await eraseAuthorization(tx, row.authorization_id);
      await recordAudit(context, tx, {
        organizationId: principal.organizationId,
        actor: actorOf(principal),
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
  // A process that hears that it is erased must not find it.
  if (context.replica !== null) {
    await context.replica.caughtUp();
    await announceErased(context.database.db, id);
  }
  return erased;
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

/** Its public feed has one less. */
async function countErased(tx: Executor, agentId: string): Promise<void> {
  await tx
    .update(agentRecords)
    .set({ listed: sql`${agentRecords.listed} - 1` })
    .where(eq(agentRecords.agent_id, agentId));
}

/** The hash of the agent's signature and the authorization's id stay: neither may be used a second time. */
async function eraseAttestation(tx: Executor, id: string, erasedAt: Date): Promise<void> {
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
    .where(eq(attestations.id, id));
  await eraseAnswers(tx, isOfRequest(tx, id));
  await tx.delete(webhookMessages).where(eq(webhookMessages.subject, id));
  await announceErased(tx, id);
}

/** The answers to the request that stored it: each entry of a batch has one, with the hash of the whole body. */
function isOfRequest(tx: Executor, id: string): SQL {
  const { organization_id, route, key, attestation_id } = idempotencyKeys;
  const sent = sql`CASE WHEN ${route} = ${batchRoute} THEN regexp_replace(${key}, ' [0-9]+$', '') ELSE ${key} END`;
  const own = tx.select({ organization_id, route, sent }).from(idempotencyKeys).where(eq(attestation_id, id));
  return sql`(${organization_id}, ${route}, ${sent}) IN ${own}`;
}

async function eraseAuthorization(tx: Executor, requestId: string): Promise<void> {
  const [row] = await tx
    .select({ request: authorizationRequests.request, decided_by: authorizationRequests.decided_by })
    .from(authorizationRequests)
    .where(eq(authorizationRequests.id, requestId))
    .for("update");
  if (!row) return;
  await tx
    .update(authorizationRequests)
    .set({
      request: withoutContent(row.request),
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
      decided_by: row.decided_by && withoutSum(row.decided_by),
      decision_payload: null,
      run: null,
    })
    .where(eq(authorizationRequests.id, requestId));
  await tx.update(approvals).set({ records: "[]" }).where(eq(approvals.request_id, requestId));
  await tx.delete(approvalSubmissions).where(eq(approvalSubmissions.request_id, requestId));
  await tx.delete(webhookMessages).where(eq(webhookMessages.subject, requestId));
  // Mails name the request in their link. Those that have left this service cannot be called back.
  await tx.delete(mailboxMessages).where(sql`position(${requestId} in ${mailboxMessages.text}) > 0`);
  // The answer to POST /v1/authorize is kept under a key of its own.
  await eraseAnswers(tx, sql`position(${`"request_id":"${requestId}"`} in ${idempotencyKeys.response}) > 0`);
}

/** Removes the request's content and salt; the requester, the time and the deadline remain readable. */
function withoutContent(request: Uint8Array): Uint8Array {
  const asked = JSON.parse(utf8Decode(request)) as JsonObject;
  const { inputs_hash: _inputsHash, tool: _tool, amount: _amount, ...rest } = asked;
  return canonicalBytes({ ...rest, action: "", context_hash: "", salt: "" });
}

/** The sum of the first use of a standing approval is its amount. */
function withoutSum(decidedBy: string): string {
  const by = JSON.parse(decidedBy) as Decider;
  return JSON.stringify(by.kind === "grant" ? { ...by, spent: null } : by);
}
