/** A request goes to another process of this server and its answer back, as the client and that process would see it without a detour. */
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { acceptForwardedRequest, readPeer } from "#lib/server/next/node-http";
import { listenAt } from "./ipc";
import { createReverseProxy } from "./reverse-proxy";

const secret = "s".repeat(32);

describe("a request that is handed on", () => {
  let folder: string;
  let front: Server;
  let behind: Server | null = null;
  let reasons: boolean[];
  const answerBehind = async (handle: RequestListener, itsSecret = secret) => {
    behind = createServer((incoming, outgoing) => {
      if (acceptForwardedRequest(incoming, itsSecret)) handle(incoming, outgoing);
      else outgoing.writeHead(403).end();
    });
    await listenAt(behind, path.join(folder, "behind"));
  };
  const portOf = (server: Server) => (server.address() as AddressInfo).port;
  const ask = (target: string, init?: RequestInit) =>
    fetch(`http://127.0.0.1:${portOf(front)}${target}`, init);
  /** Sends raw text, and returns the raw answer. */
  const speak = async (text: string) => {
    const socket = connect(portOf(front), "127.0.0.1");
    socket.write(text);
    return Buffer.concat(await socket.toArray()).toString();
  };
  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "hand-on-"));
    reasons = [];
    const proxy = createReverseProxy(path.join(folder, "behind"), secret);
    front = createServer((incoming, outgoing) =>
      proxy(incoming, outgoing, (wasSent) => {
        reasons.push(wasSent);
        outgoing.writeHead(503).end("otherwise");
      }),
    );
    front.listen(0, "127.0.0.1");
    await once(front, "listening");
  });
  afterEach(async () => {
    for (const server of [front, behind]) {
      server?.close();
      server?.closeAllConnections();
    }
    await rm(folder, { recursive: true, force: true });
  });

  it("has the client's address, which nobody else can say", async () => {
    const seen: (string | undefined)[] = [];
    await answerBehind((incoming, outgoing) => {
      seen.push(readPeer(incoming));
      outgoing.end();
    });
    await ask("/", { headers: { "x-countersign-peer": `${secret} 203.0.113.9` } });
    expect(seen).toEqual(["127.0.0.1"]);
    behind?.closeAllConnections();
    await answerBehind((_, outgoing) => outgoing.end(), "another secret");
    expect((await ask("/")).status).toBe(403);
  });

  it("keeps method, target, headers and body as they were sent", async () => {
    let got: IncomingMessage | undefined;
    let body = "";
    await answerBehind(async (incoming, outgoing) => {
      got = incoming;
      body = Buffer.concat(await incoming.toArray()).toString();
      outgoing.writeHead(201, { "set-cookie": ["a=1", "b=2"], "x-own": "yes" }).end("made");
    });
    const chunked =
      "POST //a%2Fb?c=1&c=2 HTTP/1.1\r\nHost: x\r\nX-Two: 1\r\nX-Two: 2\r\nConnection: close, x-two\r\nUpgrade: h2c\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    const answer = await speak(chunked);
    expect([got?.method, got?.url, body]).toEqual(["POST", "//a%2Fb?c=1&c=2", "abc"]);
    expect(got?.headersDistinct["x-two"]).toEqual(["1", "2"]);
    expect(got?.headers.upgrade).toBeUndefined();
    expect(answer).toMatch(/^HTTP\/1.1 201 /);
    expect(answer.match(/set-cookie: [ab]=[12]/g)).toHaveLength(2);
    expect(answer).toContain("x-own: yes");
    expect(answer.match(/\r\ndate:/gi)).toHaveLength(1);
  });

  it("streams both ways, and an answer without a body stays one", async () => {
    await answerBehind((incoming, outgoing) => {
      if (incoming.method === "HEAD") outgoing.writeHead(200, { "content-length": "12" }).end();
      else if (incoming.url === "/none") outgoing.writeHead(204).end();
      else incoming.pipe(outgoing);
    });
    const socket = connect(portOf(front), "127.0.0.1");
    socket.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n\r\nabc");
    // The first half is back before the second is sent.
    let text = "";
    while (!text.includes("abc")) text += String((await once(socket, "data"))[0]);
    socket.write("def");
    while (!text.includes("def")) text += String((await once(socket, "data"))[0]);
    socket.destroy();
    const head = await ask("/", { method: "HEAD" });
    expect([head.status, head.headers.get("content-length")]).toEqual([200, "12"]);
    expect((await ask("/none")).status).toBe(204);
  });

  it("loses its connection if the other process gives up on its body", async () => {
    await answerBehind((_, outgoing) => outgoing.writeHead(400, { connection: "close" }).end("too slow"));
    // Ends with the connection, though half of the body is missing.
    expect(await speak("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n\r\nabc")).toMatch(
      /^HTTP\/1.1 400 .*Connection: close.*too slow/s,
    );
  });

  it("ends there when the client goes away", async () => {
    let arrived = (_: IncomingMessage) => {};
    const asked = new Promise<IncomingMessage>((resolve) => {
      arrived = resolve;
    });
    await answerBehind((incoming) => arrived(incoming));
    const socket = connect(portOf(front), "127.0.0.1");
    socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    const incoming = await asked;
    const closed = new Promise((resolve) => incoming.once("close", resolve));
    incoming.once("error", () => {});
    socket.destroy();
    await closed;
    expect(incoming.socket.destroyed).toBe(true);
  });

  it("is answered otherwise if nobody is there, with its body untouched, or if who was there ends", async () => {
    expect(await (await ask("/", { method: "POST", body: "x" })).text()).toBe("otherwise");
    expect(reasons).toEqual([false]);
    await answerBehind((incoming) => incoming.socket.destroy());
    expect((await ask("/", { method: "POST", body: "x" })).status).toBe(503);
    expect(reasons).toEqual([false, true]);
  });
});
