/** Bodies that do not end, and bodies that their sender breaks off: at every path that takes one. */
import { createServer, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { rememberPeer } from "#lib/api/http/rate-limit";
import { handleApiRequest } from "#lib/server/next/node-http";
import { setupTestApp } from "#support/setup-app";
import { serveStandIn } from "./emulators";
import { dispatch } from "./operations";

const standIns = [
  ["POST", "/request"],
  ["PUT", "/response/abcdefghijklmnop"],
  ["POST", "/dev/world-portal/api/v4/verify/rp_00000000000c5160"],
  ["POST", "/dev/world-app/api/response"],
] as const;
const operations = [
  ["POST", "/v1/attest"],
  ["POST", "/v1/keys/request"],
  ["PUT", "/v1/identity/bot/tools"],
] as const;

describe("bodies", () => {
  const { test, key } = setupTestApp();
  let server: Server;
  beforeAll(async () => {
    server = createServer((incoming, outgoing) => void handleApiRequest(incoming, outgoing));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  });
  afterEach(() => vi.restoreAllMocks());
  afterAll(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  it.each([...standIns, ...operations])(
    "of %s %s are refused while they still stream in",
    async (method, path) => {
      const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
      socket.on("error", () => {});
      const head = `${method} ${path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${key}\r\ntransfer-encoding: chunked\r\n\r\n`;
      socket.write(head);
      const chunk = `4000\r\n${"x".repeat(0x4000)}\r\n`;
      // 80 KiB, and no end: whoever waits for it has no bound.
      for (let i = 0; i < 5; i += 1) socket.write(chunk);
      const answer = await new Promise<string>((resolve, reject) => {
        socket.once("data", (data) => resolve(data.toString()));
        setTimeout(() => reject(new Error("no answer while the body goes on")), 60_000).unref();
      });
      socket.destroy();
      expect(answer.split("\r\n")[0]).toBe("HTTP/1.1 413 Payload Too Large");
    },
  );

  it("that stop arriving are refused, and their connections closed, after a few seconds", async () => {
    const heads = ["content-length: 1000", "transfer-encoding: chunked"];
    const answers = await Promise.all(
      [...standIns, ...operations].flatMap(([method, path]) =>
        heads.map(async (head) => {
          const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
          socket.write(
            `${method} ${path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${key}\r\n${head}\r\n\r\n`,
          );
          // Ends with the connection.
          return Buffer.concat(await socket.toArray()).toString();
        }),
      ),
    );
    for (const answer of answers) {
      expect(answer.split("\r\n")[0]).toBe("HTTP/1.1 400 Bad Request");
      expect(answer).toContain("didn't arrive within 8 seconds");
    }
  });

  /** Fails like node:http when the client is gone. */
  const breakOff = (method: string, path: string) =>
    new Request(`http://localhost${path}`, {
      method,
      headers: { authorization: `Bearer ${key}` },
      body: new ReadableStream({
        pull: (controller) => controller.error(Object.assign(new Error("aborted"), { code: "ECONNRESET" })),
      }),
      duplex: "half",
    } as RequestInit);

  it.each([...standIns, ...operations])(
    "of %s %s that break off are no outage of ours",
    async (method, path) => {
      const logged = vi.spyOn(test.app.context.logger, "error");
      const isStandIn = standIns.some(([, one]) => one === path);
      const request = breakOff(method, path);
      rememberPeer(request, "127.0.0.1");
      const response = await (isStandIn ? serveStandIn(request) : dispatch(request));
      expect(response.status).toBe(400);
      expect(logged).not.toHaveBeenCalled();
    },
  );
});
