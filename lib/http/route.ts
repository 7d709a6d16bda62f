/**
 * The one door of an operation: request id → authenticate → limit → strict parse → service → answer. Neither Next nor
 * node:http shows in it.
 */

import type { z } from "zod";
import type { Auth, OperationSpec } from "#lib/contract/operation";
import type { JsonObject } from "#lib/core/encoding/canonical-json";
import { httpRequestId } from "#lib/core/encoding/ids";
import type { Env } from "#lib/env";
import { AppError, describeError } from "#lib/errors";
import { measure, type Note } from "#lib/instrumentation";
import { clientAddress, isFromThisMachine } from "./client-ip";
import { finish } from "./common-headers";
import type { DoorContext } from "./context";
import { beginIdempotent, releaseIdempotent } from "./idempotency";
import type { IdempotencyHold } from "./idempotency-leases";
import { enforceKeyLimit, enforceLimit, limitPolicy, organizationPolicy } from "./limits";
import type { Answer, Asked } from "./messages";
import type { KeyPrincipal, KnownKey } from "./principal";
import { answerProblem, toAppError } from "./problem";
import { readJsonObject } from "./read-json-body";
import { logRequest, type Trace } from "./request-trace";
import { parseQuery, validate } from "./validate";
import { WrittenJson } from "./written-json";

export type Params = Record<string, string>;
export type Handler = (request: Asked, params: Params) => Promise<Answer | Response>;

/** What the door works with; lib/runtime/app.ts opens it. */
export interface Door<Context extends DoorContext> {
  context: Context;
  env: Env;
  /** Lets the production server vouch for a socket's address. */
  peerSecret: string;
  /** Who asks, as far as the operation wants to know; throws 401 and 403. `note` learns of every known key. */
  authenticate: (
    auth: Auth,
    request: Asked,
    ip: string,
    note: (key: KnownKey) => void,
  ) => Promise<KeyPrincipal | null>;
  /** Who asked a moment ago with the same key; null if that is not known. */
  recall: (auth: Auth, request: Asked, ip: string) => KeyPrincipal | null;
}

/** What an operation's own function gets: everything is checked. */
export interface Call<Body, Query, Context extends DoorContext = DoorContext> {
  env: Env;
  context: Context;
  request: Asked;
  params: Params;
  query: Query;
  body: Body;
  /** The body as it was sent. */
  raw: JsonObject;
  /** Null on public routes. */
  principal: KeyPrincipal | null;
  ip: string;
  hold: IdempotencyHold | null;
}

export interface Reply {
  status?: number;
  /** JSON. */
  body: unknown;
  headers?: Record<Lowercase<string>, string>;
}

type BodyOf<Spec extends OperationSpec> = Spec["body"] extends z.ZodType ? z.output<Spec["body"]> : null;
type QueryOf<Spec extends OperationSpec> = Spec["query"] extends z.ZodObject
  ? z.output<Spec["query"]>
  : Record<string, never>;
export type Run<Spec extends OperationSpec, Context extends DoorContext> = (
  call: Call<BodyOf<Spec>, QueryOf<Spec>, Context>,
) => Promise<Reply | Response>;

/** Completes a kept answer for an idempotent replay, if part of it must not be stored. */
export type Revive<Context extends DoorContext> = (context: Context, kept: string) => string;

export type Runs<Specs extends Record<string, OperationSpec>, Context extends DoorContext> = {
  [Id in keyof Specs]: Run<Specs[Id], Context>;
};

/** Counted by API key and its organization if the table says so, else by client. */
async function checkLimit(
  { context, env }: Door<DoorContext>,
  spec: OperationSpec,
  principal: KeyPrincipal | null,
  ip: string,
): Promise<Record<string, string>> {
  if (spec.limit === null) return {};
  const key = limitPolicy(env, spec.limit);
  const organization = organizationPolicy(env, spec.limit);
  if (principal === null || organization === null) return enforceLimit(context, key, ip);
  return enforceKeyLimit(context, { key, organization }, principal);
}

function idempotencyKey(spec: OperationSpec, request: Asked): string | null {
  const key = spec.idempotent ? request.headers.get("idempotency-key") : null;
  if (key !== null && !/^[\x20-\x7e]{1,255}$/.test(key)) {
    throw new AppError("bad_request", "Idempotency-Key: must be 1-255 printable ASCII characters");
  }
  return key;
}

function answerJson(status: number, text: string, headers: Record<string, string>): Answer {
  return {
    status,
    headers: { "content-type": "application/json; charset=utf-8", "cache-control": "no-store", ...headers },
    text,
  };
}

function toAnswer(reply: Reply | Response, headers: Record<string, string>): Answer | Response {
  if (!(reply instanceof Response)) {
    const text = reply.body instanceof WrittenJson ? reply.body.text : JSON.stringify(reply.body);
    return answerJson(reply.status ?? 200, text, { ...headers, ...reply.headers });
  }
  const merged = new Headers(reply.headers);
  for (const [name, value] of Object.entries(headers)) merged.set(name, value);
  return new Response(reply.body, { status: reply.status, headers: merged });
}

