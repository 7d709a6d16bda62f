/**
 * The one way into an operation: request id → authenticate → limit → strict parse → service → answer. Neither Next nor
 * node:http shows in it.
 */
import type { z } from "zod";
import { type Auth, isBodyOptional, type LimitName, type OperationSpec } from "#lib/api/operations/operation";
import type { Env } from "#lib/env";
import { AppError, describeError, type FieldError } from "#lib/errors";
import { inTime } from "#lib/in-time";
import { count, measure, type Note } from "#lib/instrumentation";
import { clip } from "#lib/logger";
import { httpRequestId, utf8Decode } from "#lib/protocol/encoding/bytes";
import { isJsonObject, type JsonObject, type JsonValue } from "#lib/protocol/encoding/canonical-json";
import { discard, readAtMost } from "#lib/protocol/encoding/read-stream";
import { parseStrictJson } from "#lib/protocol/encoding/strict-json";
import { formatCount, formatWait } from "#lib/protocol/text/display-text";
import { addCommonHeaders } from "./common-headers";
import type { HttpContext, KeyPrincipal, KnownKey, ServiceSettings } from "./context";
import { beginIdempotent, type IdempotencyHold, releaseIdempotent } from "./idempotency";
import {
  answerProblem,
  type HttpRequest,
  type HttpResponse,
  readOtlpEncoding,
  SerializedJson,
  toAppError,
  toRpcStatus,
} from "./problem";
import { clientAddress, isFromThisMachine, type LimitPolicy, type LimitState } from "./rate-limit";
import { logRequest, type Trace } from "./request-log";

/* Input and output of an operation's function, by the operation's specification. */

export type Params = Record<string, string>;
export type Handler = (request: HttpRequest, params: Params) => Promise<HttpResponse | Response>;

/** Never null behind a key; null for the public, and where an operation doesn't ask. */
export type PrincipalOf<Kind extends Auth["kind"]> = {
  key: KeyPrincipal;
  optional: KeyPrincipal | null;
  none: null;
}[Kind];

export interface Call<
  Body,
  Query,
  Context extends HttpContext = HttpContext,
  Kind extends Auth["kind"] = Auth["kind"],
> {
  context: Context;
  request: HttpRequest;
  params: Params;
  query: Query;
  body: Body;
  /** The body as it was sent. */
  raw: JsonObject;
  requestId: string;
  /** Set for operations that do each entry of a body once; those that do all of it once have a `hold`. */
  idempotencyKey: string | null;
  principal: PrincipalOf<Kind>;
  ip: string;
  /** Counts the request as so many more, if what it asks for is only known while it is answered; answers the headers. */
  countMore: (points: number) => Promise<Record<string, string>>;
  hold: IdempotencyHold | null;
}

export interface Reply {
  status?: number;
  /** JSON, or bytes whose content type is among the headers. */
  body: unknown;
  headers?: Record<Lowercase<string>, string>;
  attested?: readonly string[];
  /** Time that the caller asked it to wait. */
  waitedMs?: number;
}

export type BodyOf<Spec extends OperationSpec> = Spec["body"] extends z.ZodType
  ? z.output<Spec["body"]>
  : null;
export type QueryOf<Spec extends OperationSpec> = Spec["query"] extends z.ZodObject
  ? z.output<Spec["query"]>
  : Record<string, never>;
export type CallOf<Spec extends OperationSpec, Context extends HttpContext> = Call<
  BodyOf<Spec>,
  QueryOf<Spec>,
  Context,
  Spec["auth"]["kind"]
>;
export type OperationHandler<Spec extends OperationSpec, Context extends HttpContext> = (
  call: CallOf<Spec, Context>,
) => Promise<Reply | Response>;

/** Completes a kept answer for an idempotent replay, if part of it must not be stored. */
export type Hydrate<Context extends HttpContext> = (
  context: Context,
  kept: string,
  principal: KeyPrincipal,
) => Promise<string>;

export type Handlers<Specs extends Record<string, OperationSpec>, Context extends HttpContext> = {
  [Id in keyof Specs]: OperationHandler<Specs[Id], Context>;
};

