/**
 * `npm run doctor` on a deployment that is fit, and on the same one with a fault planted: each is named with what to do
 * about it, nothing is changed, and no secret is printed.
 */
import { randomBytes } from "node:crypto";
import { chmod, mkdir, readdir, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import postgres from "postgres";
import { SMTPServer } from "smtp-server";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { examine, examineReplica } from "#lib/cli/shared/doctor-keys";
import { encodeFindings, type Finding } from "#lib/cli/shared/doctor-settings";
import { openAsItIs } from "#lib/db/postgres/client";
import { parseEnv } from "#lib/env";
import { openForkGuard } from "#lib/log/sequencer/fork-guard";
import { createLocalSigner } from "#lib/log/signing/signing-keys";
import { encodeVerifierKey, makeVerifierKey } from "#lib/protocol/tlog/checkpoint";
import { startTestApp, type TestApp } from "#support/app";
import { createTestDatabase, databaseKinds } from "#support/databases";
import { client, startProvider } from "#support/oidc-provider";
import { findPort } from "#support/ports";

const witnessKey = makeVerifierKey(
  "witness.example",
  4,
  createLocalSigner(randomBytes(32).toString("base64"), "witness").publicKey,
);
const secrets = { smtp: "mail-password-1", rp: "5e".repeat(32), auth: "auth-secret-".repeat(4) };

/** Answers requests to others; hosts in `out` can't be reached. */
function createNetwork({ out = [] as string[], aheadMs = 0, status = 200, body = "" } = {}) {
  const asked: string[] = [];
  const answer = (async (url: string) => {
    const { host } = new URL(url);
    asked.push(host);
    if (out.includes(host)) throw new TypeError("fetch failed", { cause: { code: "ECONNREFUSED" } });
    const date = new Date(Date.now() + aheadMs).toUTCString();
    return new Response(body, { status, headers: { date } });
  }) as typeof fetch;
  return { asked, outside: { fetch: answer, clock: () => new Date() } };
}

const faults = (findings: Finding[]) => findings.filter(({ status }) => status === "fault");
const texts = (findings: Finding[], status = "fault") =>
  findings.filter((one) => one.status === status).map(({ area, says }) => `${area}: ${says}`);

describe("settings that the service wouldn't start with", () => {
  it("are named one by one, without their values", async () => {
    const { outside } = createNetwork();
    const findings = await examine({ AUTH_SECRET: "too-short", SMTP_URL: "http://a:pw@b" }, outside);
    expect(texts(findings)).toEqual([
      expect.stringMatching(/^settings: AUTH_SECRET: must be at least 32/),
      expect.stringMatching(/^settings: SMTP_URL: /),
    ]);
    expect(JSON.stringify(findings)).not.toMatch(/too-short|pw@/);
  });

  it.each([{ PUBLIC_BASE_URL: "sign.example.com" }, { LOG_STORE: "file:/%zz" }])(
    "are faults, whatever they are: %o",
    async (variables) => {
      const [name = ""] = Object.keys(variables);
      expect(texts(await examine(variables, createNetwork().outside))).toEqual([
        expect.stringContaining(`settings: ${name}: `),
      ]);
      const unreadable = new Proxy(variables, {
        ownKeys: () => {
          throw new TypeError("a secret");
        },
      });
      expect(texts(await examine(unreadable, createNetwork().outside))).toEqual([
        "settings: the settings can't be read (TypeError)",
      ]);
    },
  );

  it("of a machine for trying things out are faults of a deployment", async () => {
    const findings = await examine({ DATA_DIR: "/nowhere/at/all" }, createNetwork().outside);
    const all = texts(findings).join("\n");
    for (const line of [/loopback address/, /embedded database/, /development mailbox/, /stand-in runs/])
      expect(all).toMatch(line);
  });
});

describe.skipIf(!databaseKinds.includes("postgres"))("a deployment", () => {
  let smtp: SMTPServer;
  let variables: Record<string, string>;
  let test: TestApp;
  let drop = async () => {};
  let size = 0;
  let endpointId = "";
  const run = (changed: Record<string, string> = {}, network = createNetwork()) =>
    examine({ ...variables, ...changed }, network.outside);
  const inData = (...names: string[]) => path.join(variables["DATA_DIR"] ?? "", ...names);

  beforeAll(async () => {
    const smtpPort = await findPort();
    smtp = new SMTPServer({
      disabledCommands: ["STARTTLS"],
      allowInsecureAuth: true,
      onAuth: ({ password }, _session, done) =>
        password === secrets.smtp ? done(null, { user: "u" }) : done(new Error("wrong password")),
    });
    await new Promise<void>((resolve) => smtp.listen(smtpPort, "127.0.0.1", () => resolve()));
    const database = await createTestDatabase();
    drop = database.drop;
    const production = {
      PUBLIC_BASE_URL: "https://countersign.example",
      DATABASE_URL: database.url,
      AUTH_SECRET: secrets.auth,
      PROCESSES: "2",
      TRUSTED_PROXY_HOPS: "1",
      TRUSTED_PROXIES: "10.0.0.5",
      WITNESSES: `${encodeVerifierKey(witnessKey)} https://witness.example/w; policy 1`,
      WORLD_APP_ID: "app_x",
      WORLD_RP_ID: "rp_x",
      WORLD_RP_SIGNING_KEY: secrets.rp,
      WORLD_CHAIN_RPC_URL: "https://rpc.example/a-key-in-the-path",
      SMTP_URL: `smtp://u:${secrets.smtp}@127.0.0.1:${smtpPort}`,
      MAIL_FROM: "Countersign <no-reply@countersign.example>",
    };
    // A witness that nobody can reach would hold up the start.
    const { WITNESSES, ...withoutWitness } = production;
    test = await startTestApp("postgres", withoutWitness);
    variables = { ...test.env, WITNESSES };
    const { key } = await test.createKey();
    const made = await test.call("POST", "/v1/attest", {
      key,
      body: { agent_slug: "fit", action: "a", inputs_hash: "b" },
    });
    expect(made.status).toBe(201);
    size = made.body.log.tree_size;
    const endpoint = await test.call("POST", "/v1/webhooks", {
      key,
      body: { url: "https://hooks.example/in", events: ["attestation.created"] },
    });
    expect(endpoint.status).toBe(201);
    endpointId = endpoint.body.id;
    expect(parseEnv(variables).isLoopback).toBe(false);
  });
  afterAll(async () => {
    await test?.close();
    await drop();
    await new Promise<void>((resolve) => smtp.close(() => resolve()));
  });

  it("that is fit has no fault, and is left as it was", async () => {
    const before = await readdir(inData("log-guard"));
    const network = createNetwork();
    const findings = await run({}, network);
    // The tests' server is fast, not durable, and its role is the superuser.
    const expected = ["fsync", "synchronous_commit", "full_page_writes"].map(
      (name) => `database: ${name} is off, so a crash loses what was acknowledged`,
    );
    expect(texts(findings).filter((one) => !expected.includes(one))).toEqual([]);
    const right = texts(findings, "ok").join("\n");
    for (const line of [
      "settings: links lead to https://countersign.example",
      "settings: 1 witness, of which 1 must cosign",
      "database: all migrations are applied",
      "clock: this machine's clock and the database's differ by 0 ms",
      "keys: the attestation key",
      "keys: only this user may read",
      "keys: AUTH_SECRET opens the keys of 1 webhook endpoint",
      `log: the fork guard agrees with the database: countersign.example/log at size ${size}`,
      "witnesses: witness.example answers",
      "settings: whoever receives mail can create an organization (SIGN_UP)",
      "world: rpc.example answers",
      "clock: this machine's clock and that of witness.example differ by 0 s",
      "network: the public address answers",
    ])
      expect(right).toContain(line);
    expect(right).toMatch(/database: 42 of \d+ connections at most/);
    const alone = texts(await run({ PROCESSES: "1" }), "ok").join("\n");
    expect(alone).toMatch(/database: 20 of \d+ connections at most/);
    expect(right).toMatch(/mail: 127\.0\.0\.1:\d+ takes mail/);
    expect(await readdir(inData("log-guard"))).toEqual(before);
    const printed = JSON.stringify(findings) + encodeFindings(findings).join("\n");
    const password = new URL(variables["DATABASE_URL"] ?? "").password;
    for (const secret of [...Object.values(secrets), "a-key-in-the-path", password])
      expect(printed).not.toContain(secret);
  });

  const planted: [string, Record<string, string>, RegExp][] = [
    ["http", { PUBLIC_BASE_URL: "http://countersign.example" }, /^settings: .*not https/],
    ["no proxy", { TRUSTED_PROXY_HOPS: "", TRUSTED_PROXIES: "" }, /^settings: TRUSTED_PROXY_HOPS is 0/],
    ["no database", { DATABASE_URL: "postgres://u:pw@127.0.0.1:9/x" }, /^database: .*ECONNREFUSED/],
    ["mail's password", { SMTP_URL: "smtp://u:wrong@127.0.0.1:PORT" }, /^mail: .*EAUTH/],
    ["no mail server", { SMTP_URL: "smtp://u:wrong@127.0.0.1:9" }, /^mail: .*(ECONNREFUSED|ESOCKET)/],
    ["no Redis", { REDIS_URL: "redis://:pw@127.0.0.1:9" }, /^network: Redis is out of reach/],
    ["a v4 key that is none", { WORLD_ID_V4_VERIFYING_KEY: "{}" }, /^world: WORLD_ID_V4_VERIFYING_KEY/],
    [
      "another key",
      { SIGNING_KEY: Buffer.alloc(32, 1).toString("base64") },
      /^keys: the attestation key is not/,
    ],
    ["a key that is none", { LOG_SIGNING_KEY: "x" }, /^keys: a key can't be read: LOG_SIGNING_KEY/],
    ["another origin", { LOG_ORIGIN: "other.example/log" }, /^log: by LOG_ORIGIN this log is other/],
    ["no list", { LOG_LIST: "/nowhere" }, /^log: the list in LOG_LIST .* can't be read \(ENOENT\)/],
    ["no store", { LOG_STORE: "file:/dev/null/store" }, /^log: the store \/dev\/null.*\(ENOTDIR\)/],
    [
      "authorities' roots",
      { TSA_URLS: "https://tsa.example", TSA_CERTIFICATES: "/nowhere.pem" },
      /^witnesses: TSA_/,
    ],
  ];
  it.each(planted)("with a fault (%s) has it named", async (_what, changed, says) => {
    const port = new URL(variables["SMTP_URL"] ?? "").port;
    const filled = Object.fromEntries(
      Object.entries(changed).map(([name, value]) => [name, value.replace("PORT", port)]),
    );
    const found = await run(filled);
    const named = faults(found).filter(({ area, says: text }) => says.test(`${area}: ${text}`));
    expect(named).toHaveLength(1);
    expect(named[0]?.mend).toMatch(/\w{3}/);
    expect(JSON.stringify(found)).not.toMatch(/pw@|wrong/);
  });

  it("without World ID says who approves, and asks nothing of World", async () => {
    const none = { WORLD_APP_ID: "", WORLD_RP_ID: "", WORLD_RP_SIGNING_KEY: "", WORLD_CHAIN_RPC_URL: "" };
    const missing = await run(none);
    expect(
      faults(missing)
        .map(({ says }) => says)
        .join(),
    ).toContain("set APPROVALS=passkeys");
    const passkeys = await run(
      { ...none, APPROVALS: "passkeys" },
      createNetwork({ out: ["developer.world.org"] }),
    );
    expect(texts(passkeys, "ok")).toContain(
      "world: approvals are passkeys of enrolled approvers, without World ID",
    );
    expect(texts(passkeys).join()).not.toMatch(/world: |TEST/);
    expect(texts(await run({ APPROVALS: "passkeys" }), "ok")).toContain(
      "world: World ID is set up, so APPROVALS changes nothing",
    );
  });

  it("with a provider of sign-in has its discovery document read", async () => {
    const issuer = "https://id.corp.example";
    const oidc = { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: "c", OIDC_CLIENT_SECRET: "s" };
    const read = async (document: object) => run(oidc, createNetwork({ body: JSON.stringify(document) }));
    const fit = await read({ issuer, userinfo_endpoint: `${issuer}/me` });
    expect(texts(fit, "ok")).toContain("network: id.corp.example signs people in (OIDC)");
    const named = async (document: object) =>
      texts(await read(document)).filter((one) => one.startsWith("network"));
    expect(await named({ issuer: "https://other.example", userinfo_endpoint: "x" })).toEqual([
      "network: id.corp.example calls itself another issuer",
    ]);
    expect(await named({ issuer })).toEqual(["network: id.corp.example has no userinfo endpoint"]);
    const away = texts(await run(oidc, createNetwork({ out: ["id.corp.example"] })));
    expect(away).toContain("network: id.corp.example can't be read (ECONNREFUSED)");
  });

  it("with a provider of sign-in has the client's secret tried there", async () => {
    const provider = await startProvider(`${variables["PUBLIC_BASE_URL"]}/api/auth/callback/oidc`);
    const { asked, outside } = createNetwork();
    const network = {
      asked,
      outside: {
        ...outside,
        fetch: (...given: Parameters<typeof fetch>) =>
          (String(given[0]).startsWith(provider.issuer) ? fetch : outside.fetch)(...given),
      },
    };
    const read = async (id: string, secret: string) => {
      const oidc = { OIDC_ISSUER: provider.issuer, OIDC_CLIENT_ID: id, OIDC_CLIENT_SECRET: secret };
      const found = await run(oidc, network);
      return [...texts(found, "ok"), ...texts(found)].filter((one) => /OIDC|client/.test(one));
    };
    const { host } = new URL(provider.issuer);
    expect(await read(client.id, client.secret)).toEqual([
      `network: ${host} signs people in (OIDC), and knows this client`,
    ]);
    const refused = [`network: ${host} doesn't know this client, or not by this secret`];
    expect(await read(client.id, "another-secret")).toEqual(refused);
    expect(await read("nobody", client.secret)).toEqual(refused);
    await provider.close();
  });

  it("with a collector of the audit log has an export of nothing sent there", async () => {
    const logs = { OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: "https://siem.corp.example/v1/logs" };
    const read = async (network: Parameters<typeof createNetwork>[0]) => {
      const found = await run(logs, createNetwork(network));
      return ["ok", "warning", "fault"].flatMap((status) => texts(found, status));
    };
    expect(await read({ body: "{}" })).toContain("network: siem.corp.example takes the audit log (OTLP)");
    expect(await read({ body: '{"partialSuccess":{"errorMessage":"slow down"}}' })).toContain(
      "network: siem.corp.example takes OTLP logs with a warning: slow down",
    );
    expect(await read({ status: 404 })).toContain("network: siem.corp.example answers 404 to OTLP logs");
    expect(await read({ out: ["siem.corp.example"] })).toContain(
      "network: siem.corp.example can't be reached (ECONNREFUSED)",
    );
    const { query } = test.app.context.database;
    await query("INSERT INTO daily_counts VALUES (gen_random_uuid(), 'rejected', 'x', '2026-01-02', 3)", []);
    await query("UPDATE audit_events SET export_due_at = now(), created_at = now() - interval '1 hour'", []);
    const warnings = await read({ body: "{}" });
    expect(warnings).toContain(
      "database: the collector has rejected 3 audit events in the last month, on 2026-01-02 most recently",
    );
    expect(warnings.join("\n")).toMatch(
      /database: \d+ audit events waited for the collector for ten minutes/,
    );
  });

  it("with others out of reach, or clocks that differ, has it named", async () => {
    const hosts = ["witness.example", "developer.world.org"];
    const found = texts(await run({}, createNetwork({ out: hosts })));
    expect(found).toContain("witnesses: witness.example is out of reach (ECONNREFUSED)");
    expect(found).toContain("world: developer.world.org is out of reach (ECONNREFUSED)");
    const late = texts(await run({}, createNetwork({ aheadMs: 60_000 }))).filter((one) =>
      one.startsWith("clock"),
    );
    expect(late[0]).toMatch(/that of \S+ differ by [1-6]\d s/);
    const network = createNetwork();
    const slow = { ...network.outside, clock: () => new Date(Date.now() - 90_000) };
    const own = texts(await examine(variables, slow)).filter((one) => one.startsWith("clock"));
    expect(own[0]).toMatch(/the database's differ by \d{5} ms/);
  });

  it("with Resend's key refused has it named, and not if the key may only send", async () => {
    const resend = { SMTP_URL: "", RESEND_API_KEY: "re_secret" };
    const refused = texts(await run(resend, createNetwork({ status: 401, body: "{}" })));
    expect(refused.filter((one) => one.startsWith("mail"))).toEqual(["mail: Resend answers 401"]);
    const body = '{"name":"restricted_api_key"}';
    expect(texts(await run(resend, createNetwork({ status: 401, body }))).join()).not.toMatch(/mail: /);
  });

  it("whose key files others may read, or whose key is gone, has it named", async () => {
    const file = inData("keys", "log-signing-key");
    await chmod(file, 0o644);
    expect(texts(await run()).join("\n")).toMatch(/keys: others on this machine may read \S+log-signing-key/);
    await chmod(file, 0o600);
    await rename(file, `${file}.away`);
    expect(texts(await run()).join("\n")).toMatch(/keys: the log key is missing/);
    await rename(`${file}.away`, file);
    await rename(inData("keys"), inData("keys-away"));
    await mkdir(inData("keys"));
    expect(texts(await run({ AUTH_SECRET: "" })).join("\n")).toMatch(/keys: AUTH_SECRET is missing/);
    await rm(inData("keys"), { recursive: true });
    await rename(inData("keys-away"), inData("keys"));
  });

  it("whose AUTH_SECRET is another one has what it doesn't open named", async () => {
    const found = await run({ AUTH_SECRET: "another-secret-".repeat(4) });
    const named = faults(found).filter(({ area }) => area === "keys");
    expect(named.map(({ says }) => says)).toEqual([
      `AUTH_SECRET doesn't open the keys of 1 of 1 webhook endpoint: ${endpointId}`,
    ]);
    expect(named[0]?.mend).toMatch(/Bring back the AUTH_SECRET .*rotate these endpoints/);
    expect(JSON.stringify(found)).not.toContain("another-secret-");
  });

  it("whose database is older than what this machine signed has the fork guard's words", async () => {
    const before = await readdir(inData("log-guard"));
    const guard = await openForkGuard(inData("log-guard"), { durable: false, now: new Date() });
    await guard.advance({ logId: 1, size: size + 5, rootHex: "ab".repeat(32) });
    guard.close();
    expect(texts(await run()).join("\n")).toMatch(
      /log: Countersign refuses to sign: .*npm run log -- new-epoch/,
    );
    for (const file of await readdir(inData("log-guard")))
      if (!before.includes(file)) await rm(inData("log-guard", file));
    expect(texts(await run(), "ok").join("\n")).toMatch(/log: the fork guard agrees/);
  });

  it("whose migrations are missing, or from a newer version, has it named", async () => {
    const sql = postgres(variables["DATABASE_URL"] ?? "", { max: 1 });
    await sql`INSERT INTO drizzle.__drizzle_migrations (hash, created_at) VALUES ('', 9000000000000)`;
    expect(texts(await run()).join("\n")).toMatch(/database: a newer version of Countersign has changed/);
    await sql`DELETE FROM drizzle.__drizzle_migrations WHERE hash = ''`;
    const [newest] = await sql`DELETE FROM drizzle.__drizzle_migrations
      WHERE created_at = (SELECT max(created_at) FROM drizzle.__drizzle_migrations) RETURNING created_at`;
    expect(texts(await run(), "warning").join("\n")).toMatch(/database: migrations are missing/);
    await sql`INSERT INTO drizzle.__drizzle_migrations (hash, created_at) VALUES ('', ${newest?.["created_at"]})`;
    const { url, drop: dropEmpty } = await createTestDatabase({ empty: true });
    const found = await run({ DATABASE_URL: url });
    expect(texts(found, "warning").join("\n")).toMatch(/database: the database is empty/);
    expect(texts(found)).toContain("log: this machine has signed a log, but the database is empty");
    await dropEmpty();
    await sql.end();
  });

  it("that never started has named what its start makes, and nothing to restore", async () => {
    const { url, drop: dropEmpty } = await createTestDatabase({ empty: true });
    for (const DATABASE_URL of [url, ""]) {
      const fresh = { DATABASE_URL, PROCESSES: "", DATA_DIR: inData("fresh"), AUTH_SECRET: "" };
      const found = (await run(fresh)).filter(({ area }) => area === "keys" || area === "log");
      expect(found.map(({ status, says }) => `${status}: ${says}`)).toEqual(
        ["AUTH_SECRET", "the attestation key", "the log key", "the zk key"].map(
          (what) => `ok: the first start makes ${what}`,
        ),
      );
    }
    const store = inData("store");
    const ofStore = async (LOG_STORE: string) =>
      (await run({ DATABASE_URL: url, DATA_DIR: inData("fresh"), LOG_STORE }))
        .filter(({ area }) => area === "log")
        .map(({ status, says }) => `${status}: ${says}`);
    expect(await ofStore(`file:${store}`)).toEqual([`ok: the store ${store} has no log yet`]);
    await mkdir(store);
    await writeFile(path.join(store, "head-lock"), "{}");
    expect(await ofStore(`file:${store}`)).toEqual([
      `fault: the store ${store} has a log, but the database is empty`,
    ]);
    expect(await ofStore("file:/dev/null/store")).toEqual([
      "fault: the store /dev/null/store can't be read (ENOTDIR)",
    ]);
    await dropEmpty();
  });

  it("whose database can't hold every character has it named, and doesn't start on it", async () => {
    const url = new URL(variables["DATABASE_URL"] ?? "");
    const sql = postgres(url.href, { max: 1 });
    url.pathname = `/latin_${randomBytes(4).toString("hex")}`;
    const name = url.pathname.slice(1);
    await sql.unsafe(`CREATE DATABASE ${name} ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0`);
    expect(texts(await run({ DATABASE_URL: url.href })).join("\n")).toContain(
      "database: the database's encoding is LATIN1",
    );
    await expect(startTestApp("postgres", { DATABASE_URL: url.href })).rejects.toThrow(
      /cannot start: .* its encoding lacks characters .*ENCODING 'UTF8'/,
    );
    await sql.unsafe(`DROP DATABASE ${name} (FORCE)`);
    await sql.end();
  });

  it("whose old entries are in a store that isn't set has it named", async () => {
    const says = "log: LOG_STORE isn't set, but it alone has the entries that were dropped here";
    expect(texts(await run())).not.toContain(says);
    // Mimics `npm run log -- compact`.
    await test.query("UPDATE log_leaves SET data = NULL, leaf_hash = NULL WHERE leaf_index = 0", []);
    expect(texts(await run())).toContain(says);
  });

  it("whose replica is no standby, or out of reach, has it named", async () => {
    const primary = await openAsItIs(variables["DATABASE_URL"] ?? "");
    const itself = await examineReplica(variables["DATABASE_URL"] ?? "", primary, 60_000);
    expect(texts(itself)).toEqual(["replica: the replica isn't used: it is no standby"]);
    const nobody = await examineReplica("postgres://u:pw@127.0.0.1:1/x", primary, 60_000);
    expect(texts(nobody)).toEqual(["replica: the replica isn't used: ECONNREFUSED"]);
    await primary.close();
  });
});
