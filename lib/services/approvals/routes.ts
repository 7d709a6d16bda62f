/** Runs the operations of lib/api/operations/authorizations.ts. */

import { requireSameOrigin } from "#lib/api/http/common-headers";
import {
  type Call,
  type Handlers,
  type Hydrate,
  type Params,
  readBytes,
  readJsonObject,
  validate,
} from "#lib/api/http/pipeline";
import { failurePage } from "#lib/api/http/plain-page";
import { type HttpRequest, toResponse } from "#lib/api/http/problem";
import type { authorizationsOperations as specs } from "#lib/api/operations/authorizations";
import type { OperationId } from "#lib/api/operations/index";
import {
  amendBody,
  askBody,
  denyBody,
  idkitResultSchema,
  listBody,
  passkeyBody,
  startBody,
} from "#lib/api/schemas/approval-view";
import { AppError } from "#lib/errors";
import { amendAuthorization } from "#lib/services/approvals/decision/amend";
import { cancelAuthorization, denyAuthorization } from "#lib/services/approvals/decision/decide";
import { answerQuestion, askQuestion } from "#lib/services/approvals/decision/questions";
import { revokeAuthorization, revokeByLink } from "#lib/services/approvals/decision/revoke";
import { evaluateAccess } from "#lib/services/approvals/request/evaluate-access";
import { requestAuthorization, restoreSecrets } from "#lib/services/approvals/request/request";
import { claimAuthorization } from "#lib/services/approvals/use/claim";
import { startWorldId } from "#lib/services/approvals/world-id/prove";
import { approveByPasskey, approveList, submitApproval } from "#lib/services/approvals/world-id/submissions";
import { noteLook, noteReading } from "./attention";
import type { Context } from "./context";
import { listAuthorizations, readAuthorization } from "./read";
import { authorizationNotFound, readApprovalToken } from "./rows";

/** Neither the link nor a secret code is stored with the answer that had them. */
export const replayHydrators: Partial<Record<OperationId, Hydrate<Context>>> = { authorize: restoreSecrets };

type PageCall = Pick<Call<null, Record<string, never>, Context>, "context" | "request" | "params" | "ip">;
const readId = (params: Params) => params["request_id"] ?? "";

function requestOfLink({ context, request, params }: PageCall): string {
  requireSameOrigin(request, context.settings.baseUrl);
  const requestId = readApprovalToken(context, params["token"] ?? "");
  if (requestId === null) throw authorizationNotFound();
  return requestId;
}

/** The page alone knows whether all of it was on the screen (docs/decisions/0054). */
const noteRead = ({ context, request }: PageCall, requestId: string): Promise<void> =>
  noteReading(context, requestId, request.headers.get("read-to-end"));

/** The page reads the request again by itself. */
const done = { body: {} };

function isForm(request: HttpRequest): boolean {
  return request.headers.get("content-type")?.startsWith("application/x-www-form-urlencoded") ?? false;
}

/** A form may hold a preset and free text, both as `reason`. */
async function readForm(request: HttpRequest) {
  const fields = new URLSearchParams(Buffer.from(await readBytes(request)).toString("utf8"));
  const reason = fields
    .getAll("reason")
    .map((text) => text.trim())
    .filter((text) => text !== "")
    .join(": ");
  return { reason, code: fields.get("code") };
}

async function readDenial(request: HttpRequest) {
  const raw = isForm(request) ? await readForm(request) : await readJsonObject(request);
  const { reason, code, passkey } = validate(denyBody, raw, "validation_error");
  return { reason: reason?.trim() || null, code, passkey };
}

/** Errors that the page shows by itself when it is read again: too late, or how many tries are left. */
const shownByPage = ["authorization_not_pending", "already_used", "confirmation_code_wrong"];

type PageAct = (
  context: Context,
  requestId: string,
  said: Awaited<ReturnType<typeof readDenial>> & { ip: string },
) => Promise<void>;