/* The limits (docs/wire.md, Limits) and the headers that announce them. */

export function limitPolicy(env: Env, name: LimitName): LimitPolicy {
  const perMinute = {
    attest: env.LIMIT_ATTEST_PER_MINUTE,
    verify: env.LIMIT_VERIFY_PER_MINUTE,
    feed: env.LIMIT_FEED_PER_MINUTE,
    authorize: env.LIMIT_AUTHORIZE_PER_MINUTE,
    approve: env.LIMIT_APPROVE_PER_MINUTE,
    read_authorization: env.LIMIT_READ_AUTHORIZATION_PER_MINUTE,
    public_read: env.LIMIT_PUBLIC_READ_PER_MINUTE,
    keyed: env.LIMIT_KEYED_PER_MINUTE,
  };
  if (name === "key_request")
    return { name, limit: env.LIMIT_KEY_REQUEST_PER_IP_PER_HOUR, windowSeconds: 3600 };
  return { name, limit: perMinute[name], windowSeconds: 60 };
}

const organizationSettings = {
  attest: "LIMIT_ATTEST_PER_ORGANIZATION_PER_MINUTE",
  authorize: "LIMIT_AUTHORIZE_PER_ORGANIZATION_PER_MINUTE",
  keyed: "LIMIT_KEYED_PER_ORGANIZATION_PER_MINUTE",
} as const satisfies Partial<Record<LimitName, keyof Env>>;

/** The second limit on what a key does: all keys of its organization together. Null if clients are counted by address. */
function organizationPolicy(env: Env, name: LimitName): LimitPolicy | null {
  if (!(name in organizationSettings)) return null;
  const limit = env[organizationSettings[name as keyof typeof organizationSettings]];
  return { name: `${name}_organization`, limit, windowSeconds: 60 };
}

export function keyRequestAddressPolicy(settings: ServiceSettings): LimitPolicy {
  return {
    name: "key_request_address",
    limit: settings.LIMIT_KEY_REQUEST_PER_ADDRESS_PER_HOUR,
    windowSeconds: 3600,
  };
}

/** Replaces the limit for a browser in which that address signed in before. */
export function knownDevicePolicy(settings: ServiceSettings): LimitPolicy {
  return { ...keyRequestAddressPolicy(settings), name: "known_device" };
}

export function invalidKeyPolicy(env: Env): LimitPolicy {
  return { name: "unknown_key", limit: env.LIMIT_UNKNOWN_KEY_PER_MINUTE, windowSeconds: 60 };
}

const untilReset = ({ resetMs }: LimitState, nowMs: number) =>
  Math.max(1, Math.ceil((resetMs - nowMs) / 1000));

/** IETF draft-ietf-httpapi-ratelimit-headers, and the older X- form. */
function limitHeaders(policy: LimitPolicy, state: LimitState, nowMs: number): Record<string, string> {
  const resetSeconds = untilReset(state, nowMs);
  return {
    "ratelimit-policy": `"${policy.name}";q=${policy.limit};w=${policy.windowSeconds}`,
    ratelimit: `"${policy.name}";r=${state.remaining};t=${resetSeconds}`,
    "x-ratelimit-limit": String(policy.limit),
    "x-ratelimit-remaining": String(state.remaining),
    "x-ratelimit-reset": String(Math.ceil(state.resetMs / 1000)),
    ...(state.allowed ? {} : { "retry-after": String(resetSeconds) }),
  };
}

async function consume(context: HttpContext, policy: LimitPolicy, key: string, points = 1) {
  const state = await context.limiter.consume(policy, key, points);
  if (state.allowed) return { policy, state };
  count("limit refused", policy.name);
  throw limitExceeded(policy, state, context.clock().getTime());
}

const describe = ({ clock }: HttpContext, { policy, state }: Awaited<ReturnType<typeof consume>>) =>
  limitHeaders(policy, state, clock().getTime());

