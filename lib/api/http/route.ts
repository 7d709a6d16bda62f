/**
 * The one way into an operation: request id → authenticate → limit → strict parse → service → answer. Neither Next nor
 * node:http shows in it.
 */

import type { Auth, OperationSpec } from "#lib/api/operations/operation";
import type { Env } from "#lib/env";
import { AppError, describeError } from "#lib/errors";
import { measure, type Note } from "#lib/instrumentation";
import { httpRequestId } from "#lib/protocol/encoding/ids";
import type {
  BodyOf,
  CallOf,
  Handler,
  Hydrate,
  OperationHandler,
  Params,
  PrincipalOf,
  QueryOf,
  Reply,
} from "./call";
import { clientAddress, isFromThisMachine } from "./client-ip";
import { addCommonHeaders } from "./common-headers";
import type { HttpContext } from "./context";
import { beginIdempotent } from "./idempotency";
import type { IdempotencyHold } from "./idempotency-leases";
import { releaseIdempotent } from "./idempotency-release";
import { enforceKeyLimit, enforceLimit, limitPolicy, organizationPolicy } from "./limits";
import type { HttpRequest, HttpResponse } from "./messages";
import type { KeyPrincipal, KnownKey } from "./principal";
import { answerProblem, toAppError } from "./problem";
import { readJsonObject } from "./read-json-body";
import { logRequest, type Trace } from "./request-trace";
import { parseQuery, validate } from "./validate";
import { WrittenJson } from "./written-json";

/** Dependencies of every operation, apart from its own function; lib/server/app.ts opens them. */
export interface HttpDependencies<Context extends HttpContext> {
  context: Context;
  env: Env;
  /** Lets the production server vouch for a socket's address. */
  peerSecret: string;
  /** Who asks, as far as the operation wants to know; throws 401 and 403. `note` learns of every known key. */
  authenticate: (
    auth: Auth,
    request: HttpRequest,
    ip: string,
    note: (key: KnownKey) => void,
  ) => Promise<KeyPrincipal | null>;
  /** Who asked a moment ago with the same key; null if that is not known. */
  authenticateFromCache: (auth: Auth, request: HttpRequest, ip: string) => KeyPrincipal | null;
}

/** Counted by API key and its organization if the table says so, else by client. */
async function checkLimit(
  { context, env }: HttpDependencies<HttpContext>,
  spec: OperationSpec,
  principal: KeyPrincipal | null,
  ip: string,
  points = 1,
): Promise<Record<string, string>> {
  if (spec.limit === null) return {};
  const key = limitPolicy(env, spec.limit);
  const organization = organizationPolicy(env, spec.limit);
  if (principal === null || organization === null) return enforceLimit(context, key, ip);
  return enforceKeyLimit(context, { key, organization }, principal, points);
}

function idempotencyKey(spec: OperationSpec, request: HttpRequest): string | null {
  const key = spec.idempotent ? request.headers.get("idempotency-key") : null;
  if (key !== null && !/^[\x20-\x7e]{1,255}$/.test(key)) {
    throw new AppError("bad_request", "Idempotency-Key: must be 1-255 printable ASCII characters");
  }
  return key;
}

function answerJson(status: number, text: string, headers: Record<string, string>): HttpResponse {
  return {
    status,
    headers: { "content-type": "application/json; charset=utf-8", "cache-control": "no-store", ...headers },
    text,
  };
}

function toAnswer(reply: Reply | Response, headers: Record<string, string>): HttpResponse | Response {
  if (!(reply instanceof Response)) {
    const text = reply.body instanceof WrittenJson ? reply.body.text : JSON.stringify(reply.body);
    return answerJson(reply.status ?? 200, text, { ...headers, ...reply.headers });
  }
  const merged = new Headers(reply.headers);
  for (const [name, value] of Object.entries(headers)) merged.set(name, value);
  return new Response(reply.body, { status: reply.status, headers: merged });
}

