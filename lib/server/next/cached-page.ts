/**
 * A page that Next has made, kept in memory to be answered again: the same but for the nonce of its
 * Content-Security-Policy, which is new in every answer.
 */
import { randomBytes } from "node:crypto";
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import { gunzipSync } from "node:zlib";
import { createNonceTemplate, type NonceTemplate } from "./nonce-template";

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
export function makeImpersonal(incoming: IncomingMessage, host: string, path: string): void {
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
