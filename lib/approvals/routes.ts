/** Runs the operations of lib/contract/operations-authorizations.ts. */

import { denyBody, startBody } from "#lib/contract/approval-view";
import type { OperationId } from "#lib/contract/operations";
import type { authorizationsOperations as specs } from "#lib/contract/operations-authorizations";
import { idkitResultSchema } from "#lib/contract/world-id";
import { AppError } from "#lib/errors";
import { type Asked, toResponse } from "#lib/http/messages";
import { failurePage } from "#lib/http/plain-page";
import { readBytes, readJsonObject } from "#lib/http/read-json-body";
import { type Call, type Params, type Revive, type Runs, requirePrincipal } from "#lib/http/route";
import { requireSameOrigin } from "#lib/http/same-origin";
import { validate } from "#lib/http/validate";
import { claimAuthorization } from "./claim";
import type { Context } from "./context";
import { cancelAuthorization, denyAuthorization } from "./decide";
import { readApprovalToken } from "./link";
import { listAuthorizations, readAuthorization } from "./read";
import { requestAuthorization, restoreSecrets } from "./request";
import { authorizationNotFound } from "./rows";
import { submitApproval } from "./submissions";
import { startWorldId } from "./world-nonces";

/** Neither the link nor a secret code is stored with the answer that had them. */
export const revivers: Partial<Record<OperationId, Revive<Context>>> = { authorize: restoreSecrets };

type PageCall = Pick<Call<null, Record<string, never>, Context>, "context" | "request" | "params" | "ip">;
const idOf = (params: Params) => params["request_id"] ?? "";

/** The request that the link is for, asked by a page of ours. */
function requestOfLink({ context, request, params }: PageCall): string {
  requireSameOrigin(request, context.settings.baseUrl);
  const requestId = readApprovalToken(context, params["token"] ?? "");
  if (requestId === null) throw authorizationNotFound();
  return requestId;
}

/** The page reads the request again by itself. */
const done = { body: {} };

function isForm(request: Asked): boolean {
  return request.headers.get("content-type")?.startsWith("application/x-www-form-urlencoded") ?? false;
}

/** A form may hold a preset and free text, both as `reason`. */
async function readForm(request: Asked) {
  const fields = new URLSearchParams(Buffer.from(await readBytes(request)).toString("utf8"));
  const reason = fields
    .getAll("reason")
    .map((text) => text.trim())
    .filter((text) => text !== "")
    .join(": ");
  return { reason, code: fields.get("code") };
}

async function readDenial(request: Asked) {
  const raw = isForm(request) ? await readForm(request) : await readJsonObject(request);
  const { reason, code } = validate(denyBody, raw, "validation_error");
  return { reason: reason?.trim() || null, code };
}

/** What the page shows by itself when it is read again: that it was too late, or how many tries are left. */
const shownByPage = ["authorization_not_pending", "confirmation_code_wrong"];

/** Without JavaScript the form leads back to the page, which shows the request's state. */
async function deny(call: PageCall) {
  const requestId = requestOfLink(call);
  const { context, params, request } = call;
  const token = params["token"] ?? "";
  const denied = readDenial(request).then((denial) =>
    denyAuthorization(context, requestId, { ...denial, ip: call.ip }),
  );
  if (!isForm(request)) {
    await denied;
    return done;
  }
  const page = `${context.settings.baseUrl}/approve/${token}`;
  try {
    await denied;
  } catch (error) {
    const isShown = error instanceof AppError && shownByPage.includes(error.errorName);
    if (!isShown) return toResponse(failurePage(error, page, context.logger));
  }
  return new Response(null, { status: 303, headers: { location: page, "cache-control": "no-store" } });
}

export const authorizationsRuns: Runs<typeof specs, Context> = {
  authorize: async (call) => ({
    status: 201,
    body: await requestAuthorization(call.context, {
      principal: requirePrincipal(call),
      body: call.body,
      hold: call.hold,
    }),
  }),
  readAuthorization: async ({ context, params, query, principal }) => {
    const state = await readAuthorization(context, idOf(params), principal, query.wait);
    return { body: state, ...(state.status === "pending" && { headers: { "retry-after": "5" } }) };
  },
  claimAuthorization: async (call) => {
    const principal = requirePrincipal(call);
    const id = idOf(call.params);
    const claim = await claimAuthorization(call.context, id, principal, call.body.run);
    return { body: { ...(await readAuthorization(call.context, id, principal)), ...claim } };
  },
  cancelAuthorization: async (call) => {
    const principal = requirePrincipal(call);
    await cancelAuthorization(call.context, idOf(call.params), principal);
    return { body: await readAuthorization(call.context, idOf(call.params), principal) };
  },
  listAuthorizations: async (call) => ({
    body: await listAuthorizations(call.context, requirePrincipal(call), call.query),
  }),
  startWorldId: async (call) => {
    const requestId = requestOfLink(call);
    const { code } = validate(startBody, await readJsonObject(call.request), "validation_error");
    return { body: await startWorldId(call.context, requestId, { code, ip: call.ip }) };
  },
  submitProof: async (call) => {
    const requestId = requestOfLink(call);
    const result = validate(idkitResultSchema, await readJsonObject(call.request), "validation_error");
    await submitApproval(call.context, requestId, result, call.ip);
    return done;
  },
  denyAuthorization: deny,
};
