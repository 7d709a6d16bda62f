/** node:http ⇄ the web's Request and Response, for what the production server answers without Next. */
import { type IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { type Duplex, Readable } from "node:stream";
import { finished } from "node:stream/promises";
import { AppError } from "#lib/errors";
import { logger } from "#lib/logger";
import { PEER_HEADER, rememberPeer } from "./client-ip";
import { answerServerOptions, dispatch, normalizePath, refuse } from "./operations";
import { COUNTED_HEADER, limitOfPage, refusePage } from "./page-limits";
import { isStandInPath, serveStandIn } from "./world-id-stand-in";

/** What the approval page posts to; the page itself is Next's. */
const approvalPost = /^\/approve\/[^/]+\/(?:world-id|proof|deny)$/;

/** Whether the table of operations answers this path; everything else is Next's. */
export function isDispatched(url: string, accept: string | undefined): boolean {
  const path = normalizePath(url.split("?")[0] ?? "/");
  if (path === "/dev/mailbox") return accept?.includes("application/json") ?? false;
  if (isStandInPath(path) || approvalPost.test(path)) return true;
  return (
    path.startsWith("/v1/") ||
    path === "/v1" ||
    path.startsWith("/log/") ||
    path === "/.well-known/jwks.json" ||
    path === "/verify.mjs" ||
    path === "/verify.mjs.sha256"
  );
}

/** What `Request` refuses to carry, and the name under which it gets the 405 of a method that nothing has. */
const forbiddenMethods = new Set(["CONNECT", "TRACE", "TRACK"]);
const unknownMethod = "UNKNOWN";

function toRequest(incoming: IncomingMessage): Request {
  const headers = new Headers();
  for (let i = 0; i < incoming.rawHeaders.length; i += 2) {
    headers.append(incoming.rawHeaders[i] ?? "", incoming.rawHeaders[i + 1] ?? "");
  }
  headers.delete(PEER_HEADER);
  const sent = incoming.method ?? "GET";
  const method = forbiddenMethods.has(sent) ? unknownMethod : sent;
  const hasBody = method !== "GET" && method !== "HEAD";
  const request = new Request(`http://localhost${(incoming.url ?? "/").replace(/^\/*/, "/")}`, {
    method,
    headers,
    ...(hasBody ? { body: Readable.toWeb(incoming) as ReadableStream<Uint8Array>, duplex: "half" } : {}),
  } as RequestInit);
  rememberPeer(request, incoming.socket.remoteAddress ?? "unknown");
  return request;
}

/** Never rejects. A client that goes away in the middle is nobody's error. */
export async function sendResponse(response: Response, outgoing: ServerResponse): Promise<void> {
  await send(response, outgoing).catch(() => outgoing.destroy());
}

async function send(response: Response, outgoing: ServerResponse): Promise<void> {
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  if (response.body === null) outgoing.end();
  else {
    Readable.fromWeb(response.body as Parameters<typeof Readable.fromWeb>[0]).pipe(outgoing);
    await finished(outgoing);
  }
}

/** Never rejects. A client that goes away in the middle is nobody's error. */
export async function serveDirectly(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  let response: Response;
  try {
    const request = toRequest(incoming);
    const isStandIn = isStandInPath(new URL(request.url).pathname);
    response = await (isStandIn ? serveStandIn(request) : dispatch(request));
  } catch (error) {
    logger.error({ err: error }, "a request could not be dispatched");
    outgoing.writeHead(500, { connection: "close" }).end();
    return;
  }
  await sendResponse(response, outgoing);
}

function isDecodable(path: string): boolean {
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}

function refuseMalformed({ method = "GET", url = "/" }: IncomingMessage): Promise<Response> | null {
  if (forbiddenMethods.has(method)) {
    const allow = "GET, HEAD, POST";
    return refuse(new AppError("method_not_allowed", `pages take ${allow}`, { headers: { allow } }));
  }
  if (url === "*" && method === "OPTIONS") return answerServerOptions();
  if (url.startsWith("/") && isDecodable(url.split("?")[0] ?? "")) return null;
  return refuse(new AppError("bad_request", "the path is not well-formed"));
}

/** Answers a request for a page in a way that Next would answer with 500; false: it is well-formed. */
export async function serveMalformed(incoming: IncomingMessage, outgoing: ServerResponse): Promise<boolean> {
  const refusal = refuseMalformed(incoming);
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
  const isRead = incoming.method === "GET" || incoming.method === "HEAD";
  const limit = isRead ? limitOfPage(incoming.url?.split("?")[0] ?? "/") : null;
  if (limit === null) return false;
  let refusal: Response | null;
  try {
    refusal = await refusePage(toRequest(incoming), limit);
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

/** Tells Next the socket's address in a header that only this process can write. */
export function vouchForPeer(incoming: IncomingMessage, peerSecret: string): void {
  incoming.headers[PEER_HEADER] = `${peerSecret} ${incoming.socket.remoteAddress ?? "unknown"}`;
}
