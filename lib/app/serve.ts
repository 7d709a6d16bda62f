/** node:http ⇄ the web's Request and Response, for what the production server answers without Next. */
import { type IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { type Duplex, Readable } from "node:stream";
import { finished } from "node:stream/promises";
import { clientAddress, PEER_HEADER, rememberPeer } from "#lib/door/client-ip";
import type { Answer, Asked } from "#lib/door/exchange";
import type { Env } from "#lib/env";
import { AppError } from "#lib/errors";
import { logger } from "#lib/logger";
import { getApp } from "./app";
import { answerAsked, answerServerOptions, isOperationPath, normalizePath, refuse } from "./operations";
import type { PageGate } from "./page-gate";
import { COUNTED_HEADER, explainRefusal, limitOfPage, refusePage } from "./page-limits";
import { peerOf } from "./peer";
import { isStandInPath, serveStandIn } from "./stand-in";

/** Whether the table of operations answers this path; everything else is Next's. */
export function isDispatched(url: string, accept: string | undefined): boolean {
  const path = normalizePath(url.split("?")[0] ?? "/");
  // The mailbox is a page too.
  if (path === "/dev/mailbox") return accept?.includes("application/json") ?? false;
  return isOperationPath(path) || isStandInPath(path);
}

/** What `Request` refuses to carry, and the name under which it gets the 405 of a method that nothing has. */
const forbiddenMethods = new Set(["CONNECT", "TRACE", "TRACK"]);
const unknownMethod = "UNKNOWN";

function readHeaders(incoming: IncomingMessage): Headers {
  const headers = new Headers();
  for (let i = 0; i < incoming.rawHeaders.length; i += 2) {
    headers.append(incoming.rawHeaders[i] ?? "", incoming.rawHeaders[i + 1] ?? "");
  }
  headers.delete(PEER_HEADER);
  return headers;
}

/**
 * The request without a Request. Headers that come more than once are joined, as Request joins them: Node itself would
 * drop all but the first of some.
 */
function toAsked(incoming: IncomingMessage): Asked {
  const get = (name: string) =>
    name === PEER_HEADER ? null : (incoming.headersDistinct[name]?.join(", ") ?? null);
  const announced = Number(incoming.headers["content-length"]);
  let body: Asked["body"];
  const asked: Asked = {
    method: incoming.method ?? "GET",
    url: `http://localhost${(incoming.url ?? "/").replace(/^\/*/, "/")}`,
    headers: { get, has: (name) => get(name) !== null },
    get body() {
      body ??= Readable.toWeb(incoming) as ReadableStream<Uint8Array>;
      return body;
    },
    ...(Number.isSafeInteger(announced) && { whole: { announced, read: () => readWhole(incoming) } }),
  };
  rememberPeer(asked, peerOf(incoming));
  return asked;
}

/** Node's parser holds a body to its announced length. */
function readWhole(incoming: IncomingMessage): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    if (incoming.destroyed) throw new Error("the connection was closed");
    const chunks: Buffer[] = [];
    let isWhole = false;
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.once("end", () => {
      isWhole = true;
      resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks));
    });
    incoming.once("error", reject);
    incoming.once("close", () => {
      if (!isWhole) reject(new Error("the connection was closed"));
    });
  });
}

/** Who asks: all that a limit needs of a request, whose body is left alone. */
function toBareRequest(incoming: IncomingMessage): Request {
  const request = new Request("http://localhost/", { headers: readHeaders(incoming) });
  rememberPeer(request, peerOf(incoming));
  return request;
}

function toRequest(incoming: IncomingMessage): Request {
  const headers = readHeaders(incoming);
  const sent = incoming.method ?? "GET";
  const method = forbiddenMethods.has(sent) ? unknownMethod : sent;
  const hasBody = method !== "GET" && method !== "HEAD";
  const request = new Request(`http://localhost${(incoming.url ?? "/").replace(/^\/*/, "/")}`, {
    method,
    headers,
    ...(hasBody ? { body: Readable.toWeb(incoming) as ReadableStream<Uint8Array>, duplex: "half" } : {}),
  } as RequestInit);
  rememberPeer(request, peerOf(incoming));
  return request;
}

/** Never rejects. A client that goes away in the middle is nobody's error. */
export async function sendAnswer(answer: Answer | Response, outgoing: ServerResponse): Promise<void> {
  await send(answer, outgoing).catch(() => outgoing.destroy());
}

function sendText({ status, headers, text }: Answer, outgoing: ServerResponse): void {
  if (text === null) {
    outgoing.writeHead(status, headers).end();
    return;
  }
  const body = Buffer.from(text);
  headers["content-length"] = String(body.length);
  outgoing.writeHead(status, headers).end(body);
}

