/**
 * Public pages are rendered once a minute for all visitors. Of those that show records (attestations, agents, the landing
 * page's example) every visit reads and verifies the stored bytes, which costs a twentieth of rendering, and the page is
 * answered again only while every byte that it is made from is the same: after an erasure, a revoked key or a changed row
 * the very next visit gets another page. Guides and the API reference are made from nothing that changes.
 */
import { createHash, randomBytes } from "node:crypto";
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import { constants, gunzipSync, gzipSync } from "node:zlib";
import { LRUCache } from "lru-cache";

/** Names what is handed over to the page that Next renders. Clients can't guess it. */
export const HANDED_OVER_HEADER = "x-countersign-handed-over";

interface KeptPage {
  readonly headers: OutgoingHttpHeaders;
  readonly nonce: string;
  readonly body: string;
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

const readTheme = (cookie = "") => /(?:^|;\s*)theme=(light|dark)(?:;|$)/.exec(cookie)?.[1] ?? "system";

const acceptsGzip = (header = "") => /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i.test(header);

/** The same page, but for the nonce of its Content-Security-Policy, which is new in every answer. */
function answerKept(kept: KeptPage, incoming: IncomingMessage, outgoing: ServerResponse): void {
  const nonce = randomBytes(18).toString("base64");
  const renew = (value: string) => value.replaceAll(kept.nonce, nonce);
  for (const [name, value] of Object.entries(kept.headers))
    if (value !== undefined)
      outgoing.setHeader(name, Array.isArray(value) ? value.map(renew) : renew(`${value}`));
  const zipped = acceptsGzip(incoming.headers["accept-encoding"]);
  if (zipped) outgoing.setHeader("Content-Encoding", "gzip");
  const plain = Buffer.from(renew(kept.body));
  const body = zipped ? gzipSync(plain, { level: constants.Z_BEST_SPEED }) : plain;
  outgoing.setHeader("Content-Length", body.length);
  outgoing.writeHead(200).end(incoming.method === "HEAD" ? undefined : body);
}

/**
 * Strips the request that a kept page is made from: nothing in which visitors differ is left but the theme and how the
 * answer travels. `host`: that of PUBLIC_BASE_URL, under which every kept page is made.
 */
function stripVisitorHeaders(incoming: IncomingMessage, host: string, path: string): void {
  const { "accept-encoding": coding, cookie, ...headers } = incoming.headers;
  const theme = readTheme(cookie);
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
function collectPage(outgoing: ServerResponse, keep: (page: KeptPage) => void): void {
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

/** Decodes to text; null for an unknown coding, and for an incomplete body. */
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
  return { headers: Object.fromEntries(headers), nonce, body };
}

export interface PageCache {
  /** Answers; false: Next has to make the page, from what is handed over, and what it answers is kept. */
  serve(incoming: IncomingMessage, outgoing: ServerResponse): Promise<boolean>;
}

export interface PreloadedData {
  loading: Promise<unknown>;
  sinceMs: number;
  loadAgain(): Promise<unknown>;
  isTaken: boolean;
}

/** A page may wait for its turn, and what it shows may be erased meanwhile: what is older is loaded again. */
const freshMs = 1_000;

/** Takes the data that a page is made from; null if no server has preloaded any. */
export function takePreloadedData<Value>(
  { handedOver }: { handedOver: ReadonlyMap<string, PreloadedData> },
  headers: Pick<Headers, "get">,
  nowMs: number = performance.now(),
): Promise<Value> | null {
  const found = handedOver.get(headers.get(HANDED_OVER_HEADER) ?? "");
  if (found === undefined) return null;
  found.isTaken = nowMs - found.sinceMs <= freshMs;
  return (found.isTaken ? found.loading : found.loadAgain()) as Promise<Value>;
}

interface View {
  pattern: RegExp;
  load?(name: string, incoming: IncomingMessage): Promise<unknown>;
}

export interface PageCacheOptions {
  host: string;
  views: readonly View[];
  handedOver: Map<string, PreloadedData>;
  /** Same clock as performance.now(). */
  nowMs(): number;
}

interface Kept {
  digest: string;
  page: KeptPage;
}

/** Limit that amounts to some 30 MB. */
const maxKept = 200;
const maxAgeMs = 60_000;

/** Loads what the page is made from; null for what Next answers with something else than the page. */
function findLoad(views: readonly View[], incoming: IncomingMessage) {
  const { method, url = "/", headers } = incoming;
  if ((method !== "GET" && method !== "HEAD") || headers["rsc"] !== undefined) return null;
  for (const { pattern, load } of views) {
    const found = pattern.exec(url);
    if (found === null) continue;
    return { isFixed: load === undefined, load: async () => load?.(found[1] ?? "", incoming) ?? null };
  }
  return null;
}

const digestJson = (value: unknown) => createHash("sha256").update(JSON.stringify(value)).digest("base64");

export function createPageCache({ host, views, handedOver, nowMs }: PageCacheOptions): PageCache {
  const pages = new LRUCache<string, Kept>({
    max: maxKept,
    ttl: maxAgeMs,
    ttlResolution: 0,
    ttlAutopurge: true,
    perf: { now: nowMs },
  });

  function handOver(incoming: IncomingMessage, outgoing: ServerResponse, made: PreloadedData): void {
    const name = randomBytes(16).toString("hex");
    handedOver.set(name, made);
    outgoing.once("close", () => handedOver.delete(name));
    incoming.headers[HANDED_OVER_HEADER] = name;
  }

  return {
    async serve(incoming, outgoing) {
      delete incoming.headers[HANDED_OVER_HEADER];
      const view = findLoad(views, incoming);
      if (view === null) return false;
      const { isFixed, load } = view;
      const loading = load();
      const key = `${incoming.url} ${readTheme(incoming.headers.cookie)}`;
      const digest = await loading.then(digestJson, () => null);
      const known = pages.get(key);
      if (known !== undefined && known.digest === digest) {
        answerKept(known.page, incoming, outgoing);
        return true;
      }
      pages.delete(key);
      // Counted from when it was loaded: a page doesn't wait twice for what takes long, or fails.
      const made = { loading, sinceMs: nowMs(), loadAgain: load, isTaken: isFixed };
      if (!isFixed) handOver(incoming, outgoing, made);
      if (digest === null) return false;
      stripVisitorHeaders(incoming, host, incoming.url ?? "/");
      collectPage(outgoing, (page) => {
        if (made.isTaken) pages.set(key, { digest, page }, { start: made.sinceMs });
      });
      return false;
    },
  };
}
