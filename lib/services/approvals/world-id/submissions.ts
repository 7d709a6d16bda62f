/**
 * A received proof, from what it claims to the decision: cheap checks, a place among those that wait, then attempts
 * until it is accepted, refused, or its request ends (./retry-submissions.ts).
 */

import type { z } from "zod";
import { toAppError } from "#lib/api/http/problem";
import { proofStored } from "#lib/api/schemas/approval-page";
import { type passkeyBody, type SentAssertion, submissionBody } from "#lib/api/schemas/approval-view";
import { approvalSubmissions } from "#lib/db/schema";
import { AppError } from "#lib/errors";
import { isPasskeyApproval, isWorldIdApproval } from "#lib/protocol/approval/approval";
import { canonicalJson, type JsonObject } from "#lib/protocol/encoding/canonical-json";
import { agentFrozen } from "#lib/services/agents/freeze";
import type { Context } from "#lib/services/approvals/context";
import {
  acceptApproval,
  findApprovable,
  findDecidable,
  refused,
} from "#lib/services/approvals/decision/decide";
import { needsPasskey, proveApprover } from "#lib/services/approvals/decision/passkey-approval";
import { readApprovals } from "#lib/services/approvals/decision/store";
import { type AuthorizationRow, parseRequest } from "#lib/services/approvals/rows";
import { pickNamedProof, proveApproval } from "./prove";
import {
  claimSubmission,
  findSubmission,
  postponeSubmission,
  type Submission,
  settleSubmission,
  storeSubmission,
} from "./store-submissions";

const refusals = approvalSubmissions.code.enumValues;

async function isCounted(context: Context, requestId: string, nonce: string): Promise<boolean> {
  const present = await readApprovals(context.database.db, requestId);
  return present.some(({ records }) => records.filter(isWorldIdApproval).some((one) => one.nonce === nonce));
}

export async function attemptSubmission(context: Context, submission: Submission): Promise<void> {
  const { id, request_id, client } = submission;
  try {
    const { result, passkey } = submissionBody.parse(JSON.parse(submission.body));
    // A process that died after the decision left its submission pending.
    if (!(await isCounted(context, request_id, result.nonce))) {
      const row = await findApprovable(context, request_id);
      const proof = await proveApproval(context, row, result, client);
      const approver = passkey && (await proveApprover(context, row, passkey, "approve"));
      await acceptApproval(context, request_id, { proof, approver }, client);
    }
    await settleSubmission(context, id, null);
  } catch (error) {
    const code = error instanceof AppError && refusals.find((name) => name === error.errorName);
    if (code) await settleSubmission(context, id, { code, detail: error.detail });
    else await postponeSubmission(context, submission);
    throw error;
  }
}

/** The same proof again: what has become of it, or another attempt if no process is at it. */
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

/** Who is required comes with a passkey, and nobody else does. */
function requireKind(row: AuthorizationRow, passkey: SentAssertion | null): void {
  const isRequired = parseRequest(row).required_approvers.length > 0;
  if (isRequired && passkey === null) throw needsPasskey();
  if (!isRequired && passkey !== null) throw refused("this request asks for no enrolled approver");
}

/** POST /approve/{token}/proof: returns when the approval is counted. `client`: the address, as limits count it. */
export async function submitApproval(
  context: Context,
  requestId: string,
  { result, passkey }: z.infer<typeof submissionBody>,
  client: string,
): Promise<void> {
  const body = canonicalJson(JSON.parse(JSON.stringify({ result, passkey })) as JsonObject);
  const { nonce } = result;
  const find = () => findSubmission(context, requestId, nonce, body);
  const known = await find();
  if (known !== undefined) return answerKnown(context, known);
  const row = await findApprovable(context, requestId);
  requireKind(row, passkey);
  await pickNamedProof(context, row, result);
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

/** POST /approve/{token}/passkey: an enrolled approver, with World ID in the same visit if the request asks for a level. */
export async function approveByPasskey(
  context: Context,
  requestId: string,
  { result, passkey, code }: z.infer<typeof passkeyBody>,
  ip: string,
): Promise<void> {
  // The nonce of World ID's answer was given out for the code already.
  if (result) return submitApproval(context, requestId, { result, passkey }, ip);
  // First: it may be what decided the request.
  if (await isCountedPasskey(context, requestId, passkey)) return;
  const { row } = await findDecidable(context, requestId, { code, ip });
  if (row.agentFrozenAt !== null) throw agentFrozen();
  requireKind(row, passkey);
  if (parseRequest(row).required_level !== "none") throw refused("World ID is asked for too");
  const approver = await proveApprover(context, row, passkey, "approve");
  await acceptApproval(context, requestId, { proof: null, approver }, ip);
}

/** The same answer sent again, for instance because ours was lost. */
async function isCountedPasskey(context: Context, requestId: string, { signature }: SentAssertion) {
  const present = await readApprovals(context.database.db, requestId);
  return present.some(({ records }) =>
    records.filter(isPasskeyApproval).some((one) => one.signature === signature),
  );
}
