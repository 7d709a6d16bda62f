/** Runs the operations of lib/contract/operations-authorizations.ts. */

import { denyBody } from "#lib/contract/approval-view";
import type { OperationId } from "#lib/contract/operations";
import type { authorizationsOperations as specs } from "#lib/contract/operations-authorizations";
import { idkitResultSchema } from "#lib/contract/world-id";
import type { Asked } from "#lib/door/exchange";
import { type Call, type Params, type Revive, type Runs, requirePrincipal } from "#lib/door/route";
import { requireSameOrigin } from "#lib/door/same-origin";
import { readBytes, readJsonObject } from "#lib/door/strict-json";
import { validate } from "#lib/door/validate";
import { AppError } from "#lib/errors";
import type { Context } from "./context";
import { cancelAuthorization, denyAuthorization } from "./decide";
import { readApprovalToken, restoreApprovalUrl } from "./link";
import { listAuthorizations, readAuthorization } from "./read";
import { requestAuthorization } from "./request";
import { authorizationNotFound } from "./rows";
import { submitApproval } from "./submissions";
import { startWorldId } from "./world-nonces";

/** The link is not stored with the answer that had it. */
export const revivers: Partial<Record<OperationId, Revive<Context>>> = { authorize: restoreApprovalUrl };

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
async function readFormReason(request: Asked): Promise<string> {
  const fields = new URLSearchParams(Buffer.from(await readBytes(request)).toString("utf8"));
  return fields
    .getAll("reason")
    .map((text) => text.trim())
    .filter((text) => text !== "")
    .join(": ");
}

async function readDenial(request: Asked): Promise<string | null> {
  const raw = isForm(request) ? { reason: await readFormReason(request) } : await readJsonObject(request);
  const { reason } = validate(denyBody, raw, "validation_error");
  return reason?.trim() || null;
}

/** Without JavaScript the form leads back to the page, which shows the request's state. */
async function deny(call: PageCall) {
  const requestId = requestOfLink(call);
  const { context, params, request } = call;
  const token = params["token"] ?? "";
  const reason = await readDenial(request);
  const denied = denyAuthorization(context, requestId, reason, call.ip);
  if (!isForm(request)) {
    await denied;
    return done;
  }
  await denied.catch((error: unknown) => {
    if (!(error instanceof AppError && error.errorName === "authorization_not_pending")) throw error;
  });
  return new Response(null, {
    status: 303,
    headers: { location: `${context.settings.baseUrl}/approve/${token}`, "cache-control": "no-store" },
  });
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
  cancelAuthorization: async (call) => {
    const principal = requirePrincipal(call);
    await cancelAuthorization(call.context, idOf(call.params), principal);
    return { body: await readAuthorization(call.context, idOf(call.params), principal) };
  },
  listAuthorizations: async (call) => ({
    body: await listAuthorizations(call.context, requirePrincipal(call), call.query),
  }),
  startWorldId: async (call) => ({ body: await startWorldId(call.context, requestOfLink(call)) }),
  submitProof: async (call) => {
    const requestId = requestOfLink(call);
    const result = validate(idkitResultSchema, await readJsonObject(call.request), "validation_error");
    await submitApproval(call.context, requestId, result, call.ip);
    return done;
  },
  denyAuthorization: deny,
};