/** Redirects the form, without JavaScript, to the page, which shows the request's state. */
const fromPage = (act: PageAct) => async (call: PageCall) => {
  const requestId = requestOfLink(call);
  const { context, params, request } = call;
  const token = params["token"] ?? "";
  const acted = readDenial(request).then((said) => act(context, requestId, { ...said, ip: call.ip }));
  if (!isForm(request)) {
    await acted;
    await noteRead(call, requestId);
    return done;
  }
  const page = `${context.settings.baseUrl}/approve/${token}`;
  try {
    await acted;
  } catch (error) {
    const isShown = error instanceof AppError && shownByPage.includes(error.errorName);
    if (!isShown) return toResponse(failurePage(error, page, context.logger));
  }
  return new Response(null, { status: 303, headers: { location: page, "cache-control": "no-store" } });
};

export const authorizationsHandlers: Handlers<typeof specs, Context> = {
  authorize: async ({ context, principal, body, hold, query: { run } }) => {
    return { status: 201, body: await requestAuthorization(context, { principal, body, hold, run }) };
  },
  readAuthorization: async ({ context, params, query, principal }) => {
    let waitedMs = 0;
    const id = readId(params);
    const state = await readAuthorization(context, id, principal, query.wait, (ms) => {
      waitedMs += ms;
    });
    return { body: state, waitedMs, ...(state.status === "pending" && { headers: { "retry-after": "5" } }) };
  },
  evaluateAccess: async ({ context, principal, body }) => ({
    body: await evaluateAccess(context, principal, body),
  }),
  claimAuthorization: async (call) => {
    const principal = call.principal;
    const id = readId(call.params);
    const claim = await claimAuthorization(call.context, id, principal, call.body.run);
    return { body: { ...(await readAuthorization(call.context, id, principal)), ...claim } };
  },
  answerQuestion: async (call) => {
    const id = readId(call.params);
    await answerQuestion(call.context, id, call.principal, call.body);
    return { body: await readAuthorization(call.context, id, call.principal) };
  },
  cancelAuthorization: async (call) => {
    const principal = call.principal;
    await cancelAuthorization(call.context, readId(call.params), principal);
    return { body: await readAuthorization(call.context, readId(call.params), principal) };
  },
  revokeAuthorization: async (call) => {
    const id = readId(call.params);
    await revokeAuthorization(call.context, id, call.principal, call.body.reason ?? null);
    return { body: await readAuthorization(call.context, id, call.principal) };
  },
  listAuthorizations: async (call) => ({
    body: await listAuthorizations(call.context, call.principal, call.query),
  }),
  startWorldId: async (call) => {
    const requestId = requestOfLink(call);
    const { code } = validate(startBody, await readJsonObject(call.request), "validation_error");
    return { body: await startWorldId(call.context, requestId, { code, ip: call.ip }) };
  },
  submitProof: async (call) => {
    const requestId = requestOfLink(call);
    const result = validate(idkitResultSchema, await readJsonObject(call.request), "validation_error");
    await submitApproval(call.context, requestId, { result, passkey: null }, call.ip);
    await noteRead(call, requestId);
    return done;
  },
  approveByPasskey: async (call) => {
    const requestId = requestOfLink(call);
    const sent = validate(passkeyBody, await readJsonObject(call.request), "validation_error");
    await approveByPasskey(call.context, requestId, sent, call.ip);
    await noteRead(call, requestId);
    return done;
  },
  lookAt: async (call) => {
    await noteLook(call.context, requestOfLink(call), null);
    return done;
  },
  approveList: async ({ context, request, ip }) => {
    requireSameOrigin(request, context.settings.baseUrl);
    const sent = validate(listBody, await readJsonObject(request), "validation_error");
    return { body: await approveList(context, sent, ip) };
  },
  amendAuthorization: async (call) => {
    const requestId = requestOfLink(call);
    const sent = validate(amendBody, await readJsonObject(call.request), "validation_error");
    return { body: await amendAuthorization(call.context, requestId, sent, call.ip) };
  },
  askQuestion: async (call) => {
    const requestId = requestOfLink(call);
    const sent = validate(askBody, await readJsonObject(call.request), "validation_error");
    await askQuestion(call.context, requestId, sent, call.ip);
    return done;
  },
  denyAuthorization: fromPage(denyAuthorization),
  revokeByLink: fromPage(revokeByLink),
};
