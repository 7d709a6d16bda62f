/** A public server's hosts: the one of its address, and what a trusted proxy forwards (RFC 9110 section 7.4). */
import { rm } from "node:fs/promises";
import { describe, expect, it, vi } from "vitest";
import { makeDataDir } from "#support/databases";
import { ask, firstAsset } from "./hosts";
import { sendLines } from "./raw-request";
import { type ServerProcess, startServer } from "./server-process";

vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

describe("a public server's hosts", () => {
  const base = "https://countersign.example";
  const production = {
    PUBLIC_BASE_URL: base,
    WORLD_APP_ID: "app_x",
    WORLD_RP_ID: "rp_x",
    WORLD_RP_SIGNING_KEY: "11".repeat(32),
    SMTP_URL: "smtp://localhost:1",
    MAIL_FROM: "a@example.com",
  };
  async function run(settings: Record<string, string>, work: (server: ServerProcess) => Promise<void>) {
    const dataDir = await makeDataDir();
    const server = await startServer("server", dataDir, { ...production, ...settings });
    try {
      await work(server);
    } finally {
      await server.stop("SIGKILL");
      await rm(dataDir, { recursive: true, force: true, maxRetries: 3 });
    }
  }

  it("are that of PUBLIC_BASE_URL, and any address for health checks", () =>
    run({}, async (server) => {
      for (const host of ["countersign.example", "countersign.example:443"])
        for (const target of ["/", "/v1/pubkey", await firstAsset()])
          expect([host, target, (await ask(server, target, host)).status]).toEqual([host, target, 200]);
      const foreign = ["evil.example", "localhost", "10.0.0.7:3000", `127.0.0.1:${server.port}`];
      for (const host of foreign)
        for (const target of ["/", "/v1/pubkey", await firstAsset()])
          expect([host, target, (await ask(server, target, host)).status]).toEqual([host, target, 421]);
      for (const host of ["10.0.0.7:3000", "[fd00::7]", `localhost:${server.port}`])
        expect([host, (await ask(server, "/v1/health", host)).status]).toEqual([host, 200]);
      expect((await sendLines(server.port, ["GET /v1/health HTTP/1.0"])).status).toBe(200);
      expect((await ask(server, "/v1/health", "evil.example")).status).toBe(421);
      const forged = [`X-Forwarded-Host: countersign.example`];
      expect((await ask(server, "/v1/pubkey", "evil.example", forged)).status).toBe(421);
      expect((await ask(server, "/", "countersign.example", ["X-Forwarded-Host: evil.example"])).status).toBe(
        200,
      );
    }));

  it("are what a trusted proxy forwards, from its address alone", async () => {
    const through = ["X-Forwarded-Host: countersign.example"];
    await run({ TRUSTED_PROXY_HOPS: "1", TRUSTED_PROXIES: "127.0.0.1, ::1" }, async (server) => {
      for (const target of ["/", "/v1/pubkey"]) {
        expect([target, (await ask(server, target, "10.0.0.7:3000", through)).status]).toEqual([target, 200]);
        const evil = ["X-Forwarded-Host: countersign.example, evil.example"];
        expect((await ask(server, target, "countersign.example", evil)).status).toBe(421);
        expect((await ask(server, target, "10.0.0.7:3000")).status).toBe(421);
      }
      const sitemap = (await ask(server, "/sitemap.xml", "10.0.0.7:3000", through)).body;
      expect(sitemap).toContain(`${base}/docs`);
      expect(sitemap).not.toContain("10.0.0.7");
      const form = "token=x&email=a%40example.com&next=%2Fportal";
      const lines = [
        "POST /portal/sign-in/verify HTTP/1.1",
        "Host: 10.0.0.7:3000",
        ...through,
        `Origin: ${base}`,
        "Content-Type: application/x-www-form-urlencoded",
        `Content-Length: ${form.length}`,
      ];
      const refused = await sendLines(server.port, lines, { body: form });
      expect(refused.status).toBe(303);
      expect(refused.headers.get("location")).toMatch(
        /^https:\/\/countersign\.example\/portal\/sign-in\?error=/,
      );
      const askFromElsewhere = async (host: string, more: string[] = []) => {
        const lines = ["GET /v1/pubkey HTTP/1.1", `Host: ${host}`, ...more];
        return (await sendLines(server.port, lines, { from: "127.0.0.2" })).status;
      };
      expect(await askFromElsewhere("10.0.0.7:3000", through)).toBe(421);
      expect(await askFromElsewhere("countersign.example")).toBe(200);
    });
  });
});