async function runIdempotent<Spec extends OperationSpec, Context extends HttpContext>(
  call: CallOf<Spec, Context>,
  spec: Spec,
  handler: OperationHandler<Spec, Context>,
  headers: Record<string, string>,
  hydrate: Hydrate<Context>,
  trace: Trace,
): Promise<HttpResponse | Response> {
  const { idempotencyKey: key } = call;
  const reply = async (hold: IdempotencyHold | null) => {
    const made = await handler(hold === null ? call : { ...call, hold });
    if (!(made instanceof Response)) trace.attested = made.attested ?? [];
    return toAnswer(made, headers);
  };
  if (spec.idempotent !== true || key === null || call.principal === null) return reply(null);
  const start = await beginIdempotent(call.context, call.principal.organizationId, spec.path, key, call.raw);
  if (start.kind === "replay") {
    const response = await hydrate(call.context, start.response, call.principal);
    return answerJson(start.status, response, { ...headers, "idempotency-replayed": "true" });
  }
  const letGo = call.context.idempotencyLeases.keep(start.hold);
  try {
    return await reply(start.hold);
  } catch (error) {
    await releaseIdempotent(call.context, [start.hold]);
    throw error;
  } finally {
    letGo();
  }
}

async function answer<Spec extends OperationSpec, Context extends HttpContext>(
  dependencies: HttpDependencies<Context>,
  spec: Spec,
  handler: OperationHandler<Spec, Context>,
  hydrate: Hydrate<Context>,
  request: HttpRequest,
  params: Params,
  requestId: string,
  trace: Trace,
): Promise<HttpResponse | Response> {
  const { context, env } = dependencies;
  if (spec.onlyFromThisMachine === true && !isFromThisMachine(request, dependencies.peerSecret, env))
    throw new AppError("not_found", "this can only be read from the machine of the service");
  const ip = clientAddress(request, dependencies.peerSecret, env);
  const authenticate = () =>
    dependencies.authenticate(spec.auth, request, ip, (key) => {
      trace.key = key;
    });
  const known = mayUseCache(spec, request)
    ? dependencies.authenticateFromCache(spec.auth, request, ip)
    : null;
  trace.key = known;
  const principal = (known ?? (await authenticate())) as PrincipalOf<Spec["auth"]["kind"]>;
  let headers = await checkLimit(dependencies, spec, principal, ip);
  try {
    const query = parseQuery(spec, request.url) as QueryOf<Spec>;
    const raw = spec.body === undefined ? {} : await readJsonObject(request, spec.maxBodyBytes);
    const body = (
      spec.body === undefined ? null : validate(spec.body, raw, "validation_error")
    ) as BodyOf<Spec>;
    trace.body = body;
    const points = spec.countsAs?.(body as never) ?? 1;
    if (points > 1) headers = await checkLimit(dependencies, spec, principal, ip, points - 1);
    const sent = { request, params, query, body, raw, idempotencyKey: idempotencyKey(spec, request) };
    const call = { context, ...sent, principal, ip, requestId, hold: null };
    return await runIdempotent(call, spec, handler, headers, hydrate, trace);
  } catch (error) {
    // Nothing has checked who asks, and a refusal is an answer too.
    if (known !== null) await authenticate();
    throw error instanceof AppError ? error.withHeaders(headers) : error;
  }
}

/** A kept answer is given without storing anything. */
const mayUseCache = (spec: OperationSpec, request: HttpRequest) =>
  spec.rechecksCaller === true && !request.headers.has("idempotency-key");

/** Public reads, which a page of any origin may show. The development mailbox is for its own pages alone. */
export function isForEveryone(spec: OperationSpec): boolean {
  return spec.method === "GET" && spec.auth.kind !== "key" && spec.internal !== true;
}

export function createHandler<Spec extends OperationSpec, Context extends HttpContext>(
  open: () => Promise<HttpDependencies<Context>>,
  spec: Spec,
  handler: OperationHandler<Spec, Context>,
  hydrate: Hydrate<Context> = async (_context, kept) => kept,
): Handler {
  const { method, path } = spec;
  const handle = async (request: HttpRequest, params: Params, note: Note) => {
    const dependencies = await open();
    const { clock, logger, random } = dependencies.context;
    const id = httpRequestId(random(12));
    const startMs = clock().getTime();
    const trace: Trace = { key: null, body: null, attested: [], errorCode: null };
    const response = await answer(dependencies, spec, handler, hydrate, request, params, id, trace).catch(
      (error: unknown) => {
        trace.errorCode = describeError(toAppError(error).errorName).code;
        return answerProblem(error, dependencies.env.baseUrl, id, logger);
      },
    );
    const { status } = response;
    note({ status, method, route: path, request_id: id }, trace.errorCode ?? "ok");
    logRequest(dependencies.context, spec, request, trace, { id, startMs, status });
    return addCommonHeaders(response, dependencies.env, id, isForEveryone(spec));
  };
  return (request, params) =>
    measure("request", `${method} ${path}`, (note) => handle(request, params, note));
}