/**
 * The limit of the key and then that of its organization, so that many keys do not multiply it; the headers describe
 * the one with less left. Refused requests of a key don't count for its organization, so one runaway key can't use up
 * what the others need.
 */
async function enforceKeyLimit(
  context: HttpContext,
  policies: { key: LimitPolicy; organization: LimitPolicy },
  caller: { keyId: string; organizationId: string },
  points: number,
): Promise<Record<string, string>> {
  const ofKey = await consume(context, policies.key, caller.keyId, points);
  const ofAll = await consume(context, policies.organization, caller.organizationId, points);
  return describe(context, ofAll.state.remaining < ofKey.state.remaining ? ofAll : ofKey);
}

export function limitExceeded(policy: LimitPolicy, state: LimitState, nowMs: number): AppError {
  const most = `at most ${formatCount(policy.limit, "request")} in ${formatWait(policy.windowSeconds)}`;
  // Pages show it, too, where nobody sees a Retry-After.
  const detail = `${most}; try again in ${formatWait(untilReset(state, nowMs))}`;
  return new AppError("rate_limit_exceeded", detail, { headers: limitHeaders(policy, state, nowMs) });
}

export async function enforceLimit(
  context: HttpContext,
  policy: LimitPolicy,
  key: string,
): Promise<Record<string, string>> {
  return describe(context, await consume(context, policy, key));
}

/* zod's issues as the field errors of a problem document (docs/wire.md, Errors). */

/** A hostile body can be wrong in ten thousand places; a reader needs no more than these. */
const maxErrors = 20;
const maxNameLength = 100;

/** A name as it was sent, unless it is an API key sent by mistake: no error shows one. */
function describeName(name: PropertyKey): string {
  return clip(String(name).replace(/cs_(?:live|test)_\w+/g, "cs_…"), maxNameLength);
}

/** RFC 6901 */
function toPointer(path: readonly PropertyKey[]): string {
  return path.map((part) => `/${describeName(part).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

/** Types of which most schemas don't say what the value must be. A schema's own words come first. */
const mustBe: Partial<Record<string, string>> = {
  array: "must be an array",
  object: "must be an object",
  record: "must be an object",
};

const describeType: z.core.$ZodErrorMap = (issue) =>
  issue.code === "invalid_type" ? mustBe[issue.expected] : undefined;

function toFieldErrors(error: z.ZodError): FieldError[] {
  return error.issues.flatMap((issue) => {
    if (issue.code === "unrecognized_keys") {
      return issue.keys.map((key) => ({
        pointer: toPointer([...issue.path, key]),
        message: "is not a field of this request",
      }));
    }
    const isMissing = issue.code === "invalid_type" && (issue.input === undefined || issue.input === null);
    return [{ pointer: toPointer(issue.path), message: isMissing ? "is required" : issue.message }];
  });
}

export function validate<T>(
  schema: z.ZodType<T>,
  value: unknown,
  name: "validation_error" | "bad_request",
): T {
  const parsed = schema.safeParse(value, { reportInput: true, error: describeType });
  if (parsed.success) return parsed.data;
  const errors = toFieldErrors(parsed.error).slice(0, maxErrors);
  const first = errors[0] ?? { pointer: "", message: "is not valid" };
  const field = first.pointer.slice(1).replaceAll("/", ".") || "body";
  throw new AppError(name, `${field}: ${first.message}`, name === "validation_error" ? { errors } : {});
}

/** Queries as they are when left out, with their defaults. Making one takes a tenth of an authorization. */
const emptyQueries = new WeakMap<OperationSpec, Record<string, unknown>>();

function parseQuery(spec: OperationSpec, url: string): Record<string, unknown> {
  if (spec.query === undefined) return {};
  const known = url.includes("?") ? undefined : emptyQueries.get(spec);
  if (known !== undefined) return known;
  const given = new Map<string, string>();
  for (const [name, value] of new URL(url).searchParams) {
    if (given.has(name)) throw new AppError("bad_request", `${describeName(name)}: is set more than once`);
    given.set(name, value);
  }
  const query = validate(spec.query, Object.fromEntries(given), "bad_request");
  if (given.size === 0) emptyQueries.set(spec, Object.freeze(query));
  return query;
}

/*
 * A request body to JSON, mostly an object, strictly (lib/protocol/encoding/strict-json.ts): UTF-8, at most so many bytes, counted as they
 * stream in, and no U+0000, which PostgreSQL's text cannot hold.
 */

const defaultMaxBytes = 64 * 1024;
/** Bytes of a too large body that are read and discarded, so that its sender gets to read the answer. */
const maxDiscardedBytes = 16 * 1024 * 1024;

/** Limit that makes a body of short values cost the request thread no more than one of long ones. */
const maxTokens = 20_000;

/** Seconds that a sender has, so that half-sent bodies don't pile up. */
const maxSeconds = 8;

const tooSlow = () =>
  new AppError("bad_request", `the body didn't arrive within ${maxSeconds} seconds`, {
    headers: { connection: "close" },
  });

