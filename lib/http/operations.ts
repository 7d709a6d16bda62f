/** Binds the table of operations to the services, and finds the operation of a request. */

import { type OperationId, operations } from "#lib/contract/operations";
import { httpRequestId } from "#lib/domain/ids";
import { AppError } from "#lib/errors";
import { readAgentFeed } from "#lib/services/agent-feed";
import { describeApiKey, revokeApiKey } from "#lib/services/api-keys";
import { attest } from "#lib/services/attest";
import { requestKeyByEmail, verifyKeyByEmail } from "#lib/services/email-keys";
import { pingDatabase } from "#lib/services/health";
import { putTools, readIdentity, registerIdentity, updateIdentity } from "#lib/services/identities";
import { listMailbox } from "#lib/services/mailbox";
import { readJwks, readPublicKeys } from "#lib/services/public-keys";
import { verifyAttestationById } from "#lib/services/verify-attestation";
import { getApp } from "./context";
import { enforceLimit, keyRequestAddressPolicy } from "./limits";
import { problemResponse } from "./problem";
import {
  actorOf,
  type Call,
  createHandler,
  type Handler,
  type Params,
  type Run,
  requireCaller,
} from "./route";

const registrant = (call: Pick<Call<unknown, unknown>, "caller" | "ip">) => ({
  organizationId: requireCaller(call).organizationId,
  actor: actorOf(call),
});
const slugOf = (params: Params) => params["slug"] ?? "";

type Runs = { [Id in OperationId]: Run<(typeof operations)[Id]> };

const runs: Runs = {
  attest: async (call) => ({
    status: 201,
    body: await attest(call.context, {
      caller: requireCaller(call),
      body: call.body,
      raw: call.raw,
      hold: call.hold,
    }),
  }),
  verify: async ({ context, params, caller }) => ({
    body: await verifyAttestationById(context, params["id"] ?? "", caller?.organizationId ?? null),
  }),
  agentFeed: async ({ context, params, query }) => ({
    body: await readAgentFeed(context, slugOf(params), query),
  }),
  pubkey: async ({ context }) => ({
    body: await readPublicKeys(context),
    headers: { "cache-control": "public, max-age=60" },
  }),
  jwks: async ({ context }) => ({
    body: await readJwks(context),
    headers: { "cache-control": "public, max-age=60" },
  }),
  requestKey: async ({ app, context, body }) => {
    const headers = await enforceLimit(context, keyRequestAddressPolicy(app.env), body.email);
    await requestKeyByEmail(context, body.email, body.name ?? null);
    return {
      body: { message: "If this address can receive mail, a code is on its way.", expires_in: 600 },
      headers,
    };
  },
  verifyKey: async ({ context, body, ip }) => ({
    status: 201,
    body: await verifyKeyByEmail(context, body.email, body.code, ip),
  }),
  keyInfo: async (call) => ({ body: await describeApiKey(call.context, requireCaller(call)) }),
  deleteKey: async (call) => {
    const { organizationId, keyId } = requireCaller(call);
    await revokeApiKey(call.context, organizationId, keyId, actorOf(call));
    return { body: { message: "The key is deleted and refused from now on.", key_id: keyId } };
  },
  registerIdentity: async (call) => {
    const { isNew, identity } = await registerIdentity(call.context, registrant(call), call.body);
    return { status: isNew ? 201 : 200, body: identity };
  },
  readIdentity: async ({ context, params }) => ({
    body: await readIdentity(context.database.db, slugOf(params)),
  }),
  updateIdentity: async (call) => ({
    body: await updateIdentity(call.context, registrant(call), slugOf(call.params), call.body),
  }),
  putTools: async (call) => ({
    body: await putTools(call.context, registrant(call), slugOf(call.params), call.body),
  }),
  health: async ({ context }) => {
    await pingDatabase(context);
    return { body: { status: "ok", database: context.database.kind, time: context.clock().toISOString() } };
  },
  mailbox: async ({ app, context }) => {
    if (app.env.mail !== "mailbox") throw new AppError("not_found", "mail is really sent here");
    return { body: { messages: await listMailbox(context.database) } };
  },
};

interface Route {
  method: string;
  pattern: RegExp;
  handler: Handler;
}

function toPattern(path: string): RegExp {
  const source = path
    .replaceAll(".", "\\.")
    .replaceAll(/\{(\w+)\\\.\\\.\\\.\}/g, "(?<$1>.+)")
    .replaceAll(/\{(\w+)\}/g, "(?<$1>[^/]+)");
  return new RegExp(`^${source}$`);
}

function bind<Id extends OperationId>(id: Id): Route {
  const spec: (typeof operations)[Id] = operations[id];
  return { method: spec.method, pattern: toPattern(spec.path), handler: createHandler(spec, runs[id]) };
}

const routes = (Object.keys(operations) as OperationId[]).map((id) => bind(id));

function decodeParams(groups: Record<string, string> | undefined): Params {
  return Object.fromEntries(
    Object.entries(groups ?? {}).map(([name, value]) => [name, decodeURIComponent(value)]),
  );
}

async function refuse(error: AppError): Promise<Response> {
  const { context, env } = await getApp();
  const requestId = httpRequestId(context.random(12));
  const response = problemResponse(error, env.baseUrl, requestId, context.logger);
  response.headers.set("request-id", requestId);
  return response;
}

/** A doubled slash reaches the same route. */
export function normalizePath(pathname: string): string {
  return pathname.replaceAll(/\/{2,}/g, "/").replace(/(?<=.)\/$/, "");
}

/** Answers a request of the table; 404 and 405 in the same shape for what is not in it. */
export async function dispatch(request: Request): Promise<Response> {
  const path = normalizePath(new URL(request.url).pathname);
  const matching = routes.filter(({ pattern }) => pattern.test(path));
  const method = request.method === "HEAD" ? "GET" : request.method;
  const route = matching.find((candidate) => candidate.method === method);
  if (!route) {
    if (matching.length === 0) return refuse(new AppError("not_found", "there is nothing at this path"));
    const allow = matching.map((candidate) => candidate.method).join(", ");
    return refuse(new AppError("method_not_allowed", `this path takes ${allow}`, { headers: { allow } }));
  }
  let params: Params;
  try {
    params = decodeParams(route.pattern.exec(path)?.groups);
  } catch {
    return refuse(new AppError("bad_request", "the path is not well-formed"));
  }
  const response = await route.handler(request, params);
  return request.method === "HEAD"
    ? new Response(null, { status: response.status, headers: response.headers })
    : response;
}
