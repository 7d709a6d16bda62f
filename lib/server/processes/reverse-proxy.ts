/**
 * Hands a whole request on to another process of this server and its answer back, as streams. The other process
 * believes what this one says about the client's address (lib/server/next/node-http.ts), and gets the request as it was admitted.
 */
import { Agent, type IncomingMessage, request, type ServerResponse } from "node:http";
import { PEER_HEADER } from "#lib/api/http/rate-limit";
import { vouch } from "#lib/server/next/node-http";

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
