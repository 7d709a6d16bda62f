/** Single sign-on through the built server, with several processes, against a real provider: from the page to the portal. */
import { rm } from "node:fs/promises";
import postgres from "postgres";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { createTestDatabase, databaseKinds, makeDataDir } from "#support/databases";
import { client, startProvider, type TestProvider } from "#support/oidc-provider";
import { run } from "#support/operator-commands";
import { findPort } from "#support/ports";
import { type ServerProcess, startServer } from "./server-process";

vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

describe.skipIf(!databaseKinds.includes("postgres"))("single sign-on", () => {
  let server: ServerProcess;
  let provider: TestProvider;
  let dataDir: string;
  let database: Awaited<ReturnType<typeof createTestDatabase>>;

  beforeAll(async () => {
    dataDir = await makeDataDir();
    database = await createTestDatabase();
    const port = await findPort();
    provider = await startProvider(`http://localhost:${port}/api/auth/callback/oidc`);
    const home = { DATABASE_URL: database.url, DATA_DIR: dataDir };
    server = await startServer("server", dataDir, {
      ...home,
      PORT: String(port),
      PROCESSES: "2",
      SIGN_UP: "invited",
      OIDC_ISSUER: provider.issuer,
      OIDC_CLIENT_ID: client.id,
      OIDC_CLIENT_SECRET: client.secret,
      OIDC_ENFORCED: "on",
    });
    const made = await run("accounts", ["add-owner", "owner@corp.example", "--name", "Corp Ltd"], home);
    const [, id = ""] = /organization ([0-9a-f-]{36})/.exec(made.out) ?? [];
    const sql = postgres(database.url, { max: 1, onnotice: () => {} });
    await sql`INSERT INTO organization_domains (id, organization_id, domain, token, created_at, verified_since)
      VALUES (gen_random_uuid(), ${id}, 'corp.example', 'token', now(), now())`;
    await sql.end();
  });
  afterAll(async () => {
    await server.stop("SIGKILL");
    await provider.close();
    await database.drop();
    await rm(dataDir, { recursive: true, force: true, maxRetries: 3 });
  });

  const get = (target: string, cookies: ReadonlyMap<string, string> = new Map()) => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    return fetch(new URL(target, server.base), { redirect: "manual", headers: { cookie } });
  };
  function keep(cookies: Map<string, string>, response: Response): void {
    for (const one of response.headers.getSetCookie()) {
      const [, name = "", value = ""] = /^([^=]+)=([^;]*)/.exec(one) ?? [];
      if (value === "") cookies.delete(name);
      else cookies.set(name, value);
    }
  }

  it("leads from the sign-in page to the portal, as a member", async () => {
    const page = await (await get("/portal/sign-in?next=/portal/keys")).text();
    expect(page).toContain("Sign in with your company account");
    expect(page).not.toContain("Send me a sign-in link");
    const [, link = ""] = /href="(\/portal\/sign-in\/oidc[^"]*)"/.exec(page) ?? [];
    provider.person = { sub: "ada", claims: { email: "ada@corp.example", email_verified: true } };
    const cookies = new Map<string, string>();
    const started = await get(link.replaceAll("&amp;", "&"));
    expect([started.status, started.headers.get("cache-control")]).toEqual([303, "no-store"]);
    keep(cookies, started);
    const back = await provider.visit(started.headers.get("location") ?? "");
    expect(back.startsWith(`${server.base}/api/auth/callback/oidc?`)).toBe(true);
    const ended = await get(back, cookies);
    expect([ended.status, ended.headers.get("location")]).toEqual([303, `${server.base}/portal/keys`]);
    keep(cookies, ended);
    expect(ended.headers.getSetCookie().join()).toMatch(/session-token=.*HttpOnly; SameSite=Lax/i);
    const keys = await get("/portal/keys", cookies);
    const text = await keys.text();
    expect([keys.status, text.includes("Corp Ltd"), text.includes("ada@corp.example")]).toEqual([
      200,
      true,
      true,
    ]);
    expect(text).toMatch(/ada@corp\.example(?:<!-- -->| )*· (?:<!-- -->)*member/);
  });

  it("says in words why it refuses, and exposes nothing else of next-auth", async () => {
    provider.person = { sub: "eve", claims: { email: "eve@corp.example", email_verified: false } };
    const cookies = new Map<string, string>();
    const started = await get("/portal/sign-in/oidc");
    keep(cookies, started);
    const ended = await get(await provider.visit(started.headers.get("location") ?? ""), cookies);
    const refused = await (await get(ended.headers.get("location") ?? "")).text();
    expect(refused).toContain("verified your email address");
    for (const path of [
      "/api/auth/session",
      "/api/auth/csrf",
      "/api/auth/providers",
      "/api/auth/signin/oidc",
    ])
      expect([path, (await get(path)).status]).toEqual([path, 404]);
  });
});
