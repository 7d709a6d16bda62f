/** API keys by email: code guessing, enumeration of addresses, keys in the wrong places. */
import { crc32 } from "node:zlib";
import { describe, expect, it } from "vitest";
import { AppError } from "#lib/errors";
import { startTestApp } from "#support/app";
import { anyKind } from "#support/databases";
import { setupTestApp } from "#support/setup-app";

const generous = {
  LIMIT_KEY_REQUEST_PER_ADDRESS_PER_HOUR: "1000",
  LIMIT_KEY_REQUEST_PER_IP_PER_HOUR: "1000",
};

describe("API keys by email", () => {
  const { test } = setupTestApp(anyKind, generous);
  const query = (text: string, values: unknown[] = []) => test.query(text, values);
  const request = (email: string, name?: string) =>
    test.call("POST", "/v1/keys/request", { body: { email, ...(name && { name }) } });
  const verify = (email: string, code: string) =>
    test.call("POST", "/v1/keys/verify", { body: { email, code } });
  const mailedCode = async (email: string) => {
    const { body } = await test.call("GET", "/dev/mailbox");
    return body.messages.find(({ to }: { to: string }) => to === email).subject.slice(0, 6) as string;
  };
  const wrong = (code: string, i = 1) => String((Number(code) + i) % 1_000_000).padStart(6, "0");

  it("answers known and unknown addresses alike, and shows the key once", async () => {
    const first = await request("Ada@Example.com", "laptop");
    expect([first.status, first.body.expires_in]).toEqual([200, 600]);
    const made = await verify("ada@example.com", await mailedCode("ada@example.com"));
    expect(made.status).toBe(201);
    expect(made.headers.get("cache-control")).toBe("no-store");
    expect(made.body).toMatchObject({
      name: "laptop",
      email: "ada@example.com",
      default_visibility: "public",
    });
    const again = await request("ada@example.com");
    const unknown = await request("nobody@example.com");
    expect(again.body).toEqual(unknown.body);
    expect(
      JSON.stringify([...again.headers].filter(([name]) => !/^(request-id|.*ratelimit.*)$/.test(name))),
    ).toBe(
      JSON.stringify([...unknown.headers].filter(([name]) => !/^(request-id|.*ratelimit.*)$/.test(name))),
    );

    const key: string = made.body.api_key;
    expect(key).toMatch(/^cs_test_[0-9A-Za-z]{36}$/);
    const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    const sum = [...key.slice(-6)].reduce((value, digit) => value * 62 + digits.indexOf(digit), 0);
    expect(sum).toBe(crc32(key.slice(0, -6)));
    const { status, body: info } = await test.call("GET", "/v1/keys/info", { key });
    expect(status).toBe(200);
    expect(info).toMatchObject({
      key_id: made.body.key_id,
      prefix: key.slice(0, 12),
      scopes: ["attest", "authorize", "identity", "read"],
      attestations_today: 0,
      expires_at: null,
      rate_limit: { per_minute: 100, per_day: Number.MAX_SAFE_INTEGER },
    });
    expect(JSON.stringify(info)).not.toContain(key);
    await test.call("POST", "/v1/attest", { key, body: { agent_slug: "a", action: "b", inputs_hash: "c" } });
    expect((await test.call("GET", "/v1/keys/info", { key })).body.attestations_today).toBe(1);
    const dump = JSON.stringify([
      (await query("SELECT * FROM api_keys")).rows,
      (await query("SELECT * FROM audit_events")).rows,
    ]);
    expect(dump).not.toContain(key);
    expect(dump).not.toContain(key.slice(12, -4));
  });

  it("says that mail is out of reach, to known and unknown addresses alike", async () => {
    const { context } = test.app;
    const { mailer } = context;
    const down = new AppError("service_unavailable", "mail cannot be sent right now; try again shortly");
    context.mailer = { send: () => Promise.reject(down) };
    const answers = [await request("ada@example.com"), await request("stranger@example.com")];
    context.mailer = mailer;
    for (const { status, body } of answers)
      expect([status, body.code, body.detail]).toEqual([503, "service_unavailable", down.detail]);
  });

  it("gives one organization to one person, whatever the case of the address", async () => {
    const organizations = [];
    for (const email of ["Eve@example.com", "eve@EXAMPLE.com"]) {
      await request(email);
      const { body } = await verify(email, await mailedCode("eve@example.com"));
      const { rows } = await query("SELECT organization_id FROM api_keys WHERE id = $1", [body.key_id]);
      organizations.push(rows[0]?.["organization_id"]);
    }
    expect(new Set(organizations).size).toBe(1);
  });

  it("stores the code as HMAC only", async () => {
    await request("hmac@example.com");
    const code = await mailedCode("hmac@example.com");
    const { rows } = await query("SELECT * FROM email_codes WHERE email = 'hmac@example.com'");
    expect(Buffer.from(rows[0]?.["code_hmac"] as Uint8Array)).toHaveLength(32);
    expect(JSON.stringify(rows.map((row) => ({ ...row, code_hmac: null })))).not.toContain(code);
  });

  it("voids a code after 5 wrong tries, and takes it once only", async () => {
    await request("five@example.com");
    const code = await mailedCode("five@example.com");
    for (let i = 1; i <= 5; i += 1) {
      const { status, body } = await verify("five@example.com", wrong(code, i));
      expect([status, body.error, body.code]).toEqual([401, "Invalid code", "invalid_code"]);
    }
    expect((await verify("five@example.com", code)).status).toBe(401);
    await request("once@example.com");
    const once = await mailedCode("once@example.com");
    const answers = await Promise.all(Array.from({ length: 4 }, () => verify("once@example.com", once)));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 401, 401, 401]);
  });

  it("evaluates at most 5 of 200 parallel tries", async () => {
    await request("many@example.com");
    const code = await mailedCode("many@example.com");
    const tries = Array.from({ length: 200 }, (_, i) => verify("many@example.com", wrong(code, i + 1)));
    expect(new Set((await Promise.all(tries)).map(({ status }) => status))).toEqual(new Set([401]));
    const { rows } = await query(
      "SELECT c.tries, f.failures FROM email_codes c JOIN email_code_failures f USING (email) WHERE email = 'many@example.com'",
    );
    expect(rows).toEqual([{ tries: 5, failures: 5 }]);
    expect((await verify("many@example.com", code)).status).toBe(401);
  });

  it("ends an address's tries for the day after 10 failures, also when they race, and not the next day's", async () => {
    const email = "ten@example.com";
    for (let round = 0; round < 3; round += 1) {
      await request(email);
      const code = await mailedCode(email);
      await Promise.all(Array.from({ length: 8 }, (_, i) => verify(email, wrong(code, i + 1))));
    }
    expect((await query("SELECT failures FROM email_code_failures WHERE email = $1", [email])).rows).toEqual([
      { failures: 10 },
    ]);
    await request(email);
    const code = await mailedCode(email);
    expect((await verify(email, code)).status).toBe(401);
    await query("UPDATE email_code_failures SET day = day - 1 WHERE email = $1", [email]);
    expect((await verify(email, code)).status).toBe(201);
  });

  it("counts a code's ten minutes by the database's clock", async () => {
    const { context } = test.app;
    const { clock } = context;
    for (const shiftMs of [-86_400_000, 86_400_000]) {
      context.clock = () => new Date(clock().getTime() + shiftMs);
      await request("clock@example.com");
      context.clock = clock;
      const { rows } = await query(
        "SELECT extract(epoch FROM expires_at - now())::int AS left FROM email_codes WHERE email = 'clock@example.com'",
      );
      expect(Math.abs(Number(rows[0]?.["left"]) - 600)).toBeLessThan(60);
    }
  });

  it("refuses a code that has expired", async () => {
    await request("late@example.com");
    await query(
      "UPDATE email_codes SET expires_at = now() - interval '1 second' WHERE email = 'late@example.com'",
    );
    expect((await verify("late@example.com", await mailedCode("late@example.com"))).status).toBe(401);
  });

  it("gives one 401 for unknown, malformed, expired and deleted keys, and deletes at once", async () => {
    const { key, keyId } = await test.createKey();
    const deleted = await test.call("DELETE", "/v1/keys", { key });
    expect([deleted.status, deleted.body.key_id]).toEqual([200, keyId]);
    const { key: expired, keyId: expiredId } = await test.createKey();
    await query("UPDATE api_keys SET expires_at = now() - interval '1 second' WHERE id = $1", [expiredId]);
    const typo = key.slice(0, -1) + (key.endsWith("a") ? "b" : "a");
    const answers = [];
    for (const bad of [key, expired, typo, "x", "cs_live_x y", `${"k".repeat(5000)}`])
      answers.push(await test.call("GET", "/v1/keys/info", { key: bad }));
    const shown = answers.map(({ status, body, headers }) => {
      const { request_id, ...rest } = body;
      expect(request_id).toBe(headers.get("request-id"));
      return JSON.stringify({ status, rest, challenge: headers.get("www-authenticate") });
    });
    expect(new Set(shown).size).toBe(1);
    expect(answers[0]?.body).toMatchObject({
      status: 401,
      error: "Invalid API key",
      code: "invalid_api_key",
    });
    for (const headers of [{}, { authorization: "Basic eDp5" }, { authorization: "Bearer" }] as Record<
      string,
      string
    >[]) {
      const { status, body } = await test.call("GET", "/v1/keys/info", { headers });
      expect([status, body.code]).toEqual([401, "missing_authorization"]);
    }
  });

  it("lets every key see and delete itself", async () => {
    const { key } = await test.createKey("scopes@example.com", ["read"]);
    expect((await test.call("GET", "/v1/keys/info", { key })).body.scopes).toEqual(["read"]);
    expect((await test.call("DELETE", "/v1/keys", { key })).status).toBe(200);
  });

  it.each([
    ["no address", {}, "/email"],
    ["no email address", { email: "x" }, "/email"],
    ["an address that is too long", { email: `${"a".repeat(250)}@example.com` }, "/email"],
    ["two addresses", { email: "a@example.com,b@example.com" }, "/email"],
    ["a header in the address", { email: "a@example.com\r\nBcc: b@example.com" }, "/email"],
    ["a name of 101 characters", { email: "a@example.com", name: "n".repeat(101) }, "/name"],
    ["an unknown field", { email: "a@example.com", mail: 1 }, "/mail"],
  ])("refuses %s", async (_, body, pointer) => {
    const { status, body: problem } = await test.call("POST", "/v1/keys/request", { body });
    expect([status, problem.errors[0].pointer]).toEqual([422, pointer]);
  });
});

describe("limits on key requests", () => {
  it("are 5 an hour per address and 20 per client", async () => {
    const test = await startTestApp();
    try {
      const request = (email: string, ip: string) =>
        test.call("POST", "/v1/keys/request", { body: { email }, ip });
      const statuses = [];
      for (let i = 0; i < 6; i += 1) statuses.push((await request("a@example.com", `10.0.0.${i}`)).status);
      expect(statuses).toEqual([200, 200, 200, 200, 200, 429]);
      const refused = await request("A@example.com", "10.0.0.9");
      expect([refused.status, refused.body.code]).toEqual([429, "rate_limit_exceeded"]);
      expect(refused.body.detail).toMatch(/^at most 5 requests in 60 minutes; try again in \d\d minutes$/);
      expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(3000);
      const others = [];
      for (let i = 0; i < 21; i += 1) others.push((await request(`b${i}@example.com`, "10.0.1.1")).status);
      expect(others).toEqual([...Array.from({ length: 20 }, () => 200), 429]);
    } finally {
      await test.close();
    }
  });
});