/** A body that its sender breaks off is a bad request, whatever the socket's error is called. */
export async function readBytes(
  request: Pick<HttpRequest, "headers" | "body" | "whole">,
  maxBytes = defaultMaxBytes,
): Promise<Uint8Array> {
  const tooLarge = () => new AppError("payload_too_large", `the body can be at most ${maxBytes} bytes`);
  // Cancelling at once would cut the connection before the answer is out.
  const refuse = (reader: ReadableStreamDefaultReader<Uint8Array>) => void discard(reader, maxDiscardedBytes);
  if (Number(request.headers.get("content-length") ?? 0) > maxBytes) {
    if (request.body !== null) refuse(request.body.getReader());
    throw tooLarge();
  }
  const { whole } = request;
  const isSmall = whole !== undefined && whole.announced <= maxBytes;
  const reading = isSmall ? whole.read() : readAtMost(request.body, maxBytes, refuse);
  const received = reading.catch((cause: unknown) => {
    throw new AppError("bad_request", "the body was cut off", { cause });
  });
  const bytes = await inTime(received, maxSeconds * 1000, tooSlow);
  if (bytes === null) throw tooLarge();
  return bytes;
}

function parse(text: string): JsonValue {
  try {
    return parseStrictJson(text, { maxTokens });
  } catch (error) {
    const problem =
      error instanceof RangeError
        ? `the body is not acceptable JSON: ${error.message}`
        : "the body is not JSON";
    throw new AppError("bad_request", problem);
  }
}

function decode(bytes: Uint8Array): string {
  try {
    return utf8Decode(bytes);
  } catch {
    throw new AppError("bad_request", "the body is not UTF-8");
  }
}

/** Adds pointers to the first strings and names with U+0000. */
function findNul(value: JsonValue, path: string[], found: FieldError[]): void {
  const add = () => found.push({ pointer: toPointer(path), message: "must not contain U+0000" });
  if (found.length >= maxErrors) return;
  if (typeof value === "string" && value.includes("\0")) add();
  if (typeof value !== "object" || value === null) return;
  for (const [name, member] of Object.entries(value)) {
    if (name.includes("\0")) add();
    path.push(name);
    findNul(member, path, found);
    path.pop();
  }
}

export function parseStrictBody(bytes: Uint8Array): JsonValue {
  const text = decode(bytes);
  const value = parse(text);
  const errors: FieldError[] = [];
  // JSON has one way to write it.
  if (text.includes("\\u0000")) findNul(value, [], errors);
  const [first] = errors;
  if (first) {
    const field = first.pointer.slice(1).replaceAll("/", ".") || "body";
    throw new AppError("validation_error", `${field}: ${first.message}`, { errors });
  }
  return value;
}

export function parseStrictObject(bytes: Uint8Array): JsonObject {
  const value = parseStrictBody(bytes);
  if (isJsonObject(value)) return value;
  throw new AppError("bad_request", "the body must be a JSON object");
}

export const readJsonObject = async (request: Pick<HttpRequest, "headers" | "body" | "whole">) =>
  parseStrictObject(await readBytes(request));

