/**
 * The guides and the API reference, made once: they are the same for everyone but for the colour theme and the nonce of
 * the Content-Security-Policy, which is new in every answer. Next renders each on the first request; the response is
 * kept in memory while the process lives, and never contains a record.
 */
import { randomBytes } from "node:crypto";
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import { createNonceTemplate, type NonceTemplate } from "./nonce-template";

interface KeptPage {
  readonly headers: OutgoingHttpHeaders;
  readonly nonce: string;
  readonly template: NonceTemplate;
}

export interface KeptPages {
  /** Answers from memory; false: Next has to make the page, and what it answers is kept. */
  serve(incoming: IncomingMessage, outgoing: ServerResponse): boolean;
}

const keepable = /^\/docs(?:\/(?:api\/)?[a-z-]+)?$/;
/** Three themes of some seventy pages; only a page that exists is kept. */
const maxKept = 300;
const notKept = new Set(["date", "connection", "keep-alive", "transfer-encoding", "content-length", "etag"]);

const themeOf = (cookie = "") => /(?:^|;\s*)theme=(light|dark)(?:;|$)/.exec(cookie)?.[1] ?? "system";

/** As the page is addressed by links; a query changes nothing in it. */
function pageOf(incoming: IncomingMessage): string | null {
  if (incoming.method !== "GET" && incoming.method !== "HEAD") return null;
  const path = decodeURIComponent((incoming.url ?? "/").split("?")[0] ?? "/");
  return keepable.test(path) ? path : null;
}

const acceptsGzip = (header = "") => /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i.test(header);

function answer(kept: KeptPage, incoming: IncomingMessage, outgoing: ServerResponse): void {
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

/** What Next sees of the request that the kept page is made from: nothing in which visitors differ but the theme. */
function makeImpersonal(incoming: IncomingMessage, host: string, path: string, theme: string): void {
  const own = Object.entries(incoming.headers).filter(([name]) => name.startsWith("x-countersign-"));
  incoming.headers = { ...Object.fromEntries(own), host };
  if (theme !== "system") incoming.headers.cookie = `theme=${theme}`;
  incoming.url = path;
  incoming.method = "GET";
}

/** Calls `keep` with the whole answer when it has left; an answer that is cut short is none. */
function collect(outgoing: ServerResponse, keep: (body: string) => void): void {
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
    if (isWhole) keep(Buffer.concat(chunks).toString());
  });
}

function readKept(outgoing: ServerResponse, body: string): KeptPage | null {
  const policy = String(outgoing.getHeader("content-security-policy") ?? "");
  const nonce = /'nonce-([A-Za-z0-9+/]{24})'/.exec(policy)?.[1];
  const isPage = String(outgoing.getHeader("content-type")).startsWith("text/html");
  if (outgoing.statusCode !== 200 || !isPage || nonce === undefined) return null;
  if (outgoing.hasHeader("content-encoding") || outgoing.hasHeader("set-cookie")) return null;
  if (!body.includes(nonce) || !body.trimEnd().endsWith("</html>")) return null;
  const headers = Object.entries(outgoing.getHeaders()).filter(([name]) => !notKept.has(name));
  return { headers: Object.fromEntries(headers), nonce, template: createNonceTemplate(body, nonce) };
}

/** `host`: that of PUBLIC_BASE_URL, under which every kept page is made. */
export function createKeptPages(host: string): KeptPages {
  const pages = new Map<string, KeptPage>();
  return {
    serve(incoming, outgoing) {
      const path = pageOf(incoming);
      if (path === null) return false;
      const theme = themeOf(incoming.headers.cookie);
      const key = `${path} ${theme}`;
      const known = pages.get(key);
      if (known !== undefined) {
        answer(known, incoming, outgoing);
        return true;
      }
      makeImpersonal(incoming, host, path, theme);
      collect(outgoing, (body) => {
        const kept = readKept(outgoing, body);
        if (kept !== null && pages.size < maxKept) pages.set(key, kept);
      });
      return false;
    },
  };
}
