/** DNS rebinding and other foreign hosts: who may reach the server, and under which names (RFC 9110 section 7.4). */
import { once } from "node:events";
import { readdir } from "node:fs/promises";
import { connect } from "node:net";
import { beforeAll, describe, expect, it } from "vitest";
import { PYTHON_WHEEL } from "#lib/protocol/statement/product";
import { sendLines } from "./raw-request";
import type { Door, ServerProcess } from "./server-process";

export async function firstAsset(): Promise<string> {
  const names = await readdir(".next/static/chunks");
  return `/_next/static/chunks/${names.find((name) => name.endsWith(".js"))}`;
}

/** The answer to a GET of this server for this host. */
export const ask = (server: ServerProcess, target: string, host: string, more: string[] = []) =>
  sendLines(server.port, [`GET ${target} HTTP/1.1`, `Host: ${host}`, ...more]);

const json = "Accept: application/json";
const paths: [string, string[]][] = [
  ["/", []],
  ["/docs", []],
  ["/portal/sign-in", []],
  ["/nowhere", []],
  ["/v1/health", []],
  ["/v1/pubkey", []],
  ["/v1/nowhere", []],
  ["//v1/pubkey", []],
  ["/.well-known/jwks.json", []],
  ["/.well-known/sigstore/trusted_root.json", []],
  ["/log/checkpoint", []],
  ["/badge/x.svg", []],
  ["/agent/x/feed.json", []],
  ["/llms.txt", []],
  ["/docs/quick-start.md", []],
  ["/verify.mjs", []],
  ["/countersign.mjs", []],
  ["/countersign.tgz", []],
  [`/${PYTHON_WHEEL}`, []],
  ["/dev/mailbox", []],
  ["/dev/mailbox", [json]],
  ["/dev/mailbox/messages", [json]],
  ["/dev/world-app", []],
  ["/dev/world-app/api/request", []],
  ["/request/x", []],
  ["/approve/x", []],
];

export function testHosts(door: Door, getServer: () => ServerProcess): void {
  describe("a stand-in's hosts", () => {
    let server: ServerProcess;
    beforeAll(() => {
      server = getServer();
    });

    it("are no others: 421 on every path, which no other origin can read", async () => {
      const everywhere = [...paths];
      // Files of the build have no route in Next, and no secret.
      if (door === "server")
        for (const target of [await firstAsset(), "/robots.txt", "/icon.svg", "/vectors/nope"])
          everywhere.push([target, ["Accept-Encoding: br"]]);
      // Next answers a doubled slash with a redirect before anything of ours runs.
      for (const [target, more] of everywhere.filter(
        ([name]) => door === "server" || !name.startsWith("//"),
      )) {
        const { status, headers, body } = await ask(server, target, `evil.example:${server.port}`, more);
        expect([target, status, headers.get("content-type")]).toEqual([
          target,
          421,
          "application/problem+json",
        ]);
        expect(headers.has("access-control-allow-origin")).toBe(false);
        expect(body).toContain('"code":"misdirected_request"');
        expect(body).toContain(headers.get("request-id"));
      }
      for (const host of ["0.0.0.0", "evil.localhost", "localhost.evil.example", "192.168.1.5"])
        expect([host, (await ask(server, "/v1/pubkey", `${host}:${server.port}`)).status]).toEqual([
          host,
          421,
        ]);
      for (const host of ["localhost", "localhost:1"])
        expect([host, (await ask(server, "/", host)).status]).toEqual([host, 421]);
    });

    it("are no others for what changes something either, whatever is said to have been forwarded", async () => {
      const evil = `evil.example:${server.port}`;
      const forged = [
        `X-Forwarded-Host: localhost:${server.port}`,
        `Origin: http://${evil}`,
        "Content-Length: 2",
      ];
      for (const target of ["/v1/keys/request", "/portal/sign-in/verify", "/approve/x/deny", "/request"]) {
        const lines = [`POST ${target} HTTP/1.1`, `Host: ${evil}`, "Sec-Fetch-Site: same-origin", ...forged];
        expect([target, (await sendLines(server.port, lines, { body: "{}" })).status]).toEqual([target, 421]);
      }
      const preflight = [`OPTIONS /request HTTP/1.1`, `Host: ${evil}`];
      expect((await sendLines(server.port, preflight)).status).toBe(421);
    });

    it.skipIf(door === "next")(
      "are not left to the target, a second header, or an offer to upgrade",
      async () => {
        const [own, evil] = [`localhost:${server.port}`, `evil.example:${server.port}`];
        const cases: [number, string[]][] = [
          [200, [`GET http://${own}/v1/pubkey HTTP/1.1`, `Host: ${own}`]],
          [200, [`GET HTTP://LOCALHOST:${server.port} HTTP/1.1`, `Host: ${own}`]],
          [421, [`GET http://${evil}/v1/pubkey HTTP/1.1`, `Host: ${evil}`]],
          [400, [`GET http://${evil}/v1/pubkey HTTP/1.1`, `Host: ${own}`]],
          [400, [`GET http://${own}/v1/pubkey HTTP/1.1`, `Host: ${evil}`]],
          [400, [`GET http://${own}@${evil}/v1/pubkey HTTP/1.1`, `Host: ${own}@${evil}`]],
          [400, ["GET /v1/pubkey HTTP/1.1", `Host: ${own}`, `Host: ${evil}`]],
          [400, ["GET /v1/pubkey HTTP/1.1", `Host: ${own}`, `host: ${own}`]],
          [400, ["GET /v1/pubkey HTTP/1.1", `Host: user@${own}`]],
          [400, ["GET /v1/pubkey HTTP/1.1", `Host: ${own}, ${evil}`]],
          [400, ["GET /v1/pubkey HTTP/1.1"]],
          [421, ["GET /v1/pubkey HTTP/1.1", "Host:"]],
          [421, ["GET /v1/pubkey HTTP/1.0"]],
          [421, ["GET /v1/health HTTP/1.0"]],
          [200, ["GET /v1/pubkey HTTP/1.0", `Host: ${own}`]],
          [421, ["GET / HTTP/1.1", `Host: ${evil}`, "Upgrade: websocket", "Sec-WebSocket-Version: 13"]],
          [421, ["TRACE / HTTP/1.1", `Host: ${evil}`]],
          [421, ["OPTIONS * HTTP/1.1", `Host: ${evil}`]],
        ];
        for (const [status, lines] of cases)
          expect([lines, (await sendLines(server.port, lines)).status]).toEqual([lines, status]);
      },
    );

    it.skipIf(door === "next")("are reached through loopback alone", async () => {
      const reach = async (address: string) => {
        const socket = connect(server.port, address);
        return once(socket, "connect").then(
          () => {
            socket.destroy();
            return "open";
          },
          (error: NodeJS.ErrnoException) => error.code,
        );
      };
      expect(await reach("127.0.0.1")).toBe("open");
      expect(await reach("::1")).toBeOneOf(["open", "EADDRNOTAVAIL", "EAFNOSUPPORT"]);
      // Reaches everything that listens on all addresses.
      expect(await reach("127.0.0.2")).toBe("ECONNREFUSED");
    });
  });
}