export interface HttpDependencies<Context extends HttpContext> {
  context: Context;
  env: Env;
  /** Lets the production server vouch for a socket's address. */
  peerSecret: string;
  /** Authenticates the caller, as far as the operation wants to know; throws 401 and 403. `note` learns of every known key. */
  authenticate: (
    auth: Auth,
    request: HttpRequest,
    ip: string,
    note: (key: KnownKey) => void,
  ) => Promise<KeyPrincipal | null>;
  /** Returns the caller who used the same key a moment ago; null if unknown. */
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
    if (reply.body instanceof Uint8Array)
      return new Response(reply.body as BodyInit, {
        status: reply.status ?? 200,
        headers: { "cache-control": "no-store", ...headers, ...reply.headers },
      });
    const text = reply.body instanceof SerializedJson ? reply.body.text : JSON.stringify(reply.body);
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
  authenticateAgain: () => Promise<unknown>,
  trace: Trace,
): Promise<HttpResponse | Response> {
  const { idempotencyKey: key } = call;
  const reply = async (hold: IdempotencyHold | null) => {
    const made = await handler(hold === null ? call : { ...call, hold });
    if (!(made instanceof Response)) {
      trace.attested = made.attested ?? [];
      trace.waitedMs = made.waitedMs ?? 0;
    }
    return toAnswer(made, headers);
  };
  if (spec.idempotent !== true || key === null || call.principal === null) return reply(null);
  const start = await beginIdempotent(call.context, call.principal.organizationId, spec.path, key, call.raw);
  if (start.kind === "replay") {
    // A kept answer is given without storing anything.
    await authenticateAgain();
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
  const known =
    spec.rechecksCaller === true ? dependencies.authenticateFromCache(spec.auth, request, ip) : null;
  const authenticateAgain = async () => known !== null && (await authenticate());
  trace.key = known;
  const principal = (known ?? (await authenticate())) as PrincipalOf<Spec["auth"]["kind"]>;
  let headers: Record<string, string> = {};
  try {
    headers = await checkLimit(dependencies, spec, principal, ip);
    const query = parseQuery(spec, request.url) as QueryOf<Spec>;
    const bytes = spec.body && (await readBytes(request, spec.maxBodyBytes));
    const isLeftOut = bytes?.length === 0 && isBodyOptional(spec);
    const raw = bytes === undefined || isLeftOut ? {} : parseStrictObject(bytes);
    const body = (
      spec.body === undefined ? null : validate(spec.body, raw, "validation_error")
    ) as BodyOf<Spec>;
    trace.body = body;
    const points = spec.countsAs?.(body as never) ?? 1;
    if (points > 1) headers = await checkLimit(dependencies, spec, principal, ip, points - 1);
    const sent = { request, params, query, body, raw, idempotencyKey: idempotencyKey(spec, request) };
    const countMore = async (more: number) => {
      if (more > 0) headers = await checkLimit(dependencies, spec, principal, ip, more);
      return headers;
    };
    const call = { context, ...sent, principal, ip, requestId, countMore, hold: null };
    return await runIdempotent(call, spec, handler, headers, hydrate, authenticateAgain, trace);
  } catch (error) {
    // Discloses nothing to an unauthenticated caller: a refusal is an answer too; a failure of ours says nothing of anybody.
    const isOurs = !(error instanceof AppError) || error.errorName === "service_unavailable";
    if (!isOurs) await authenticateAgain();
    throw error instanceof AppError ? error.withHeaders(headers) : error;
  }
}

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
    const trace: Trace = { key: null, body: null, attested: [], waitedMs: 0, errorCode: null };
    const response = await answer(dependencies, spec, handler, hydrate, request, params, id, trace).catch(
      (error: unknown) => {
        trace.errorCode = describeError(toAppError(error).errorName).code;
        const problem = answerProblem(error, dependencies.env.baseUrl, id, logger, spec.isScim);
        return spec.payload === "otlp" ? toRpcStatus(problem, readOtlpEncoding(request)) : problem;
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
