/** Requests for pages, before Next sees them: what is malformed or over its limit is answered here, and the rest in turn. */
import { type IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { HttpResponse } from "#lib/api/http/problem";
import { clientAddress, rememberPeer } from "#lib/api/http/rate-limit";
import type { Env } from "#lib/env";
import { AppError } from "#lib/errors";
import { answerServerOptions, normalizePath, refuse } from "#lib/server/operations";
import { getApp } from "#lib/server/singleton";
import { forbiddenMethods, readHeaders, readPeer, send } from "./node-http";
import { COUNTED_HEADER, explainRefusal, limitOfPage, refusePage } from "./page-limits";
import type { RenderQueue } from "./render-limiter";

/** Copies everything that a limit needs of a request, whose body is left alone. */
function toBareRequest(incoming: IncomingMessage): Request {
  const request = new Request("http://localhost/", { headers: readHeaders(incoming) });
  rememberPeer(request, readPeer(incoming));
  return request;
}

export function isDecodable(path: string): boolean {
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}

/** POST addresses of files of app outside of the portal: they read no body, or one that is bounded, and no page has them. */
const plainForms = [
  /^\/api\/auth\/backchannel-logout$/,
  /^\/demo(?:\/[^/]+\/receipt)?$/,
  /^\/notices\/[^/]+\/(?:confirm|devices|leave|passkey-link|passkeys)$/,
  /^\/opened\/[^/]+\/file$/,
];

/** Refuses other methods: Next would decode what a stranger posts, and render the page besides. */
function refuseMethod(method: string, path: string): Promise<HttpResponse> | null {
  const takesForms =
    path === "/portal" || path.startsWith("/portal/") || plainForms.some((form) => form.test(path));
  const isTaken = ["GET", "HEAD", "OPTIONS"].includes(method) || (method === "POST" && takesForms);
  if (isTaken) return null;
  const allow = takesForms || forbiddenMethods.has(method) ? "GET, HEAD, POST" : "GET, HEAD";
  return refuse(new AppError("method_not_allowed", `this path accepts ${allow}`, { headers: { allow } }));
}

/**
 * Build's files are all that is served of Next's own addresses. The picture optimizer above all is not: it would keep
 * pictures of records beyond their erasure.
 */
const isForeignToBuild = (path: string, files: ReadonlySet<string> | undefined) =>
  files !== undefined && /^\/_next(?:\/|$)/.test(path) && !files.has(path);

/** Browsers resolve them before they ask (RFC 3986, section 5.2.4); Next does it at one place and not at another. */
const hasDotSegment = (url: string) => /\/\.{1,2}(?:\/|$)/.test(decodeURIComponent(url.split("?")[0] ?? ""));

function refuseMalformed(
  incoming: IncomingMessage,
  files?: ReadonlySet<string>,
): Promise<HttpResponse> | null {
  const { method = "GET", url = "/" } = incoming;
  if (url === "*" && method === "OPTIONS") return answerServerOptions();
  const isSound = url.startsWith("/") && isDecodable(url.split("?")[0] ?? "") && !hasDotSegment(url);
  if (!isSound && !forbiddenMethods.has(method))
    return refuse(new AppError("bad_request", "the path is malformed"));
  const path = isSound ? readPath(incoming) : "/";
  if (isForeignToBuild(path, files)) return refuse(new AppError("not_found", "nothing exists at this path"));
  return refuseMethod(method, path);
}

/** Path as Next matches it, so that no other spelling of an address has another limit. */
function readPath({ url = "/" }: IncomingMessage): string {
  return normalizePath(decodeURIComponent(url.split("?")[0] ?? "/"));
}

/**
 * Answers a request for a page in a way that Next would answer with 500, or should not see; false: it is well-formed.
 * `files`: the addresses of the build's files, if
 * no others of Next's own are served.
 */
export async function serveMalformed(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  files?: ReadonlySet<string>,
): Promise<boolean> {
  const refusal = refuseMalformed(incoming, files);
  if (refusal === null) return false;
  await send(await refusal, outgoing);
  return true;
}

/** Node hands over CONNECT with the bare socket. */
export async function refuseConnect(incoming: IncomingMessage, socket: Duplex): Promise<void> {
  socket.on("error", () => socket.destroy());
  const outgoing = new ServerResponse(incoming);
  outgoing.shouldKeepAlive = false;
  outgoing.assignSocket(socket as Socket);
  outgoing.once("finish", () => socket.end());
  await serveMalformed(incoming, outgoing).catch(() => socket.destroy());
}

/** Answers a page's request that is over its limit; false: it is Next's to answer. */
export async function serveRefusal(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  peerSecret: string,
): Promise<boolean> {
  delete incoming.headers[COUNTED_HEADER];
  let refusal: HttpResponse | null;
  try {
    refusal = await refusePage(toBareRequest(incoming), limitOfPage(readPath(incoming)) ?? "public_read");
  } catch {
    // The counter is out of reach: the page will find that out too, and says so.
    return false;
  }
  if (refusal === null) {
    incoming.headers[COUNTED_HEADER] = peerSecret;
    return false;
  }
  await send(refusal, outgoing);
  return true;
}

export const readClientAddress = (incoming: IncomingMessage, peerSecret: string, env: Env): string =>
  clientAddress(toBareRequest(incoming), peerSecret, env);

/** Hands a request to Next when it is its address's turn; says so if too many wait. */
export async function serveInTurn(
  gate: RenderQueue,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  handlePage: (incoming: IncomingMessage, outgoing: ServerResponse) => Promise<void>,
): Promise<void> {
  const { env, peerSecret } = await getApp();
  const address = readClientAddress(incoming, peerSecret, env);
  try {
    await gate.run(address, outgoing, () => handlePage(incoming, outgoing));
  } catch (error) {
    if (!(error instanceof AppError) || outgoing.headersSent) throw error;
    await send(explainRefusal(error), outgoing);
  }
}
