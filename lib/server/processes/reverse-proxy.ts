/**
 * Hands a whole request on to another process of this server and its answer back, as streams. The other process
 * believes what this one says about the client's address (lib/server/next/node-http.ts), and gets the request as it was admitted.
 * A connection that keeps bringing such requests is handed over itself, so that the next ones need no hop.
 */
import { Agent, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { PEER_HEADER } from "#lib/api/http/rate-limit";
import { vouch } from "#lib/server/next/node-http";
import { type Handle, type Handover, readHandover, watchHandles } from "./supervisor";

/** `wasSent`: whether the other process may have begun with it. Then its body is gone. */
type Otherwise = (wasSent: boolean) => void;

export type ReverseProxy = (
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  otherwise: Otherwise,
) => void;

/** About the client's own connection (RFC 9110 section 7.6.1). Transfer-Encoding stays: it tells how to frame the body. */
const ofConnection = ["connection", "keep-alive", "te", "trailer", "upgrade", "http2-settings", "expect"];

/** Changed when the request was admitted (lib/api/http/host-check.ts): taken from there. */
const admitted = ["host", "x-forwarded-proto"] as const;
const dropped = new Set([...ofConnection, ...admitted, "x-forwarded-host", "x-forwarded-port", PEER_HEADER]);

function* listPairs(raw: readonly string[]): Generator<[string, string]> {
  for (let i = 0; i < raw.length; i += 2) yield [raw[i] ?? "", raw[i + 1] ?? ""];
}

function requestHeaders(incoming: IncomingMessage, peerSecret: string): string[] {
  const kept = [...listPairs(incoming.rawHeaders)].filter(([name]) => !dropped.has(name.toLowerCase()));
  const own = admitted.map((name): [string, string] => [name, String(incoming.headers[name] ?? "")]);
  return [...own, ...kept, [PEER_HEADER, vouch(incoming, peerSecret)] as const].flat();
}

const ofAnswer = new Set(["connection", "keep-alive", "transfer-encoding"]);

function passBack(answer: IncomingMessage, outgoing: ServerResponse): void {
  const headers = [...listPairs(answer.rawHeaders)].filter(([name]) => !ofAnswer.has(name.toLowerCase()));
  outgoing.writeHead(answer.statusCode ?? 502, headers.flat());
  answer.on("error", () => outgoing.destroy());
  answer.pipe(outgoing);
}

export function createReverseProxy(socketPath: string, peerSecret: string): ReverseProxy {
  const agent = new Agent({ keepAlive: true });
  return (incoming, outgoing, otherwise) => {
    const { method, url } = incoming;
    const headers = requestHeaders(incoming, peerSecret);
    const upstream = request({ agent, socketPath, method, path: url, headers: headers as never });
    let wasSent = false;
    const begin = () => {
      wasSent = true;
      incoming.pipe(upstream);
    };
    upstream.once("socket", (socket) => {
      if (socket.connecting) socket.once("connect", begin);
      else begin();
    });
    upstream.once("response", (answer) => {
      // The other process gives up on what this client is still sending.
      if (answer.headers.connection === "close") outgoing.shouldKeepAlive = false;
      passBack(answer, outgoing);
    });
    upstream.once("error", () => {
      if (outgoing.headersSent || outgoing.destroyed) outgoing.destroy();
      else otherwise(wasSent);
    });
    outgoing.once("close", () => upstream.destroy());
  };
}

/*
 * A connection is handed over while nothing is under way on it, by way of the first process (relayHandovers), and stays
 * here until the other process has taken it or can't. Node.js has no public way to take a connection from its HTTP server,
 * so this uses what is below its sockets (Node.js 20 to 24).
 */

interface Below {
  _handle: Handle | null;
  /** Answer under way. */
  _httpMessage: unknown;
  parser: object | null;
  /** Keyed by a symbol of node:http: its list of all connections. */
  server: Record<symbol, { idle(): object[] } | undefined>;
}

interface Accepting {
  _handle: { onconnection?(error: 0, handle: Handle): void } | null;
}

const below = (socket: Socket) => socket as unknown as Below;

const isList = ({ description }: symbol) => description === "http.server.connections";

/** A request that has begun to come, even by one byte, is in the parser. */
function isIdle(socket: Socket): boolean {
  const { _handle, _httpMessage, parser, server } = below(socket);
  const isFlushed = socket.writableLength === 0 && _handle?.writeQueueSize === 0;
  if (!isFlushed || socket.writableEnded || _httpMessage || parser === null) return false;
  const list = Object.getOwnPropertySymbols(server).find(isList);
  return list !== undefined && (server[list]?.idle().includes(parser) ?? false);
}

/** Requests in a row that another process should have had, after which a connection is handed over. */
const misplacedInARow = 8;

/** Limit, because each waits for a turn of the other process's event loop, and its client's next request with it. */
const handoversAtOnce = 4;

export interface Handovers {
  /** `isMisplaced`: another process should have had this request. */
  count(incoming: IncomingMessage, outgoing: ServerResponse, isMisplaced: boolean): void;
  wasTaken(socket: Socket): boolean;
  end(): void;
}

/** `getServer`: the one that accepts what other processes hand over, once it listens. */
export function openHandovers(getServer: () => Server): Handovers {
  const misplaced = new WeakMap<Socket, number>();
  const offered = new Map<number, { socket: Socket; handle: Handle }>();
  const taken = new Set<Socket>();
  let lastId = 0;
  let isOver = false;
  const send = (message: Handover, handle?: Handle) => void process.send?.(message, handle as never);

  function offer(socket: Socket): void {
    const { _handle: handle } = below(socket);
    if (isOver || handle === null || offered.size === handoversAtOnce || !isIdle(socket)) return;
    misplaced.set(socket, 0);
    handle.readStop();
    // Keeps others from closing what is on its way.
    below(socket)._handle = null;
    offered.set(++lastId, { socket, handle });
    send({ handover: "offer", id: lastId }, handle);
  }

  function settle(id: number, isTaken: boolean): void {
    const { socket, handle } = offered.get(id) ?? {};
    offered.delete(id);
    if (socket === undefined || handle === undefined) return;
    if (socket.destroyed) {
      handle.close();
      return;
    }
    below(socket)._handle = handle;
    if (isTaken) socket.destroy();
    else handle.readStart();
  }

  function take(id: number, handle: Handle): void {
    const server = getServer() as Server & Accepting;
    const listening = isOver ? null : server._handle;
    const isTaken = listening?.onconnection !== undefined;
    // Leaves before anything is read: without it the other process goes on with the connection.
    send({ handover: "settle", id, isTaken });
    if (!isTaken) {
      handle.close();
      return;
    }
    server.once("connection", (socket: Socket) => {
      taken.add(socket);
      socket.once("close", () => taken.delete(socket));
    });
    listening?.onconnection?.(0, handle);
  }

  watchHandles(process, (message) => settle((message as Handover).id, false));
  process.on("message", (message: unknown, handle: unknown) => {
    const handover = readHandover(message);
    if (handover?.handover === "take") take(handover.id, handle as Handle);
    else if (handover?.handover === "settle") settle(handover.id, handover.isTaken);
  });

  return {
    count(incoming, outgoing, isMisplaced) {
      const { socket } = incoming;
      const before = misplaced.get(socket) ?? 0;
      const now = isMisplaced ? before + 1 : 0;
      if (now !== before) misplaced.set(socket, now);
      if (now >= misplacedInARow) outgoing.once("finish", () => offer(socket));
    },
    wasTaken: (socket) => taken.has(socket),
    end() {
      isOver = true;
      // Node counts them as idle only after a first request.
      for (const socket of taken) if (socket.bytesRead === 0) socket.destroy();
    },
  };
}
