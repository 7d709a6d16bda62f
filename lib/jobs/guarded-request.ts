/**
 * Requests to a host that a stranger named. The connection goes to the very address that was checked, through the operator's
 * proxy (HTTPS_PROXY) too, so a name cannot resolve to another one in between; redirects are not followed, and no more of the
 * answer is read than was asked for.
 */

import { type LookupAddress, Resolver } from "node:dns";
import { type IncomingHttpHeaders, type IncomingMessage, request as requestHttp } from "node:http";
import { type RequestOptions, request as requestHttps } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import { Readable } from "node:stream";
import ipaddr from "ipaddr.js";
import { fieldError } from "#lib/errors";
import { findProxyAgent } from "#lib/platform/node-fetch";
import { readAtMost } from "#lib/protocol/encoding/read-stream";
import { isLoopbackName } from "#lib/protocol/text/host";

/*
 * Addresses to which this service may send what others ask it to send (server-side request forgery, OWASP SSRF cheat sheet):
 * public ones, over https. A name is judged again by what it resolves to, when the connection is made.
 */

/** Receivers on this machine are for trying it at home. */
interface ReceiverSettings {
  worldId: "local" | "portal" | "none";
  WEBHOOK_ALLOWED_HOSTS: readonly string[];
}

export const mayReachLoopback = ({ worldId }: Pick<ReceiverSettings, "worldId">): boolean =>
  worldId === "local";

const globalUnicast: [ipaddr.IPv6, number] = [ipaddr.IPv6.parse("2000::"), 3];
const nat64: [ipaddr.IPv6, number] = [ipaddr.IPv6.parse("64:ff9b::"), 96];

/**
 * Addresses that hold an IPv4 address (mapped, 6to4, Teredo) lead wherever that leads: none passes. Those of NAT64
 * (RFC 6052, 64:ff9b::/96) are how a network with DNS64 names a host that has IPv4 alone, and are as good as that.
 */
export function isReachable(address: string, mayBeLoopback: boolean): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.parse(address);
  if (parsed instanceof ipaddr.IPv6 && parsed.match(nat64))
    return isReachable(parsed.toByteArray().slice(-4).join("."), false);
  const range = parsed.range();
  if (range === "loopback") return mayBeLoopback;
  if (range !== "unicast") return false;
  return parsed instanceof ipaddr.IPv6 ? parsed.match(globalUnicast) : true;
}

/** Bytes of an IPv6 address that hold the IPv4 address, by the length of NAT64's prefix in bits (RFC 6052, 2.2). */
const embeddings: readonly (readonly [number, readonly number[]])[] = [
  [32, [4, 5, 6, 7]],
  [40, [5, 6, 7, 9]],
  [48, [6, 7, 9, 10]],
  [56, [7, 9, 10, 11]],
  [64, [9, 10, 11, 12]],
  [96, [12, 13, 14, 15]],
];

const readIpv4 = (address: ipaddr.IPv6, at: readonly number[]) => {
  const bytes = address.toByteArray();
  return at.map((byte) => bytes[byte]).join(".");
};

/**
 * Addresses inside which the network's NAT64 leads, for those below its own prefix. `probes`: what the name ipv4only.arpa
 * resolves to there, which has 192.0.0.170 and 192.0.0.171 alone (RFC 7050).
 */
export function listTranslated(address: string, probes: readonly string[]): string[] {
  if (!ipaddr.IPv6.isValid(address)) return [];
  const judged = ipaddr.IPv6.parse(address);
  return probes
    .filter((probe) => ipaddr.IPv6.isValid(probe))
    .map((probe) => ipaddr.IPv6.parse(probe))
    .flatMap((probe) =>
      embeddings
        .filter(([bits, at]) => /^192\.0\.0\.17[01]$/.test(readIpv4(probe, at)) && judged.match(probe, bits))
        .map(([, at]) => readIpv4(judged, at)),
    );
}

/**
 * Returns why nothing may be sent there; null if it may, as far as the text says. `URL` writes each form of an address as one.
 */
export function findUrlProblem(
  text: string,
  mayBeLoopback: boolean,
  allowedHosts: readonly string[] = [],
): string | null {
  const { protocol, hostname, username, password } = new URL(text);
  const host = hostname.replace(/^\[(.*)\]$/, "$1").replace(/\.$/, "");
  const isAddress = ipaddr.isValid(host);
  const isLoopback = isAddress ? ipaddr.parse(host).range() === "loopback" : isLoopbackName(host);
  if (username !== "" || password !== "") return "must not contain a user name or password";
  if (protocol !== "https:" && !(isLoopback && mayBeLoopback)) return "must be an https URL";
  if (allowedHosts.includes(host)) return null;
  const isRefused = isAddress ? !isReachable(host, mayBeLoopback) : isLoopback && !mayBeLoopback;
  return isRefused ? "must lead to a public address" : null;
}

export function requireReceiver(
  { settings }: { settings: ReceiverSettings },
  field: string,
  url: string | null | undefined,
): void {
  const problem =
    typeof url === "string"
      ? findUrlProblem(url, mayReachLoopback(settings), settings.WEBHOOK_ALLOWED_HOSTS)
      : null;
  if (problem !== null) throw fieldError("validation_error", field, problem);
}

