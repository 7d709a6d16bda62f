/**
 * A received proof, from what it claims to the decision: cheap checks, a place among those that wait, then attempts
 * until it is accepted, refused, or its request ends.
 */

import type { z } from "zod";
import { toAppError } from "#lib/api/http/problem";
import { proofStored } from "#lib/api/schemas/approval-page";
import {
  type ListAnswer,
  type listBody,
  type passkeyBody,
  type SentAssertion,
  submissionBody,
} from "#lib/api/schemas/approval-view";
import { approvalSubmissions } from "#lib/db/schema";
import { AppError } from "#lib/errors";
import { createDueWork, type DueWork, startInterval } from "#lib/jobs/due-work";
import { createShare } from "#lib/jobs/fair-queue";
import { isListable, isPasskeyApproval, isWorldIdApproval, listKind } from "#lib/protocol/approval/approval";
import { hexEncode } from "#lib/protocol/encoding/bytes";
import { canonicalJson, type JsonObject } from "#lib/protocol/encoding/canonical-json";
import { buildList } from "#lib/protocol/passkey/assertion";
import { notePasskeyUse } from "#lib/services/accounts/roster-proofs";
import { agentFrozen } from "#lib/services/agents/identities";
import type { Context } from "#lib/services/approvals/context";
import {
  acceptApproval,
  findApprovable,
  findDecidable,
  refused,
} from "#lib/services/approvals/decision/decide";
import { copied, needsPasskey, proveApprover } from "#lib/services/approvals/decision/passkey-approval";
import {
  type AuthorizationRow,
  authorizationNotFound,
  describeMistake,
  findAuthorization,
  parseRequest,
  readApprovals,
  readApprovalToken,
} from "#lib/services/approvals/rows";
import { pickNamedProof, proveApproval } from "./prove";
import {
  claimSubmission,
  type DueSubmission,
  findDue,
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

async function attemptSubmission(context: Context, submission: Submission): Promise<void> {
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

/** Requires a passkey of required approvers, and of nobody else. */
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

/**
 * POST /approve/list: one signature over several requests, each of which is decided for itself, in its own transaction.
 * One that somebody else decided meanwhile keeps its place in what was signed, and has its own answer.
 */
export async function approveList(
  context: Context,
  { tokens, passkey }: z.infer<typeof listBody>,
  ip: string,
): Promise<ListAnswer> {
  const rows: AuthorizationRow[] = [];
  for (const token of tokens) {
    const requestId = readApprovalToken(context, token);
    const row = requestId === null ? null : await findAuthorization(context.database, requestId);
    if (row === null) throw authorizationNotFound();
    rows.push(row);
  }
  const requests = rows.map(parseRequest);
  if (!requests.every(isListable) || rows.some(({ require_code }) => require_code))
    throw refused(
      "a request in the list needs a page of its own: for World ID, a code, a counter-offer or a standing approval",
    );
  if (new Set(requests.map(listKind)).size !== 1)
    throw refused("the requests of a list have to be of one kind");
  if (new Set(rows.map(({ id }) => id)).size !== rows.length) throw refused("the list has a request twice");
  const { challenge, branches } = buildList(rows.map(({ request_hash }) => hexEncode(request_hash)));
  const results: ListAnswer["results"] = [];
  let isNoted = false;
  for (const [index, { id }] of rows.entries()) {
    const branch = branches[index];
    if (branch === undefined) throw new Error("a list has a branch for each request");
    const settle = (outcome: string, detail: string) => results.push({ request_id: id, outcome, detail });
    try {
      if (!(await isCountedPasskey(context, id, passkey))) {
        const row = await findApprovable(context, id);
        const approver = await proveApprover(context, row, passkey, "approve", { challenge, branch });
        const { enrolled } = approver;
        // Noted once for the whole list: its counter has grown by one.
        isNoted ||=
          enrolled.use !== null &&
          (await notePasskeyUse(context.database.db, enrolled.passkeyId, enrolled.use));
        if (!isNoted) throw copied();
        const person = { proof: null, approver: { ...approver, enrolled: { ...enrolled, use: null } } };
        await acceptApproval(context, id, person, ip);
        if (row.planted) {
          settle("planted", `this was a planted request. ${describeMistake(row.planted)}`);
          continue;
        }
      }
      settle("counted", "");
    } catch (error) {
      const { errorName, detail } = toAppError(error);
      settle(errorName, detail);
    }
  }
  return { results };
}

/** The same answer sent again, for instance because ours was lost. */
async function isCountedPasskey(context: Context, requestId: string, { signature }: SentAssertion) {
  const present = await readApprovals(context.database.db, requestId);
  return present.some(({ records }) =>
    records.filter(isPasskeyApproval).some((one) => one.signature === signature),
  );
}

/*
 * Stored proofs that could not be decided, for instance while World was out of reach, are tried again. Few at once, shared
 * between organizations, requests and clients: one with many waiting does not keep others waiting.
 */

const maxAtOnce = 8;
const maxOfOwnerAtOnce = 4;
const maxDue = 64;
const roundMs = 5_000;

export const createRetries = (context: Context): DueWork =>
  createDueWork<DueSubmission, Submission>({
    slots: maxAtOnce,
    slotsOfOwner: maxOfOwnerAtOnce,
    readDue: (except) => findDue(context, maxDue, except),
    getName: ({ id }) => id,
    getShare: ({ organizationId, requestId, client }) =>
      createShare("approval", { organization: organizationId, request: requestId, client }),
    claim: ({ id }) => claimSubmission(context, id),
    attempt: (claimed) => attemptSubmission(context, claimed),
    onError: (error) => context.logger.error({ err: error }, "a stored approval could not be tried again"),
  });

export const startRetryLoop = (context: Context): (() => Promise<void>) =>
  startInterval(roundMs, createRetries(context).run, (error) =>
    context.logger.error({ err: error }, "the approvals' retry round failed"),
  );
