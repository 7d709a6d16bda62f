/** node:http ⇄ the web's Request and Response, for what the production server answers without Next. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { HttpRequest, HttpResponse } from "#lib/api/http/problem";
import {
  clientAddress,
  isFromThisMachine,
  PEER_HEADER,
  peerFromHeader,
  rememberPeer,
} from "#lib/api/http/rate-limit";
import { logger } from "#lib/logger";
import { isStandInPath, serveStandIn } from "#lib/server/emulators";
import { handleRequest, isOperationPath, normalizePath } from "#lib/server/operations";
import type { App } from "#lib/server/singleton";

/*
 * The address at the other end of the client's connection. Another process of the server, and Next, learn it from a
 * header that no client can write, because it has a secret in it.
 */

const vouchedFor = new WeakMap<IncomingMessage, string>();

export function readPeer(incoming: IncomingMessage): string {
  return vouchedFor.get(incoming) ?? incoming.socket.remoteAddress ?? "unknown";
}

export const vouch = (incoming: IncomingMessage, peerSecret: string) => `${peerSecret} ${readPeer(incoming)}`;

export function vouchForPeer(incoming: IncomingMessage, peerSecret: string): void {
  incoming.headers[PEER_HEADER] = vouch(incoming, peerSecret);
  // Next would write the socket's, and a socket between processes has none.
  incoming.headers["x-forwarded-for"] ??= readPeer(incoming);
}

/** Accepts a request that another process hands on, and believes it about the address. False: it is none of ours. */
export function acceptForwardedRequest(incoming: IncomingMessage, peerSecret: string): boolean {
  const peer = peerFromHeader(incoming.headers[PEER_HEADER]?.toString() ?? null, peerSecret);
  if (peer === undefined) return false;
  vouchedFor.set(incoming, peer);
  return true;
}

/** True if the table of operations answers this path; everything else is Next's. */
export function isDispatched(url: string, accept: string | undefined): boolean {
  const path = normalizePath(url.split("?")[0] ?? "/");
  // The mailbox is a page too.
  if (path === "/dev/mailbox") return accept?.includes("application/json") ?? false;
  return isOperationPath(path) || isStandInPath(path);
}

/** Methods that `Request` refuses to carry, and the name under which they get the 405 of a method that nothing has. */
export const forbiddenMethods = new Set(["CONNECT", "TRACE", "TRACK"]);
const unknownMethod = "UNKNOWN";

export function readHeaders(incoming: IncomingMessage): Headers {
  const headers = new Headers();
  for (let i = 0; i < incoming.rawHeaders.length; i += 2) {
    headers.append(incoming.rawHeaders[i] ?? "", incoming.rawHeaders[i + 1] ?? "");
  }
  headers.delete(PEER_HEADER);
  return headers;
}

class NodeHttpRequest implements HttpRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: HttpRequest["headers"];
  readonly whole: HttpRequest["whole"];
  readonly #incoming: IncomingMessage;
  #body: ReadableStream<Uint8Array> | null = null;

  constructor(incoming: IncomingMessage) {
    this.#incoming = incoming;
    this.method = incoming.method ?? "GET";
    this.url = `http://localhost${(incoming.url ?? "/").replace(/^\/*/, "/")}`;
    // Repeated headers are joined, as Request joins them: Node itself would drop all but the first of some.
    const get = (name: string) =>
      name === PEER_HEADER || incoming.headers[name] === undefined
        ? null
        : (incoming.headersDistinct[name]?.join(", ") ?? null);
    this.headers = { get, has: (name) => get(name) !== null };
    const announced = Number(incoming.headers["content-length"]);
    this.whole = Number.isSafeInteger(announced) ? { announced, read: () => readWhole(incoming) } : undefined;
  }

  get body() {
    this.#body ??= Readable.toWeb(this.#incoming) as ReadableStream<Uint8Array>;
    return this.#body;
  }
}

export function readRequest(incoming: IncomingMessage): HttpRequest {
  const asked = new NodeHttpRequest(incoming);
  rememberPeer(asked, readPeer(incoming));
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
  rememberPeer(request, readPeer(incoming));
  return request;
}

/** Never rejects. A client that goes away in the middle is no error. */
export async function sendResponse(answer: HttpResponse | Response, outgoing: ServerResponse): Promise<void> {
  await send(answer, outgoing).catch(() => outgoing.destroy());
}

const longText = 64 * 1024;

function sendText({ status, headers, text }: HttpResponse, outgoing: ServerResponse): void {
  if (text === null) {
    outgoing.writeHead(status, headers).end();
    return;
  }
  const bytes = Buffer.byteLength(text);
  headers["content-length"] = String(bytes);
  const encoding = bytes === text.length ? "latin1" : "utf8";
  outgoing.writeHead(status, headers);
  // Node writes a string of plain ASCII together with the headers, and as it is; a long one it would copy twice.
  if (bytes > longText) outgoing.end(Buffer.from(text, encoding));
  else outgoing.end(text, encoding);
}

export async function send(response: HttpResponse | Response, outgoing: ServerResponse): Promise<void> {
  if (!(response instanceof Response)) {
    sendText(response, outgoing);
    return;
  }
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  if (response.body === null) outgoing.end();
  else {
    // Ends the answer's source too if the client goes away.
    await pipeline(Readable.fromWeb(response.body as Parameters<typeof Readable.fromWeb>[0]), outgoing);
  }
}

/** Never rejects. A client that goes away in the middle is no error. */
export async function handleApiRequest(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  let answer: HttpResponse | Response;
  try {
    answer = isStandInPath(pathOfTarget(incoming))
      ? await serveStandIn(toRequest(incoming))
      : await handleRequest(readRequest(incoming));
  } catch (error) {
    logger.error({ err: error }, "a request could not be dispatched");
    outgoing.writeHead(500, { connection: "close" }).end();
    return;
  }
  await sendResponse(answer, outgoing);
}

const pathOfTarget = ({ url = "/" }: IncomingMessage) => normalizePath(url.split("?")[0] ?? "/");

/* Caller, when only headers are at hand: server components and server actions. */

const bare = (headers: Headers) => new Request("http://localhost", { headers });

export const requestAddress = ({ env, peerSecret }: App, headers: Headers): string =>
  clientAddress(bare(headers), peerSecret, env);

/** Other machines can't see the pages of the stand-ins. */
export const isOwnRequest = ({ env, peerSecret }: App, headers: Headers): boolean =>
  isFromThisMachine(bare(headers), peerSecret, env);
