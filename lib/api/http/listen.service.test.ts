/** Guarantees: a proxy that keeps its connections for a minute sends no request into one that is just being closed, and each pipelined request gets its own answer. */
import { once } from "node:events";
import { Agent, get, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { text } from "node:stream/consumers";
import { expect, it } from "vitest";
import { startServers, stopServers } from "./listen";

it("keeps connections longer than proxies do, until it is stopped", async () => {
  const servers = await startServers((_incoming, outgoing) => outgoing.end("here"), 0, ["127.0.0.1"]);
  const address = servers[0]?.address() as AddressInfo | undefined;
  const asked = get({ agent: new Agent({ keepAlive: true }), port: address?.port ?? 0 });
  const [answer] = (await once(asked, "response")) as [IncomingMessage];
  const closed = once(answer.socket, "close");
  await once(answer.resume(), "end");
  const [, seconds] = /timeout=(\d+)/.exec(String(answer.headers["keep-alive"])) ?? [];
  expect(Number(seconds)).toBeGreaterThan(60);
  // One that was handed over by another process has no request yet.
  expect(servers[0]?.headersTimeout).toBe(Number(seconds) * 1000);
  await stopServers(servers);
  await closed;
});

it("writes 100 Continue before the answer of its request, also of one that is pipelined", async () => {
  const handle = ({ url = "" }: IncomingMessage, outgoing: ServerResponse) => {
    const answer = () => outgoing.end(Buffer.from(`of ${url}`));
    // After the third would be answered if it didn't wait for its turn.
    setImmediate(url === "/1" ? () => setImmediate(answer) : answer);
  };
  const servers = await startServers(handle, 0, ["127.0.0.1"]);
  const address = servers[0]?.address() as AddressInfo | undefined;
  const socket = connect(address?.port ?? 0, "127.0.0.1");
  const request = (path: string, more = "") =>
    `POST ${path} HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n${more}\r\n{}`;
  const expecting = "expect: 100-continue\r\n";
  socket.write(
    request("/1", expecting) +
      request("/2") +
      request("/3", expecting) +
      request("/4", "connection: close\r\n"),
  );
  const answers = (await text(socket)).split("HTTP/1.1 ").slice(1);
  expect(answers.map((answer) => answer.split(/\r\n(?:.+\r\n)*\r\n/))).toEqual([
    ["100 Continue", ""],
    ["200 OK", "of /1"],
    ["200 OK", "of /2"],
    ["100 Continue", ""],
    ["200 OK", "of /3"],
    ["200 OK", "of /4"],
  ]);
  await stopServers(servers);
});
