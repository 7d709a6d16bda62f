/** Conventions of every operation: paths, methods, headers, errors (docs/wire.md, Conventions and Errors). */
import { describe, expect, it } from "vitest";
import { operations } from "#lib/api/operations/index";
import type { OperationSpec } from "#lib/api/operations/operation";
import { type Scope, scopeNames } from "#lib/api/schemas/key-choices";
import { problem } from "#lib/api/schemas/primitives";
import { startTestApp, type TestApp } from "#support/app";
import { anyKind } from "#support/databases";
import { setupTestApp } from "#support/setup-app";

const unknownId = "019a0000-0000-7000-8000-000000000000";

describe("doors", () => {
  const { test, key } = setupTestApp();

  it("reach the same route with doubled and trailing slashes", async () => {
    for (const path of ["//v1/pubkey", "/v1//pubkey", "/v1/pubkey/", "///v1///pubkey//"]) {
      expect([path, (await test.call("GET", path)).status]).toEqual([path, 200]);
    }
    expect((await test.call("POST", "//v1//attest", { body: {} })).body.code).toBe("missing_authorization");
  });

  it("answer 404, 405 with Allow, HEAD without a body, and OPTIONS", async () => {
    for (const path of ["/v1", "/v1/nothing", "/v1/attest/x", "/v1/verify/", "/v2/attest"]) {
      const { status, body } = await test.call("GET", path);
      expect([path, status, body.error, body.code]).toEqual([path, 404, "Not found", "not_found"]);
    }
    const wrong = await test.call("DELETE", "/v1/attest", { key });
    expect([wrong.status, wrong.headers.get("allow"), wrong.body.code]).toEqual([
      405,
      "POST, OPTIONS",
      "method_not_allowed",
    ]);
    expect((await test.call("POST", "/v1/pubkey")).headers.get("allow")).toBe("GET, HEAD, OPTIONS");
    const head = await test.call("HEAD", "/v1/pubkey");
    expect([head.status, head.body, head.headers.get("content-type")]).toEqual([
      200,
      "",
      "application/json; charset=utf-8",
    ]);
    expect((await test.call("HEAD", `/v1/verify/${unknownId}`)).status).toBe(404);
    const preflight = await test.call("OPTIONS", "/v1/pubkey");
    expect([preflight.status, preflight.headers.get("access-control-allow-methods")]).toEqual([
      204,
      "GET, HEAD",
    ]);
    expect((await test.call("OPTIONS", "/v1/attest")).headers.get("access-control-allow-origin")).toBeNull();
    expect((await test.call("GET", "/v1/verify/%E0%A4%A")).status).toBe(400);
  });

  it("send CORS on public reads alone, and the fixed headers everywhere", async () => {
    const answers: [string, Awaited<ReturnType<TestApp["call"]>>, string | null][] = [
      ["public", await test.call("GET", "/v1/pubkey"), "*"],
      ["jwks", await test.call("GET", "/.well-known/jwks.json"), "*"],
      ["public, 404", await test.call("GET", `/v1/verify/${unknownId}`), "*"],
      ["public with a nonsense key", await test.call("GET", "/v1/pubkey", { key: "nonsense" }), "*"],
      ["keyed", await test.call("GET", "/v1/keys/info", { key }), null],
      ["keyed, 401", await test.call("GET", "/v1/keys/info"), null],
      ["the mailbox", await test.call("GET", "/dev/mailbox"), null],
      ["nothing there", await test.call("GET", "/v1/nothing"), "*"],
    ];
    const ids = new Set<string | null>();
    for (const [name, { headers }, origin] of answers) {
      expect([name, headers.get("access-control-allow-origin")]).toEqual([name, origin]);
      expect(headers.get("x-content-type-options")).toBe("nosniff");
      expect(headers.get("referrer-policy")).toBe("strict-origin-when-cross-origin");
      expect(headers.get("content-security-policy")).toContain("default-src 'none'");
      expect(headers.get("strict-transport-security")).toBeNull();
      expect(headers.get("request-id")).toMatch(/^req_[0-9a-f]{24}$/);
      ids.add(headers.get("request-id"));
    }
    expect(ids.size).toBe(answers.length);
  });

  it("give the mailbox to this machine only", async () => {
    for (const [ip, status] of [
      ["127.0.0.1", 200],
      ["::1", 200],
      ["::ffff:127.0.0.1", 200],
      ["172.17.0.1", 404],
      ["203.0.113.7", 404],
      ["2001:db8::1", 404],
      ["unknown", 404],
    ] as const)
      expect([ip, (await test.call("GET", "/dev/mailbox", { ip })).status]).toEqual([ip, status]);
  });

  it("have one shape of error", async () => {
    const calls = [
      await test.call("POST", "/v1/attest", { key, rawBody: "{" }),
      await test.call("POST", "/v1/attest", { body: {} }),
      await test.call("POST", "/v1/attest", { key: "x", body: {} }),
      await test.call("GET", `/v1/verify/${unknownId}`),
      await test.call("GET", "/v1/agent/nobody"),
      await test.call("PUT", "/v1/attest"),
      await test.call("POST", "/v1/attest", { key, rawBody: "x".repeat(70_000) }),
      await test.call("POST", "/v1/attest", { key, body: {} }),
    ];
    expect(calls.map(({ status, body }) => `${status} ${body.error}`)).toEqual([
      "400 Bad request",
      "401 Missing Authorization",
      "401 Invalid API key",
      "404 Attestation not found",
      "404 Agent not found",
      "405 Method not allowed",
      "413 Payload too large",
      "422 Validation error",
    ]);
    for (const { status, body, headers } of calls) {
      expect(problem.parse(body)).toMatchObject({
        status,
        title: body.error,
        type: `http://localhost:3000/docs/errors#${body.code}`,
        request_id: headers.get("request-id"),
      });
      expect(headers.get("cache-control")).toBe("no-store");
    }
    expect(
      calls
        .at(-1)
        ?.body.errors.map(({ pointer, message }: Record<string, string>) => `${pointer} ${message}`),
    ).toEqual(["/agent_slug is required", "/action is required", "/inputs_hash is required"]);
  });

  it("need a key wherever the table says so, without any proxy in front", async () => {
    const keyed = Object.values(operations).filter((spec) => spec.auth.kind === "key");
    expect(keyed.length).toBeGreaterThan(8);
    for (const spec of keyed) {
      const path = spec.path.replaceAll(/\{\w+\}/g, unknownId);
      const { status } = await test.call(spec.method, path, spec.method === "GET" ? {} : { body: {} });
      expect([spec.method, spec.path, status]).toEqual([spec.method, spec.path, 401]);
    }
  });

  it("take a key with one of the scopes that the table names, and none with all others", async () => {
    const keys = new Map<string, Promise<{ key: string }>>();
    const call = async (spec: OperationSpec, scopes: readonly Scope[]) => {
      const name = scopes.join();
      if (!keys.has(name)) keys.set(name, test.createKey("scopes@example.com", [...scopes]));
      const { key } = (await keys.get(name)) as { key: string };
      const path = spec.path.replaceAll(/\{\w+\}/g, unknownId);
      return test.call(spec.method, path, { key, ...(spec.method !== "GET" && { body: {} }) });
    };
    for (const [id, spec] of Object.entries(operations) as [string, OperationSpec][]) {
      if (spec.auth.kind !== "key" || spec.auth.scopes.length === 0) continue;
      const { scopes } = spec.auth;
      const others = scopeNames.filter((one) => !scopes.includes(one));
      const { status, body } = await call(spec, others);
      expect([id, status, JSON.stringify(body)]).toEqual([
        id,
        403,
        expect.stringContaining(`permission ${scopes[0]}`),
      ]);
      for (const scope of scopes) expect([id, scope, (await call(spec, [scope])).status]).not.toContain(403);
    }
  });

  it("never show or log a key, or the cause of a 500", async () => {
    const lines: string[] = [];
    const { logger, database } = test.app.context;
    const spied = ["debug", "info", "warn", "error"] as const;
    const kept = spied.map((level) => [level, logger[level]] as const);
    for (const level of spied)
      logger[level] = (...args: unknown[]) =>
        void lines.push(
          JSON.stringify(args, (_, value) =>
            value instanceof Error ? `${value.stack} ${JSON.stringify(value)} ${value.cause}` : value,
          ),
        );
    const { db } = database;
    const broken = Object.assign(Object.create(db) as typeof db, {
      select: () => {
        throw new Error("relation secret_table is broken");
      },
    });
    database.db = broken;
    const failed = await test.call("GET", "/v1/identity/x", { key });
    const failedKeyed = await test.call("GET", "/v1/keys/info", { key });
    database.db = db;
    for (const [level, log] of kept) logger[level] = log;
    for (const { status, body } of [failed, failedKeyed]) {
      expect([status, body.error]).toEqual([500, "Server error"]);
      expect(JSON.stringify(body)).not.toMatch(/secret_table|stack|at /);
    }
    expect(lines.join()).toContain(failed.body.request_id);
    expect(lines.join()).toContain("secret_table");
    expect(lines.join()).not.toContain(key);
    const echoes = [
      await test.call("POST", "/v1/attest", { key, body: { [key]: 1 } }),
      await test.call("POST", "/v1/attest", { key, body: { metadata: { [key]: "\0" } } }),
      await test.call("GET", `/v1/authorizations?${key}=1&${key}=2`, { key }),
      await test.call("GET", "/v1/keys/info", { key: `${key}x` }),
    ];
    expect(echoes.map(({ status }) => status)).toEqual([422, 422, 400, 401]);
    for (const { body } of echoes) expect(JSON.stringify(body)).not.toContain(key);
  });
});

describe("an https address", () => {
  it("gets Strict-Transport-Security and links of its own", async () => {
    const test = await startTestApp(anyKind, {
      PUBLIC_BASE_URL: "https://countersign.example/",
      WORLD_APP_ID: "app_x",
      WORLD_RP_ID: "rp_x",
      WORLD_RP_SIGNING_KEY: "11".repeat(32),
      SMTP_URL: "smtp://localhost:1",
      MAIL_FROM: "a@example.com",
    });
    try {
      const { headers, body } = await test.call("GET", "/v1/nothing");
      expect(headers.get("strict-transport-security")).toContain("max-age=63072000");
      expect(body.type).toBe("https://countersign.example/docs/errors#not_found");
      expect((await test.call("GET", "/dev/mailbox")).status).toBe(404);
      const sent = await test.call("POST", "/v1/keys/request", { body: { email: "a@example.com" } });
      expect([sent.status, sent.body.code]).toEqual([503, "service_unavailable"]);
      expect((await test.createKey()).key).toMatch(/^cs_live_/);
    } finally {
      await test.close();
    }
  });
});