async function runIdempotent<Spec extends OperationSpec, Context extends DoorContext>(
  call: Call<BodyOf<Spec>, QueryOf<Spec>, Context>,
  spec: Spec,
  run: Run<Spec, Context>,
  headers: Record<string, string>,
  revive: Revive<Context>,
): Promise<Answer | Response> {
  const key = idempotencyKey(spec, call.request);
  if (key === null || call.principal === null) return toAnswer(await run(call), headers);
  const start = await beginIdempotent(call.context, call.principal.organizationId, spec.path, key, call.raw);
  if (start.kind === "replay") {
    const response = revive(call.context, start.response);
    return answerJson(start.status, response, { ...headers, "idempotency-replayed": "true" });
  }
  const letGo = call.context.idempotencyLeases.keep(start.hold);
  try {
    return toAnswer(await run({ ...call, hold: start.hold }), headers);
  } catch (error) {
    await releaseIdempotent(call.context, start.hold);
    throw error;
  } finally {
    letGo();
  }
}

async function answer<Spec extends OperationSpec, Context extends DoorContext>(
  door: Door<Context>,
  spec: Spec,
  run: Run<Spec, Context>,
  revive: Revive<Context>,
  request: Asked,
  params: Params,
  trace: Trace,
): Promise<Answer | Response> {
  const { context, env } = door;
  if (spec.onlyFromThisMachine === true && !isFromThisMachine(request, door.peerSecret, env))
    throw new AppError("not_found", "this can only be read from the machine of the service");
  const ip = clientAddress(request, door.peerSecret, env);
  const authenticate = () =>
    door.authenticate(spec.auth, request, ip, (key) => {
      trace.key = key;
    });
  const known = mayBeRecalled(spec, request) ? door.recall(spec.auth, request, ip) : null;
  trace.key = known;
  const principal = known ?? (await authenticate());
  const headers = await checkLimit(door, spec, principal, ip);
  try {
    const query = parseQuery(spec, request.url) as QueryOf<Spec>;
    const raw = spec.body === undefined ? {} : await readJsonObject(request);
    const body = (
      spec.body === undefined ? null : validate(spec.body, raw, "validation_error")
    ) as BodyOf<Spec>;
    trace.body = body;
    return await runIdempotent(
      { env, context, request, params, query, body, raw, principal, ip, hold: null },
      spec,
      run,
      headers,
      revive,
    );
  } catch (error) {
    // Nothing has checked who asks, and a refusal is an answer too.
    if (known !== null) await authenticate();
    throw error instanceof AppError ? error.withHeaders(headers) : error;
  }
}

/** A kept answer is given without storing anything. */
const mayBeRecalled = (spec: OperationSpec, request: Asked) =>
  spec.rechecksCaller === true && !request.headers.has("idempotency-key");

/** For operations behind a key; the door has refused everyone else before. */
export function requirePrincipal({ principal }: { principal: KeyPrincipal | null }): KeyPrincipal {
  if (principal === null) throw new Error("an operation behind a key ran without one");
  return principal;
}

/** Public reads, which a page of any origin may show. The development mailbox is nobody else's. */
export function isForEveryone(spec: OperationSpec): boolean {
  return spec.method === "GET" && spec.auth.kind !== "key" && spec.internal !== true;
}

const isReplay = (response: Answer | Response) =>
  !(response instanceof Response) && response.headers["idempotency-replayed"] !== undefined;

export function createHandler<Spec extends OperationSpec, Context extends DoorContext>(
  openDoor: () => Promise<Door<Context>>,
  spec: Spec,
  run: Run<Spec, Context>,
  revive: Revive<Context> = (_context, kept) => kept,
): Handler {
  const { method, path } = spec;
  const handle = async (request: Asked, params: Params, note: Note) => {
    const door = await openDoor();
    const { clock, logger, random } = door.context;
    const id = httpRequestId(random(12));
    const startMs = clock().getTime();
    const trace: Trace = { key: null, body: null, errorCode: null };
    const response = await answer(door, spec, run, revive, request, params, trace).catch((error: unknown) => {
      trace.errorCode = describeError(toAppError(error).errorName).code;
      return answerProblem(error, door.env.baseUrl, id, logger);
    });
    const { status } = response;
    note({ status, method, route: path, request_id: id }, trace.errorCode ?? "ok");
    logRequest(door.context, spec, request, trace, { id, startMs, status, isReplay: isReplay(response) });
    return finish(response, door.env, id, isForEveryone(spec));
  };
  return (request, params) =>
    measure("request", `${method} ${path}`, (note) => handle(request, params, note));
}
