/**
 * Rows of received proofs. They are stored before anything that can fail, because wallets do not issue a proof twice;
 * several processes may try one, and an attempt is claimed by moving its next time.
 */

import { and, count, eq, lte, notInArray, type SQL, sql } from "drizzle-orm";
import { type Executor, queryRows } from "#lib/db/client";
import { approvalSubmissions, authorizationRequests } from "#lib/db/schema";
import { AppError } from "#lib/errors";
import { claimDue, leaseSeconds } from "#lib/jobs/due-work";
import { uuidV7 } from "#lib/protocol/encoding/bytes";
import type { Context } from "#lib/services/approvals/context";
import { refused } from "#lib/services/approvals/decision/decide";
import { lockOpen, notPending } from "#lib/services/approvals/decision/store";
import { spendNonce } from "./prove";

export type Submission = typeof approvalSubmissions.$inferSelect;

const maxBackOffSeconds = 60;

/**
 * Limit of waiting proofs for one request; fewer may be one client's. One client leaves most places to others; a proof that can
 * be checked is decided in a moment and gives its place back, so a request whose link has leaked is not closed to the right
 * person.
 */
const maxWaitingOfRequest = 24;
const maxWaitingOfClient = 3;

const claimedUntil = sql`now() + make_interval(secs => ${leaseSeconds})`;
const isPending = eq(approvalSubmissions.status, "pending");

/** The same proof sent again, for instance because the answer was lost. */
export async function findSubmission(context: Context, requestId: string, nonce: string, body: string) {
  const { nonce: nonceColumn, request_id, body: bodyColumn } = approvalSubmissions;
  const [known] = await context.database.db
    .select()
    .from(approvalSubmissions)
    .where(and(eq(nonceColumn, nonce), eq(request_id, requestId), eq(bodyColumn, body)));
  return known;
}

async function countPending(tx: Executor, where: SQL | undefined): Promise<number> {
  const [row] = await tx.select({ waiting: count() }).from(approvalSubmissions).where(and(isPending, where));
  return row?.waiting ?? 0;
}

/** Runs under the request's row lock. */
async function requirePlace(tx: Executor, requestId: string, client: string): Promise<void> {
  const ofRequest = eq(approvalSubmissions.request_id, requestId);
  const retry = { headers: { "retry-after": "5" } };
  if (
    (await countPending(tx, and(ofRequest, eq(approvalSubmissions.client, client)))) >= maxWaitingOfClient
  ) {
    throw new AppError(
      "rate_limit_exceeded",
      `${maxWaitingOfClient} proofs from your address are already being checked for this request; wait for their results`,
      retry,
    );
  }
  if ((await countPending(tx, ofRequest)) >= maxWaitingOfRequest) {
    throw new AppError(
      "service_unavailable",
      "too many proofs are being checked for this request; yours was not stored, send it again shortly",
      retry,
    );
  }
}

/** Stored under its nonce, and claimed for a first attempt. The nonce is spent only if there is a place. */
export async function storeSubmission(
  context: Context,
  submission: { requestId: string; nonce: string; body: string; client: string },
): Promise<Submission> {
  const { requestId, nonce, body, client } = submission;
  return context.database.db.transaction(async (tx) => {
    if (!(await lockOpen(tx, requestId))) throw notPending();
    await requirePlace(tx, requestId, client);
    if (!(await spendNonce(tx, requestId, nonce))) {
      throw refused(
        "its nonce belongs to another request, was already used or has expired; start World ID again",
      );
    }
    const [stored] = await tx
      .insert(approvalSubmissions)
      .values({
        id: uuidV7(context.clock().getTime(), context.random(16)),
        request_id: requestId,
        nonce,
        body,
        client,
        status: "pending",
        attempts: 1,
        next_attempt_at: claimedUntil,
      })
      .returning();
    if (!stored) throw new Error("the submission was not stored");
    return stored;
  });
}

export const claimSubmission = ({ database }: Context, id: string) =>
  claimDue<Submission>(database, { table: "approval_submissions", key: { id } });

/** `refusal`: null if it was accepted. An attempt that took too long was overtaken by another, whose acceptance stays. */
export async function settleSubmission(
  context: Context,
  id: string,
  refusal: { code: NonNullable<Submission["code"]>; detail: string } | null,
): Promise<void> {
  await context.database.db
    .update(approvalSubmissions)
    .set({
      status: refusal === null ? "accepted" : "refused",
      code: null,
      detail: null,
      ...refusal,
      client: null,
    })
    .where(and(eq(approvalSubmissions.id, id), refusal === null ? undefined : isPending));
}

/** Postpones it; each failed attempt doubles the wait. */
export async function postponeSubmission(context: Context, { id, attempts }: Submission): Promise<void> {
  const waitSeconds = Math.min(maxBackOffSeconds, 5 * 2 ** Math.min(attempts - 1, 4));
  await context.database.db
    .update(approvalSubmissions)
    .set({ next_attempt_at: sql`now() + make_interval(secs => ${waitSeconds})` })
    .where(and(eq(approvalSubmissions.id, id), isPending));
}

export interface DueSubmission {
  id: string;
  requestId: string;
  organizationId: string;
  client: string | null;
}

/**
 * Submissions whose next attempt is due, in rounds: first one of each organization, request and client, then each
 * one's second, and so on. Within a round those that were tried least come first.
 */
export async function findDue(
  context: Context,
  limit: number,
  except: readonly string[],
): Promise<DueSubmission[]> {
  const { id, request_id, client, attempts, next_attempt_at } = approvalSubmissions;
  const age = sql`${attempts}, ${next_attempt_at}, ${id}`;
  const isDue = and(
    isPending,
    lte(next_attempt_at, sql`now()`),
    except.length === 0 ? undefined : notInArray(id, [...except]),
  );
  const rows = await queryRows<
    Record<"id" | "request_id" | "organization_id", string> & { client: string | null }
  >(
    context.database.db,
    sql`WITH due AS (
        SELECT ${id}, ${request_id}, ${client}, ${attempts}, ${next_attempt_at}, organization_id,
          row_number() OVER (PARTITION BY ${request_id}, ${client} ORDER BY ${age}) AS of_pair
        FROM ${approvalSubmissions} JOIN ${authorizationRequests} ON ${authorizationRequests.id} = ${request_id}
        WHERE ${isDue}
      ), in_request AS (
        SELECT *,
          row_number() OVER (PARTITION BY request_id ORDER BY of_pair, attempts, next_attempt_at, id) AS of_request,
          row_number() OVER (PARTITION BY coalesce(client, id::text) ORDER BY of_pair, attempts, next_attempt_at, id) AS of_client
        FROM due
      ), in_organization AS (
        SELECT *,
          row_number() OVER (PARTITION BY organization_id ORDER BY of_request, attempts, next_attempt_at, id) AS of_organization
        FROM in_request
      )
      SELECT id, request_id, organization_id, client FROM in_organization
      ORDER BY greatest(of_request, of_client, of_organization), attempts, next_attempt_at, id
      LIMIT ${limit}`,
  );
  return rows.map((row) => ({
    id: row.id,
    requestId: row.request_id,
    organizationId: row.organization_id,
    client: row.client,
  }));
}
