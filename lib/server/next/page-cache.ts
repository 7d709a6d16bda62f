/**
 * The guides and the API reference, made once: they are the same for everyone but for the colour theme and the nonce of
 * the Content-Security-Policy. Next renders each on the first request; the response is kept in memory while the process
 * lives, and never contains a record.
 */
import { randomBytes } from "node:crypto";
import { IncomingMessage, type OutgoingHttpHeaders, type ServerResponse } from "node:http";
import { gunzipSync } from "node:zlib";
import { enforceLimit, limitPolicy, readBytes } from "#lib/api/http/pipeline";
import { plainPage } from "#lib/api/http/plain-page";
import type { HttpResponse } from "#lib/api/http/problem";
import { clientAddress } from "#lib/api/http/rate-limit";
import type { LimitName } from "#lib/api/operations/operation";
import { AppError, describeError } from "#lib/errors";
import { refuse } from "#lib/server/operations";
import { getApp } from "#lib/server/singleton";
import { readRequest, sendResponse } from "./node-http";
import { createNonceTemplate, type NonceTemplate } from "./nonce-template";

/*
 * A page that Next has made, kept in memory to be answered again: the same but for the nonce of its
 * Content-Security-Policy, which is new in every answer.
 */

export interface KeptPage {
  readonly headers: OutgoingHttpHeaders;
  readonly nonce: string;
  readonly template: NonceTemplate;
}

const notKept = new Set([
  "date",
  "connection",
  "keep-alive",
  "transfer-encoding",
  "content-encoding",
  "content-length",
  "etag",
]);

export const themeOf = (cookie = "") => /(?:^|;\s*)theme=(light|dark)(?:;|$)/.exec(cookie)?.[1] ?? "system";

const acceptsGzip = (header = "") => /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i.test(header);

export function answerKept(kept: KeptPage, incoming: IncomingMessage, outgoing: ServerResponse): void {
  const nonce = randomBytes(18).toString("base64");
  const renew = (value: string) => value.replaceAll(kept.nonce, nonce);
  for (const [name, value] of Object.entries(kept.headers))
    if (value !== undefined)
      outgoing.setHeader(name, Array.isArray(value) ? value.map(renew) : renew(`${value}`));
  const zipped = acceptsGzip(incoming.headers["accept-encoding"]);
  if (zipped) outgoing.setHeader("Content-Encoding", "gzip");
  const body = zipped ? kept.template.gzip(nonce) : kept.template.plain(nonce);
  outgoing.setHeader("Content-Length", body.length);
  outgoing.writeHead(200).end(incoming.method === "HEAD" ? undefined : body);
}

/**
 * Strips the request that a kept page is made from: nothing in which visitors differ is left but the theme and how the
 * answer travels. `host`: that of PUBLIC_BASE_URL, under which every kept page is made.
 */
export function stripVisitorHeaders(incoming: IncomingMessage, host: string, path: string): void {
  const { "accept-encoding": coding, cookie, ...headers } = incoming.headers;
  const theme = themeOf(cookie);
  const own = Object.entries(headers).filter(([name]) => name.startsWith("x-countersign-"));
  incoming.headers = {
    ...Object.fromEntries(own),
    host,
    accept: "text/html",
    ...(coding !== undefined && { "accept-encoding": coding }),
    ...(theme !== "system" && { cookie: `theme=${theme}` }),
  };
  incoming.url = path;
  incoming.method = "GET";
}

/** Calls back with the page when the whole answer has left, if it is one to be kept; an answer cut short is none. */
export function collectPage(outgoing: ServerResponse, keep: (page: KeptPage) => void): void {
  const chunks: Buffer[] = [];
  const add = (chunk: unknown) => {
    if (typeof chunk === "string") chunks.push(Buffer.from(chunk));
    else if (chunk instanceof Uint8Array) chunks.push(Buffer.from(chunk));
  };
  let isWhole = false;
  const write = outgoing.write.bind(outgoing) as (...args: unknown[]) => boolean;
  const end = outgoing.end.bind(outgoing) as (...args: unknown[]) => ServerResponse;
  outgoing.write = (...args: unknown[]) => {
    add(args[0]);
    return write(...args);
  };
  outgoing.end = (...args: unknown[]) => {
    if (!isWhole) add(args[0]);
    isWhole = true;
    return end(...args);
  };
  outgoing.once("close", () => {
    const page = isWhole ? readPage(outgoing, Buffer.concat(chunks)) : null;
    if (page !== null) keep(page);
  });
}

/** As text; null for a coding that is not known here, and for what is not whole. */
function decode(body: Buffer, coding: unknown): string | null {
  if (coding === undefined) return body.toString();
  try {
    return coding === "gzip" ? gunzipSync(body).toString() : null;
  } catch {
    return null;
  }
}

function readPage(outgoing: ServerResponse, sent: Buffer): KeptPage | null {
  const policy = String(outgoing.getHeader("content-security-policy") ?? "");
  const nonce = /'nonce-([A-Za-z0-9+/]{24})'/.exec(policy)?.[1];
  const isPage = String(outgoing.getHeader("content-type")).startsWith("text/html");
  if (outgoing.statusCode !== 200 || !isPage || nonce === undefined || outgoing.hasHeader("set-cookie"))
    return null;
  const body = decode(sent, outgoing.getHeader("content-encoding"));
  if (body === null || !body.includes(nonce) || !body.trimEnd().endsWith("</html>")) return null;
  const headers = Object.entries(outgoing.getHeaders()).filter(([name]) => !notKept.has(name));
  return { headers: Object.fromEntries(headers), nonce, template: createNonceTemplate(body, nonce) };
}

