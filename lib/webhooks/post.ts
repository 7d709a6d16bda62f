/**
 * One POST to a receiver that nobody vouches for. It is connected to by the very address that was checked, so a name
 * cannot resolve to another one in between; redirects are not followed, and nothing of the answer's body is read.
 */
import { type LookupAddress, Resolver } from "node:dns";
import { type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import type { LookupFunction } from "node:net";
import { isLoopbackName } from "#lib/domain/host";
import { findUrlProblem, isReachable } from "#lib/door/receiver-url";
import { readRetryAfter } from "./schedule";

/** Every address of a name. */
export type Resolve = (
  hostname: string,
  done: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

export interface Posting {
  url: string;
  body: string;
  headers: Record<string, string>;
  /** Whether a receiver on this machine will do. */
  mayBeLoopback: boolean;
  nowMs: number;
  timeoutMs?: number;
  resolve?: Resolve;
}

export interface PostResult {
  /** Null if there was no answer. */
  status: number | null;
  /** Why it did not arrive; null if it did. */
  problem: string | null;
  retryAfterSeconds: number | null;
}

const usualTimeoutMs = 15_000;

class Refused extends Error {}

const loopback = [
  { address: "127.0.0.1", family: 4 },
  { address: "::1", family: 6 },
];

/** Not `dns.lookup`: slow name servers would take the few threads that files are read on. */
const resolveAll: Resolve = (hostname, done) => {
  if (isLoopbackName(hostname)) return done(null, loopback);
  const resolver = new Resolver({ timeout: 5_000, tries: 2 });
  resolver.resolve4(hostname, (error4, four) =>
    resolver.resolve6(hostname, (error6, six) => {
      const found = [
        ...(error4 ? [] : four.map((address) => ({ address, family: 4 }))),
        ...(error6 ? [] : six.map((address) => ({ address, family: 6 }))),
      ];
      done(found.length === 0 ? (error4 ?? error6) : null, found);
    }),
  );
};

/** In place of the connection's own look-up. One address that is not public refuses them all. */
function checkedLookup(resolve: Resolve, mayBeLoopback: boolean): LookupFunction {
  return (hostname, options, callback) =>
    resolve(hostname, (error, addresses) => {
      const [first] = addresses ?? [];
      if (error !== null || first === undefined) return callback(error ?? new Error("no address"), "", 0);
      if (!addresses.every(({ address }) => isReachable(address, mayBeLoopback)))
        return callback(new Refused("its name leads to an address that is not public"), "", 0);
      if (options.all) return callback(null, addresses);
      return callback(null, first.address, first.family);
    });
}

/** Codes are Node's own (ECONNREFUSED, CERT_HAS_EXPIRED, …); an error's other words may say more than a user should read. */
function explain(error: unknown): string {
  if (error instanceof Refused) return error.message;
  const { name, code } = error as NodeJS.ErrnoException;
  return name === "TimeoutError" || name === "AbortError"
    ? "no answer in time"
    : `no connection (${code ?? "unknown"})`;
}

const failed = (problem: string): PostResult => ({ status: null, problem, retryAfterSeconds: null });

/** Resolves with whatever happened. */
export async function post(posting: Posting): Promise<PostResult> {
  const {
    url,
    body,
    headers,
    mayBeLoopback,
    nowMs,
    timeoutMs = usualTimeoutMs,
    resolve = resolveAll,
  } = posting;
  const refusal = findUrlProblem(url, mayBeLoopback);
  if (refusal !== null) return failed(`its URL ${refusal}`);
  const send = new URL(url).protocol === "https:" ? requestHttps : requestHttp;
  try {
    const { statusCode = 0, headers: answered } = await new Promise<IncomingMessage>((done, fail) => {
      const request = send(url, {
        method: "POST",
        headers: { ...headers, "content-length": Buffer.byteLength(body) },
        lookup: checkedLookup(resolve, mayBeLoopback),
        agent: false,
        signal: AbortSignal.timeout(timeoutMs),
      });
      request.once("response", (response) => {
        done(response);
        response.destroy();
      });
      request.on("error", fail);
      request.end(body);
    });
    const isAccepted = statusCode >= 200 && statusCode < 300;
    return {
      status: statusCode,
      problem: isAccepted ? null : `HTTP ${statusCode}`,
      retryAfterSeconds: readRetryAfter(answered["retry-after"], nowMs),
    };
  } catch (error) {
    return failed(explain(error));
  }
}