async function send(response: Answer | Response, outgoing: ServerResponse): Promise<void> {
  if (!(response instanceof Response)) {
    sendText(response, outgoing);
    return;
  }
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  if (response.body === null) outgoing.end();
  else {
    Readable.fromWeb(response.body as Parameters<typeof Readable.fromWeb>[0]).pipe(outgoing);
    await finished(outgoing);
  }
}

/** Never rejects. A client that goes away in the middle is nobody's error. */
export async function serveDirectly(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  let answer: Answer | Response;
  try {
    answer = isStandInPath(pathOfTarget(incoming))
      ? await serveStandIn(toRequest(incoming))
      : await answerAsked(toAsked(incoming));
  } catch (error) {
    logger.error({ err: error }, "a request could not be dispatched");
    outgoing.writeHead(500, { connection: "close" }).end();
    return;
  }
  await sendAnswer(answer, outgoing);
}

const pathOfTarget = ({ url = "/" }: IncomingMessage) => normalizePath(url.split("?")[0] ?? "/");

function isDecodable(path: string): boolean {
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}

/** Of app/demo and app/notices. Their handlers read no body, and no page has these addresses. */
const isPlainForm = (path: string) =>
  /^\/(?:demo(?:\/[^/]+\/receipt)?|notices\/[^/]+\/(?:confirm|leave))$/.test(path);

/**
 * Only the portal, the demo and approvers' links have forms that Next takes; elsewhere it would decode what a stranger
 * posts, and render the page besides.
 */
function refuseMethod(method: string, path: string): Promise<Answer> | null {
  const takesForms = path === "/portal" || path.startsWith("/portal/") || isPlainForm(path);
  const isTaken = ["GET", "HEAD", "OPTIONS"].includes(method) || (method === "POST" && takesForms);
  if (isTaken) return null;
  const allow = takesForms || forbiddenMethods.has(method) ? "GET, HEAD, POST" : "GET, HEAD";
  return refuse(new AppError("method_not_allowed", `this path accepts ${allow}`, { headers: { allow } }));
}

/**
 * Of Next's own addresses only the build's files are served. The picture optimizer above all is not: it would keep
 * pictures of records beyond their erasure.
 */
const isForeignToBuild = (path: string, files: ReadonlySet<string>) =>
  /^\/_next(?:\/|$)/.test(path) && !files.has(path);

function refuseMalformed(incoming: IncomingMessage, files: ReadonlySet<string>): Promise<Answer> | null {
  const { method = "GET", url = "/" } = incoming;
  if (url === "*" && method === "OPTIONS") return answerServerOptions();
  const isSound = url.startsWith("/") && isDecodable(url.split("?")[0] ?? "");
  if (!isSound && !forbiddenMethods.has(method))
    return refuse(new AppError("bad_request", "the path is malformed"));
  const path = isSound ? pathOf(incoming) : "/";
  if (isForeignToBuild(path, files)) return refuse(new AppError("not_found", "nothing exists at this path"));
  return refuseMethod(method, path);
}

/** As Next matches it, so that no other spelling of an address has another limit. */
function pathOf({ url = "/" }: IncomingMessage): string {
  return normalizePath(decodeURIComponent(url.split("?")[0] ?? "/"));
}

/**
 * Answers a request for a page in a way that Next would answer with 500, or should not see; false: it is well-formed.
 * `files`: the addresses of the build's files.
 */
export async function serveMalformed(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  files: ReadonlySet<string> = new Set(),
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
  let refusal: Response | null;
  try {
    refusal = await refusePage(toBareRequest(incoming), limitOfPage(pathOf(incoming)) ?? "public_read");
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

/** Of the client, as limits and turns count it. */
export const addressOf = (incoming: IncomingMessage, peerSecret: string, env: Env): string =>
  clientAddress(toBareRequest(incoming), peerSecret, env);

/** Hands a request to Next when it is its address's turn; says so if too many wait. */
export async function serveInTurn(
  gate: PageGate,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  handlePage: (incoming: IncomingMessage, outgoing: ServerResponse) => Promise<void>,
): Promise<void> {
  const { env, peerSecret } = await getApp();
  const address = addressOf(incoming, peerSecret, env);
  try {
    await gate.run(address, outgoing, () => handlePage(incoming, outgoing));
  } catch (error) {
    if (!(error instanceof AppError) || outgoing.headersSent) throw error;
    await send(explainRefusal(error), outgoing);
  }
}