export type Resolve = (
  hostname: string,
  done: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

export interface GuardedRequest {
  method: "GET" | "POST";
  url: string;
  headers: Record<string, string>;
  body?: string | Uint8Array;
  mayBeLoopback: boolean;
  /** Hosts that the operator has named: their addresses may be private. */
  allowedHosts?: readonly string[];
  timeoutMs: number;
  resolve?: Resolve;
  /** 0: nothing of the answer's body is read. */
  maxBytes: number;
}

export type GuardedAnswer =
  /** `text`: null if it is longer than `maxBytes`. */
  | { status: number; headers: IncomingHttpHeaders; text: string | null }
  /** `problem`: why there was no answer. `code`: Node's own, if it has one. */
  | { status: null; problem: string; code: string | null };

class Refused extends Error {}

const loopback = [
  { address: "127.0.0.1", family: 4 },
  { address: "::1", family: 6 },
];

/** Avoids `dns.lookup`: slow name servers would take the few threads that files are read on. */
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

/** Throws unless all are public, and so is where the network's NAT64 leads from them. */
async function requireReachable(addresses: readonly string[], resolve: Resolve, mayBeLoopback: boolean) {
  const isTranslatable = addresses.some((address) => isIP(address) === 6 && isReachable(address, false));
  const probes = isTranslatable
    ? await new Promise<string[]>((done) =>
        resolve("ipv4only.arpa", (_error, found) => done((found ?? []).map(({ address }) => address))),
      )
    : [];
  const isFine = addresses.every(
    (address) =>
      isReachable(address, mayBeLoopback) &&
      listTranslated(address, probes).every((inner) => isReachable(inner, false)),
  );
  if (!isFine) throw new Refused("its name leads to an address that is not public");
}

const insideRanges = new Set(["unicast", "private", "uniqueLocal", "carrierGradeNat", "loopback"]);

/** Checks addresses of a host that the operator has named. Link-local ones, such as a cloud's metadata, are never meant. */
function requireInside(addresses: readonly string[]): void {
  if (!addresses.every((address) => insideRanges.has(ipaddr.process(address).range())))
    throw new Refused("its name leads to a link-local or reserved address");
}

type Judge = (addresses: readonly string[]) => Promise<void>;

/** Replaces the connection's own look-up. One refused address refuses them all. */
function checkedLookup(resolve: Resolve, judge: Judge): LookupFunction {
  return (hostname, options, callback) =>
    resolve(hostname, (error, addresses) => {
      const [first] = addresses ?? [];
      if (error !== null || first === undefined) return callback(error ?? new Error("no address"), "", 0);
      const found = addresses.map(({ address }) => address);
      judge(found).then(
        () => (options.all ? callback(null, addresses) : callback(null, first.address, first.family)),
        (refusal: Error) => callback(refusal, "", 0),
      );
    });
}

/** Codes are Node's own (ECONNREFUSED, CERT_HAS_EXPIRED, …); an error's other words may say more than a user should read. */
function failed(error: unknown): GuardedAnswer {
  if (error instanceof Refused) return { status: null, problem: error.message, code: null };
  const { name, code = null } = error as NodeJS.ErrnoException;
  const problem =
    name === "TimeoutError" || name === "AbortError"
      ? "no answer in time"
      : `no connection (${code ?? "unknown"})`;
  return { status: null, problem, code };
}

async function readText(response: IncomingMessage, maxBytes: number): Promise<string | null> {
  const stream = Readable.toWeb(response) as ReadableStream<Uint8Array>;
  const bytes = await readAtMost(stream, maxBytes, () => response.destroy());
  return bytes && new TextDecoder().decode(bytes);
}

/** A proxy would resolve a name by itself: it is asked for an address that was checked here. */
async function chooseRoute({
  url,
  mayBeLoopback,
  allowedHosts = [],
  resolve = resolveAll,
}: GuardedRequest): Promise<RequestOptions> {
  const agent = findProxyAgent(url);
  const { hostname } = new URL(url);
  const literal = hostname.replace(/^\[(.*)\]$/, "$1");
  const isAddress = isIP(literal) !== 0;
  const judge: Judge = allowedHosts.includes(literal.replace(/\.$/, ""))
    ? async (addresses) => requireInside(addresses)
    : (addresses) => requireReachable(addresses, resolve, mayBeLoopback);
  if (isAddress) await judge([literal]);
  const lookup = checkedLookup(resolve, judge);
  if (agent === undefined) return { lookup, agent: false };
  if (isAddress) return { agent };
  const address = await new Promise<string>((done, fail) =>
    lookup(hostname, {}, (error, found) => (error === null ? done(String(found)) : fail(error))),
  );
  return { agent, hostname: address, servername: hostname };
}

async function send(asked: GuardedRequest): Promise<GuardedAnswer> {
  const { method, url, headers, body, timeoutMs, maxBytes } = asked;
  const { protocol, host } = new URL(url);
  const start = protocol === "https:" ? requestHttps : requestHttp;
  const signal = AbortSignal.timeout(timeoutMs);
  const route = await chooseRoute(asked);
  const length = body === undefined ? {} : { "content-length": Buffer.byteLength(body) };
  const response = await new Promise<IncomingMessage>((done, fail) => {
    const request = start(url, { method, headers: { ...headers, host, ...length }, ...route, signal });
    request.once("response", (answer) => {
      done(answer);
      if (maxBytes === 0) answer.destroy();
    });
    request.on("error", fail);
    // Closed without response or error: Node does so after 101.
    request.once("close", () => fail(new Refused("it closed the connection without an answer")));
    request.end(body);
  });
  const text = maxBytes === 0 ? "" : await readText(response, maxBytes);
  return { status: response.statusCode ?? 0, headers: response.headers, text };
}

export async function requestGuarded(asked: GuardedRequest): Promise<GuardedAnswer> {
  const refusal = findUrlProblem(asked.url, asked.mayBeLoopback, asked.allowedHosts);
  if (refusal !== null) return { status: null, problem: `its URL ${refusal}`, code: null };
  return send(asked).catch(failed);
}