export interface KeptPages {
  /** Answers from memory; false: Next has to make the page, and what it answers is kept. */
  serve(incoming: IncomingMessage, outgoing: ServerResponse): boolean;
}

const keepable = /^\/docs(?:\/(?:api\/)?[a-z-]+)?$/;
/** Three themes of some seventy pages; only a page that exists is kept. */
const maxKept = 300;

/** As the page is addressed by links; a query changes nothing in it. */
function pageOf(incoming: IncomingMessage): string | null {
  if (incoming.method !== "GET" && incoming.method !== "HEAD") return null;
  const path = decodeURIComponent((incoming.url ?? "/").split("?")[0] ?? "/");
  return keepable.test(path) ? path : null;
}

/** `host`: that of PUBLIC_BASE_URL. */
export function createKeptPages(host: string): KeptPages {
  const pages = new Map<string, KeptPage>();
  return {
    serve(incoming, outgoing) {
      const path = pageOf(incoming);
      if (path === null) return false;
      const key = `${path} ${themeOf(incoming.headers.cookie)}`;
      const known = pages.get(key);
      if (known !== undefined) {
        answerKept(known, incoming, outgoing);
        return true;
      }
      stripVisitorHeaders(incoming, host, path);
      collectPage(outgoing, (page) => {
        if (pages.size < maxKept) pages.set(key, page);
      });
      return false;
    },
  };
}

/*
 * The body of a request for a page, read before Next sees the request. Next would keep a body that is still being sent,
 * and a copy of it, for as long as the sender likes.
 */

const hasBody = ({ headers }: IncomingMessage) =>
  headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;

/** The same request, its body there from the beginning. */
function withBody(incoming: IncomingMessage, bytes: Uint8Array): IncomingMessage {
  const whole = new IncomingMessage(incoming.socket);
  const { method, url, httpVersion, httpVersionMajor, httpVersionMinor, rawHeaders, headers } = incoming;
  Object.assign(whole, { method, url, httpVersion, httpVersionMajor, httpVersionMinor, rawHeaders, headers });
  whole.complete = true;
  whole.push(bytes);
  whole.push(null);
  return whole;
}

/** Null: it was too large, too slow or cut off, and that has been answered. */
export async function receiveBody(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<IncomingMessage | null> {
  if (!hasBody(incoming)) return incoming;
  try {
    return withBody(incoming, await readBytes(readRequest(incoming)));
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    await sendResponse(await refuse(error), outgoing);
    return null;
  }
}

/*
 * Limits on pages and on everything else that Next answers, whatever the method. A page of Next cannot answer 429, so
 * the production server asks here before it hands a request to Next; if another host runs Next, proxy.ts asks.
 */

/** Set by the production server to the process's secret on requests that it has counted. */
export const COUNTED_HEADER = "x-countersign-counted";

/** An attestation's page and its image run a verification each; an agent's page and feeds read its attestations. */
const ownLimits: readonly [RegExp, LimitName][] = [
  [/^\/verify\/[^/]+\/[^/]+/, "verify"],
  [/^\/agent\/[^/]+/, "feed"],
  [/^\/badge\/[^/]+/, "verify"],
];

/** Null: the page has no limit of its own and counts with the other public reads. */
export function limitOfPage(pathname: string): LimitName | null {
  return ownLimits.find(([pattern]) => pattern.test(pathname))?.[1] ?? null;
}

/** For 429, and 503 if too many pages are waiting already. */
export function explainRefusal({ errorName, detail, headers }: AppError): HttpResponse {
  const seconds = headers["retry-after"] ?? "60";
  const isLimit = errorName === "rate_limit_exceeded";
  const reason = isLimit
    ? `Too many requests from your address (${detail.split(";")[0]}).`
    : "This server is busy.";
  return plainPage({
    status: describeError(errorName).status,
    title: isLimit ? "Too many requests" : "Busy",
    text: `${reason} Try again in ${seconds} seconds. There is nothing wrong with the page you requested.`,
    headers,
  });
}

async function countRequest(request: Request, name: LimitName): Promise<void> {
  const { context, env, peerSecret } = await getApp();
  const address = clientAddress(request, peerSecret, env);
  await enforceLimit(context, limitPolicy(env, name), address);
}

/** Counts the request; the 429 for a client that has used up the limit, else null. */
export async function refusePage(request: Request, name: LimitName): Promise<HttpResponse | null> {
  try {
    await countRequest(request, name);
    return null;
  } catch (error) {
    if (error instanceof AppError && error.errorName === "rate_limit_exceeded") return explainRefusal(error);
    throw error;
  }
}

/** For a page: counts a request that no production server has counted; throws 429. */
export async function countPage(headers: Headers, name: LimitName): Promise<void> {
  const { peerSecret } = await getApp();
  if (headers.get(COUNTED_HEADER) === peerSecret) return;
  await countRequest(new Request("http://page", { headers }), name);
}
