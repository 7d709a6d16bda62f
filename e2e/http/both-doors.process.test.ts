/**
 * The same suites against both ways in: `node dist/server.mjs`, and `next start` of the same build. One server of each
 * for all of them, because a start and each page's first view take seconds.
 */
import { rm } from "node:fs/promises";
import { networkInterfaces } from "node:os";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { anyKind, createTestDatabase, makeDataDir } from "#support/databases";
import { testErasure } from "./erasure";
import { testHosts } from "./hosts";
import { sendLines } from "./raw-request";
import { callServer, type Door, obtainKey, type ServerProcess, startServer } from "./server-process";
import { testWire } from "./wire";

/** For every address of a record, again and again. */
const manyReads = {
  LIMIT_PUBLIC_READ_PER_MINUTE: "100000",
  LIMIT_VERIFY_PER_MINUTE: "100000",
  LIMIT_FEED_PER_MINUTE: "100000",
};

/** Address of this machine for others; undefined if none reaches it. */
const reachable = Object.values(networkInterfaces())
  .flatMap((all) => all ?? [])
  .find(({ internal, family }) => !internal && family === "IPv4")?.address;

const running = {} as Record<Door, ServerProcess>;
const closing: (() => Promise<void>)[] = [];

afterAll(async () => {
  for (const close of closing) await close();
});

describe.each<Door>(["server", "next"])("over HTTP (%s)", (door) => {
  let database: Awaited<ReturnType<typeof createTestDatabase>> | null;
  let server: ServerProcess;
  beforeAll(async () => {
    const dataDir = await makeDataDir();
    database = anyKind === "postgres" ? await createTestDatabase() : null;
    server = await startServer(door, dataDir, {
      ...manyReads,
      ...(database && { DATABASE_URL: database.url }),
    });
    running[door] = server;
    closing.push(async () => {
      await server.stop();
      await database?.drop();
      await rm(dataDir, { recursive: true, force: true });
    });
  });

  testAnswers(door, () => server);
  testHosts(door, () => server);
  testErasure(
    door,
    () => server,
    () => database?.url ?? "",
  );
  if (door === "server") testWire(() => server);
});

/** Takes ten seconds for a request that never arrives whole, beside the tests of the other door. */
it("a server that got the signal to stop while a connection was open ends with 0", async () => {
  await running.server.exited;
  expect(running.server.child.exitCode).toBe(0);
});

