/** Guarantee: a proxy that keeps its connections for a minute sends no request into one that is just being closed. */
import { once } from "node:events";
import { Agent, get, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
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
