/**
 * A received proof is stored before anything that can fail, because wallets do not issue it twice, and tried until it
 * is accepted, refused, or its request ends. Several processes may try: an attempt is claimed by moving its next time.
 */
import { and, asc, eq, lte, sql } from "drizzle-orm";
import { type IdkitResult, idkitResultSchema } from "#lib/contract/world-id";
import { approvalSubmissions } from "#lib/db/schema";
import { canonicalJson, type JsonObject } from "#lib/domain/canonical-json";
import { uuidV7 } from "#lib/domain/ids";
import { AppError, type ErrorName } from "#lib/errors";
import type { Context } from "./context";
import { acceptApproval, findOpen, refused } from "./decide-authorization";
import { proveApproval } from "./prove-approval";
import { readApprovals } from "./store-decisions";
import { spendNonce } from "./world-nonces";

type Submission = typeof approvalSubmissions.$inferSelect;

/** Longer than an attempt takes: after a crash another process takes over. */
const claimSeconds = 60;
const maxWaitSeconds = 60;

/** What says for good that a proof is no approval; anything else is tried again. */
const finalErrors: ReadonlySet<ErrorName> = new Set([
  "approval_refused",
  "already_approved",
  "authorization_not_pending",
]);

const claimedUntil = sql`now() + make_interval(secs => ${claimSeconds})`;

/** The same proof sent again, for instance because the answer was lost. */
async function findSubmission(context: Context, requestId: string, nonce: string, body: string) {
  const { nonce: nonceColumn, request_id, body: bodyColumn } = approvalSubmissions;
  const [known] = await context.database.db
    .select()
    .from(approvalSubmissions)
    .where(and(eq(nonceColumn, nonce), eq(request_id, requestId), eq(bodyColumn, body)));
  return known;
}

/** Stored under its nonce, and claimed for a first attempt. */
async function storeSubmission(
  context: Context,
  requestId: string,
  nonce: string,
  body: string,
): Promise<Submission> {
  return context.database.db.transaction(async (tx) => {
    if (!(await spendNonce(tx, requestId, nonce))) {
      throw refused(
        "its nonce is not one of this request's, or was used, or has expired; start World ID again",
      );
    }
    const [stored] = await tx
      .insert(approvalSubmissions)
      .values({
        id: uuidV7(context.clock().getTime(), context.random(16)),
        request_id: requestId,
        nonce,
        body,
        status: "pending",
        attempts: 1,
        next_attempt_at: claimedUntil,
      })
      .returning();
    if (!stored) throw new Error("the submission was not stored");
    return stored;
  });
}

/** Null where another process is at it, or it has ended. */
async function claim(context: Context, id: string): Promise<Submission | null> {
  const [claimed] = await context.database.db
    .update(approvalSubmissions)
    .set({ attempts: sql`${approvalSubmissions.attempts} + 1`, next_attempt_at: claimedUntil })
    .where(
      and(
        eq(approvalSubmissions.id, id),
        eq(approvalSubmissions.status, "pending"),
        lte(approvalSubmissions.next_attempt_at, sql`now()`),
      ),
    )
    .returning();
  return claimed ?? null;
}

async function settle(context: Context, id: string, status: "accepted" | "refused", why: string | null) {
  await context.database.db
    .update(approvalSubmissions)
    .set({ status, code: why })
    .where(eq(approvalSubmissions.id, id));
}

async function postpone(context: Context, { id, attempts }: Submission): Promise<void> {
  const waitSeconds = Math.min(maxWaitSeconds, 5 * 2 ** Math.min(attempts - 1, 4));
  await context.database.db
    .update(approvalSubmissions)
    .set({ next_attempt_at: sql`now() + make_interval(secs => ${waitSeconds})` })
    .where(and(eq(approvalSubmissions.id, id), eq(approvalSubmissions.status, "pending")));
}

async function isCounted(context: Context, requestId: string, nonce: string): Promise<boolean> {
  const present = await readApprovals(context.database.db, requestId);
  return present.some(({ record }) => record.nonce === nonce);
}

async function attempt(context: Context, submission: Submission, ip: string | null): Promise<void> {
  const { id, request_id } = submission;
  try {
    const result = idkitResultSchema.parse(JSON.parse(submission.body));
    // A process that died after the decision left its submission pending.
    if (!(await isCounted(context, request_id, result.nonce))) {
      const row = await findOpen(context, request_id);
      await acceptApproval(context, request_id, await proveApproval(context, row, result), ip);
    }
    await settle(context, id, "accepted", null);
  } catch (error) {
    if (error instanceof AppError && finalErrors.has(error.errorName)) {
      await settle(context, id, "refused", `${error.errorName} ${error.detail}`);
    } else await postpone(context, submission);
    throw error;
  }
}

/** What ended a submission before, in the words of that time. */
function repeatRefusal(code: string | null): never {
  const [name, ...detail] = (code ?? "").split(" ");
  const known = [...finalErrors].find((one) => one === name);
  throw new AppError(known ?? "approval_refused", detail.join(" "));
}

/** POST /approve/{token}/proof: returns when the approval is counted. */
export async function submitApproval(
  context: Context,
  requestId: string,
  result: IdkitResult,
  ip: string,
): Promise<void> {
  const body = canonicalJson(JSON.parse(JSON.stringify(result)) as JsonObject);
  const known = await findSubmission(context, requestId, result.nonce, body);
  if (known?.status === "accepted") return;
  if (known?.status === "refused") repeatRefusal(known.code);
  if (known === undefined) {
    await findOpen(context, requestId);
    return attempt(context, await storeSubmission(context, requestId, result.nonce, body), ip);
  }
  const claimed = await claim(context, known.id);
  if (claimed === null) {
    throw new AppError("service_unavailable", "this proof is stored and being checked; it is tried again", {
      headers: { "Retry-After": "5" },
    });
  }
  await attempt(context, claimed, ip);
}

/** One round over the submissions whose next attempt is due; how many were tried. */
export async function retrySubmissions(context: Context): Promise<number> {
  const due = await context.database.db
    .select({ id: approvalSubmissions.id })
    .from(approvalSubmissions)
    .where(
      and(eq(approvalSubmissions.status, "pending"), lte(approvalSubmissions.next_attempt_at, sql`now()`)),
    )
    .orderBy(asc(approvalSubmissions.next_attempt_at))
    .limit(20);
  let tried = 0;
  for (const { id } of due) {
    const claimed = await claim(context, id);
    if (claimed === null) continue;
    tried += 1;
    await attempt(context, claimed, null).catch((error: unknown) => {
      const isExpected = error instanceof AppError && error.errorName !== "server_error";
      if (!isExpected) context.logger.error({ err: error }, "a stored approval could not be tried again");
    });
  }
  return tried;
}

export interface RetryLoop {
  stop(): Promise<void>;
}

const roundMs = 5_000;

export function startRetryLoop(context: Context): RetryLoop {
  let running: Promise<unknown> = Promise.resolve();
  let isRunning = false;
  const timer = setInterval(() => {
    if (isRunning) return;
    isRunning = true;
    running = retrySubmissions(context)
      .catch((error: unknown) => context.logger.error({ err: error }, "the approvals' retry round failed"))
      .finally(() => {
        isRunning = false;
      });
  }, roundMs);
  timer.unref();
  return {
    stop: async () => {
      clearInterval(timer);
      await running;
    },
  };
}