function testAnswers(door: Door, getServer: () => ServerProcess): void {
  describe("answers", () => {
    let server: ServerProcess;
    let key: string;
    const call = (method: string, target: string, options: Parameters<typeof callServer>[3] = {}) =>
      callServer(server.base, method, target, options);

    beforeAll(async () => {
      server = getServer();
      key = await obtainKey(server.base);
    });

    it("attests, verifies, lists and describes", async () => {
      const body = { agent_slug: "door", action: "Paid 12 €", inputs_hash: "sha256:abc", metadata: { n: 1 } };
      const made = await call("POST", "/v1/attest", { key, body, headers: { "idempotency-key": "one" } });
      expect([made.status, made.body.human_approved]).toEqual([201, false]);
      expect(made.headers.get("x-ratelimit-remaining")).toBe("99");
      const again = await call("POST", "/v1/attest", { key, body, headers: { "idempotency-key": "one" } });
      expect([again.headers.get("idempotency-replayed"), again.body]).toEqual(["true", made.body]);
      const verified = await call("GET", `/v1/verify/${made.body.attestation_id}`);
      expect([verified.status, verified.body.valid, verified.body.payload]).toEqual([
        200,
        true,
        made.body.payload,
      ]);
      const feed = await call("GET", "/v1/agent/door?limit=1");
      expect([feed.status, feed.body.total_attestations, feed.body.attestations.length]).toEqual([200, 1, 1]);
      expect((await call("GET", "/v1/pubkey")).body.key_id).toBe(made.body.key_id);
      expect((await call("GET", "/.well-known/jwks.json")).body.keys).toHaveLength(1);
      expect((await call("GET", "/v1/openapi.json")).body.openapi).toBe("3.1.0");
      expect((await call("GET", "/v1/keys/info", { key })).body.attestations_today).toBe(1);
      expect(
        (await call("POST", "/v1/identity/register", { key, body: { slug: "door", tools: ["a"] } })).status,
      ).toBe(200);
      expect(
        (await call("PUT", "/v1/identity/door/tools", { key, body: { tools: ["b"] } })).body.tools,
      ).toEqual(["b"]);
      expect((await call("PATCH", "/v1/identity/door", { key, body: { name: "D" } })).body.name).toBe("D");
    });

    it("sends each security header once, and CORS on public reads", async () => {
      for (const target of ["/v1/pubkey", "/.well-known/jwks.json"]) {
        const { headers } = await call("GET", target);
        expect([target, headers.get("x-content-type-options")]).toEqual([target, "nosniff"]);
        expect(headers.get("content-security-policy")).toBe(
          "default-src 'none'; frame-ancestors 'none'; base-uri 'none'",
        );
        expect(headers.get("referrer-policy")).toBe("strict-origin-when-cross-origin");
        expect(headers.get("access-control-allow-origin")).toBe("*");
        expect(headers.get("x-powered-by")).toBeNull();
      }
      expect((await call("HEAD", "/v1/pubkey")).status).toBe(200);
      expect((await call("OPTIONS", "/v1/pubkey")).headers.get("access-control-allow-methods")).toBe(
        "GET, HEAD",
      );
      const page = await call("GET", "/");
      expect([page.status, page.headers.get("x-content-type-options")]).toEqual([200, "nosniff"]);
      expect(page.headers.get("content-security-policy")).toContain("'nonce-");
    });

    it("sends no HTML without a policy, not even where nothing is", async () => {
      const nowhere = [
        "/nope",
        "/favicon.ico",
        "/_next/nope",
        "/_next/static/nope",
        "/_next/static/chunks/nope.js",
        "/_next/data/nope/index.json",
        "/_next/image",
        "/.well-known/nope",
        "/.well-known/jwks.json/nope",
        "/badge/nope/nope.svg",
        "/badge/nope",
        "/docs/nope.md",
        "/docs/nope/nope.md",
        "/llms.txt/nope",
        "/robots.txt/nope",
        "/icon.svg/nope",
        "/verify.mjs/nope",
        "/countersign.tgz/nope",
        "/vectors/nope",
      ];
      for (const target of nowhere) {
        const answer = await fetch(`${server.base}${target}`);
        const isHtml = answer.headers.get("content-type")?.includes("text/html") ?? false;
        const policy = answer.headers.get("content-security-policy") ?? "";
        expect([target, answer.ok, isHtml && !policy.startsWith("default-src 'none'")]).toEqual([
          target,
          false,
          false,
        ]);
        if (target === "/favicon.ico")
          expect([isHtml, policy]).toEqual([true, expect.stringContaining("'nonce-")]);
      }
    });

    it("takes a doubled slash, or redirects it where Next is alone", async () => {
      const isNext = door === "next";
      expect((await call("GET", "//v1/pubkey")).status).toBe(isNext ? 308 : 200);
      const body = { agent_slug: "door", action: "a", inputs_hash: "b" };
      expect((await call("POST", "//v1/attest", { key, body })).status).toBe(isNext ? 308 : 201);
    });

    it("refuses malformed paths, and methods that no page has", async () => {
      for (const target of ["/v1/verify/%ff", "/%ff", "/verify/a/%"]) {
        const { status, body } = await call("GET", target);
        expect([target, status, body.code]).toEqual([target, 400, "bad_request"]);
      }
      for (const [method, target] of [
        ["POST", "/"],
        ["POST", "/agent/door"],
        ["DELETE", "/docs"],
      ] as const) {
        const { status, body, headers } = await call(method, target, { rawBody: "x" });
        expect([target, status, body.code]).toEqual([target, 405, "method_not_allowed"]);
        expect(headers.get("allow")).toBe("GET, HEAD");
      }
      expect((await call("POST", "/portal/sign-in/verify", { rawBody: "x" })).status).not.toBe(405);
    });

    it("shows the mailbox and the stand-in to this machine alone", async () => {
      const pages = ["/dev/mailbox", "/dev/mailbox/messages", "/dev/world-app"];
      const sealed = '{"iv":"aXY=","payload":"cGF5"}';
      const ask = async (host: string, forged: string[]) => {
        const more = [`Host: localhost:${server.port}`, ...forged];
        const body = ["Content-Type: application/json", `Content-Length: ${sealed.length}`];
        const answers = [
          ...pages.map((page) => sendLines(server.port, [`GET ${page} HTTP/1.1`, ...more], { host })),
          sendLines(server.port, ["POST /request HTTP/1.1", ...more, ...body], { host, body: sealed }),
          sendLines(server.port, ["GET /v1/health HTTP/1.1", ...more], { host }),
        ];
        return (await Promise.all(answers)).map(({ status }) => status);
      };
      expect(await ask("localhost", [])).toEqual([200, 200, 200, 200, 200]);
      const refused = [404, 404, 404, 404, 200];
      for (const header of ["X-Forwarded-For: 203.0.113.9", "Forwarded: for=203.0.113.9"])
        expect(await ask("localhost", [header])).toEqual(refused);
      // The production server doesn't even listen anywhere else.
      if (door === "server" || reachable === undefined) return;
      expect(await ask(reachable, [])).toEqual(refused);
      const forged = ["X-Forwarded-For: 127.0.0.1", "X-Countersign-Peer: x 127.0.0.1"];
      expect(await ask(reachable, forged)).toEqual(refused);
    });

    it("counts one client, whatever it forges", async () => {
      const statuses = new Set<string | null>();
      for (let i = 0; i < 3; i += 1) {
        const { headers } = await call("GET", "/v1/agent/forged", {
          headers: { "x-forwarded-for": `1.2.3.${i}`, "x-countersign-peer": `a 1.2.3.${i}` },
        });
        statuses.add(headers.get("x-ratelimit-remaining"));
      }
      expect(statuses.size).toBe(3);
    });
  });
}
