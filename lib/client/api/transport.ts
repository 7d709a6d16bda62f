/**
 * Requests to the service. What is safe to repeat is repeated if the connection breaks or the service asks for patience:
 * reads, claims, and writes under an Idempotency-Key, which the service answers once (docs/wire.md, Idempotency).
 */
import type { JsonValue } from "#lib/protocol/encoding/canonical-json";
import { readTextAtMost } from "#lib/protocol/encoding/read-stream";
import { explainError } from "#lib/protocol/text/display-text";
import { isLoopbackUrl } from "#lib/protocol/text/host";
import { ApiError, ConnectionError, CountersignError } from "./errors";

/** Environment of the client. Tests put their own in place. */
export interface Runtime {
  /** Rejects with the signal's reason as soon as it is aborted. */
  sleep: (ms: number, signal: AbortSignal | undefined) => Promise<void>;
  /** Returns a number of at least 0 and below 1. */
  random: () => number;
  randomUuid: () => string;
  now: () => Date;
}

export interface Service extends Runtime {
  fetch: (url: string, init: RequestInit) => Promise<Response>;
  /** URL without a slash at its end. */
  baseUrl: string;
  apiKey: string | undefined;
}

export interface Call {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  path: string;
  body?: object;
  idempotencyKey?: string | undefined;
  /** The service does it once without a key too. */
  isRepeatable?: boolean;
  signal?: AbortSignal | undefined;
  /** Most attempts, including the first. */
  tries?: number;
}

interface Answered {
  text: string;
  retryAfterSeconds: number | null;
  /** True for the stored answer to an earlier request. */
  isReplayed: boolean;
}

/** Longer than the service holds an answer back. */
const timeoutMs = 40_000;
const maxAnswerBytes = 16 * 1024 * 1024;
const usualTries = 5;
/** A service that wants more patience is left to the caller. */
const maxRetryAfterSeconds = 60;
const [firstPauseMs, longestPauseMs] = [500, 30_000];

/** A key that was read from a file ends in a line break. No error shows a secret. */
export function readHeader(name: string, text: string): string {
  const value = text.trim();
  if (!/^[ -~]+$/.test(value)) throw new TypeError(`${name}: expected printable ASCII`);
  return value;
}

/** A key must not cross a network in the clear. */
export function readBaseUrl(given: string): string {
  if (!URL.canParse(given)) throw new TypeError(`baseUrl: not an address: ${given}`);
  const text = given.trim();
  const { protocol, username, password } = new URL(text);
  if (username !== "" || password !== "") throw new TypeError("baseUrl: must name no user");
  if (protocol !== "https:" && !(protocol === "http:" && isLoopbackUrl(text)))
    throw new TypeError(`baseUrl: must be https, or http on this machine: ${text}`);
  return text.replace(/\/+$/, "");
}

export async function send<Answer>(service: Service, call: Call): Promise<Answer> {
  return JSON.parse((await sendForText(service, call)).text) as Answer;
}

/** Throws {@link ApiError}, {@link ConnectionError}, or the signal's reason. */
export async function sendForText(service: Service, call: Call): Promise<Answered> {
  const isSafe = call.method === "GET" || call.idempotencyKey !== undefined || call.isRepeatable === true;
  const tries = isSafe ? (call.tries ?? usualTries) : 1;
  const init = writeRequest(service, call);
  for (let tried = 1; ; tried += 1) {
    try {
      return await sendOnce(service, call, init);
    } catch (error) {
      const pauseMs = tried < tries ? findPause(service, error, tried) : null;
      if (pauseMs === null) throw error;
      await service.sleep(pauseMs, call.signal);
    }
  }
}

/** Null if trying again doesn't help. */
function findPause({ random }: Service, error: unknown, tried: number): number | null {
  if (!(error instanceof CountersignError && error.retryable)) return null;
  const backOffMs = Math.min(longestPauseMs, firstPauseMs * 2 ** (tried - 1)) * (0.5 + random() / 2);
  const asked = error instanceof ApiError ? error.retryAfterSeconds : null;
  if (asked === null) return backOffMs;
  return asked > maxRetryAfterSeconds ? null : Math.max(asked * 1_000, backOffMs);
}

async function sendOnce(service: Service, call: Call, init: RequestInit): Promise<Answered> {
  const { signal } = call;
  signal?.throwIfAborted();
  const url = `${service.baseUrl}${call.path}`;
  const asked = `${call.method} ${url.split("?")[0]}`;
  const timeout = AbortSignal.timeout(timeoutMs);
  let response: Response;
  let text: string | null;
  try {
    response = await service.fetch(url, {
      ...init,
      signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
    });
    text = await readTextAtMost(response, maxAnswerBytes);
  } catch (error) {
    signal?.throwIfAborted();
    throw new ConnectionError(`${asked}: no answer (${explainError(error)})`, { cause: error });
  }
  const seconds = Number.parseInt(response.headers.get("retry-after") ?? "", 10);
  const retryAfterSeconds = Number.isNaN(seconds) ? null : Math.max(0, seconds);
  const body = parse(text);
  if (!response.ok) throw new ApiError(response.status, body ?? null, retryAfterSeconds);
  if (text === null || body === undefined) throw new ConnectionError(`${asked}: the answer is not JSON`);
  return { text, retryAfterSeconds, isReplayed: response.headers.get("idempotency-replayed") === "true" };
}

/**
 * Serializes once for all attempts: the body may change meanwhile, and a body that can't be serialized is no lost connection.
 */
function writeRequest({ apiKey }: Service, { method, body, idempotencyKey }: Call): RequestInit {
  const headers = {
    accept: "application/json",
    ...(apiKey !== undefined && { authorization: `Bearer ${apiKey}` }),
    ...(body !== undefined && { "content-type": "application/json" }),
    ...(idempotencyKey !== undefined && {
      "idempotency-key": readHeader("idempotencyKey", idempotencyKey),
    }),
  };
  // A redirect would carry the key, and turn a POST into a GET.
  return { method, headers, redirect: "manual", ...(body !== undefined && { body: JSON.stringify(body) }) };
}

function parse(text: string | null): JsonValue | undefined {
  try {
    return JSON.parse(text ?? "") as JsonValue;
  } catch {
    return undefined;
  }
}
