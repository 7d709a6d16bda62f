/**
 * A received proof, from what it claims to the decision: cheap checks, a place among those that wait, then attempts
 * until it is accepted, refused, or its request ends (./retry-submissions.ts).
 */

import { proofStored } from "#lib/contract/approval-view";
import { type IdkitResult, idkitResultSchema } from "#lib/contract/world-id";
import { canonicalJson, type JsonObject } from "#lib/core/encoding/canonical-json";
import { approvalSubmissions } from "#lib/db/schema";
import { AppError } from "#lib/errors";
import { toAppError } from "#lib/http/problem";
import { acceptApproval } from "./accept";
import type { Context } from "./context";
import { findOpen } from "./decide";
import { pickNamedProof, proveApproval } from "./prove";
import { readApprovals } from "./store";
import {
  claimSubmission,
  findSubmission,
  postponeSubmission,
  type Submission,
  settleSubmission,
  storeSubmission,
} from "./store-submissions";

/** Errors that mean a proof is no approval; after any other it is tried again. */
const refusals = approvalSubmissions.code.enumValues;

async function isCounted(context: Context, requestId: string, nonce: string): Promise<boolean> {
  const present = await readApprovals(context.database.db, requestId);
  return present.some(({ record }) => record.nonce === nonce);
}

/** One attempt at a claimed submission; throws why it is no approval, or not yet. */
export async function attemptSubmission(context: Context, submission: Submission): Promise<void> {
  const { id, request_id, client } = submission;
  try {
    const result = idkitResultSchema.parse(JSON.parse(submission.body));
    // A process that died after the decision left its submission pending.
    if (!(await isCounted(context, request_id, result.nonce))) {
      const row = await findOpen(context, request_id);
      await acceptApproval(context, request_id, await proveApproval(context, row, result, client), client);
    }
    await settleSubmission(context, id, null);
  } catch (error) {
    const code = error instanceof AppError && refusals.find((name) => name === error.errorName);
    if (code) await settleSubmission(context, id, { code, detail: error.detail });
    else await postponeSubmission(context, submission);
    throw error;
  }
}

/** The same proof again: what has become of it, or another attempt if nobody is at it. */
async function answerKnown(context: Context, known: Submission): Promise<void> {
  if (known.status === "accepted") return;
  if (known.status === "refused") throw new AppError(known.code ?? "approval_refused", known.detail ?? "");
  const claimed = await claimSubmission(context, known.id);
  if (claimed === null) {
    throw new AppError("service_unavailable", proofStored, {
      headers: { "retry-after": "5" },
    });
  }
  await attemptSubmission(context, claimed);
}

/** POST /approve/{token}/proof: returns when the approval is counted. `client`: the address, as limits count it. */
export async function submitApproval(
  context: Context,
  requestId: string,
  result: IdkitResult,
  client: string,
): Promise<void> {
  const body = canonicalJson(JSON.parse(JSON.stringify(result)) as JsonObject);
  const { nonce } = result;
  const find = () => findSubmission(context, requestId, nonce, body);
  const known = await find();
  if (known !== undefined) return answerKnown(context, known);
  await pickNamedProof(context, await findOpen(context, requestId), result);
  let stored: Submission;
  try {
    stored = await storeSubmission(context, { requestId, nonce, body, client });
  } catch (error) {
    // Sent twice at once, for instance after a connection broke: the other one has spent the nonce.
    const faster = await find();
    if (faster === undefined) throw error;
    return answerKnown(context, faster);
  }
  await attemptSubmission(context, stored).catch((error: unknown) => {
    const { errorName, detail, headers, cause } = toAppError(error);
    if (errorName !== "service_unavailable") throw error;
    throw new AppError(errorName, `${detail}; ${proofStored}`, { headers, cause });
  });
}
