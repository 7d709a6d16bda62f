/** Well-formed keys that nobody has: counted by the client's address, before the database is asked. */
import { randomBytes } from "node:crypto";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { anyKind } from "#support/databases";
import { setupTestApp } from "#support/setup-app";
import { createApiKeyText } from "./api-keys";

const makeKey = () => createApiKeyText("test", (length) => new Uint8Array(randomBytes(length)));

describe("unknown keys", () => {
  const { test } = setupTestApp(anyKind, { LIMIT_UNKNOWN_KEY_PER_MINUTE: "10" });
  let lookUps = 0;
  let client = 0;
  let ip = "";
  const ask = (key: string) => test.call("GET", "/v1/keys/info", { key, ip });
  const statuses = async (keys: string[]) =>
    (await Promise.all(keys.map(ask))).map(({ status }) => status).sort();

  beforeAll(async () => {
    const { database } = test.app.context;
    const { statement } = database;
    // A key's look-up is the only statement of a request that is refused.
    database.statement = (text, use) => {
      const run = statement<never>(text, use);
      return (...parameters) => {
        lookUps += 1;
        return run(...parameters);
      };
    };
  });
  beforeEach(() => {
    client += 1;
    ip = `10.0.0.${client}`;
    lookUps = 0;
  });
  /** Uses the address's count up. */
  const exhaust = () => statuses(Array.from({ length: 11 }, makeKey));

  it("get 401 up to the limit, then 429 without a look-up", async () => {
    for (let i = 0; i < 10; i += 1) expect((await ask(makeKey())).status).toBe(401);
    const last = await ask(makeKey());
    expect([last.status, last.body.code, lookUps]).toEqual([429, "rate_limit_exceeded", 10]);
    expect(last.headers.get("ratelimit-policy")).toBe('"unknown_key";q=10;w=60');
    expect(Number(last.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(await statuses(Array.from({ length: 50 }, makeKey))).toEqual(Array(50).fill(429));
    expect(lookUps).toBe(10);
    const elsewhere = await test.call("GET", "/v1/keys/info", { key: makeKey(), ip: "10.9.9.9" });
    expect(elsewhere.status).toBe(401);
  });

  it("that come all at once are looked up a few at a time, so that the count is in time", async () => {
    const answers = await statuses(Array.from({ length: 300 }, makeKey));
    expect(answers.filter((status) => status === 401)).toHaveLength(10);
    expect(answers.filter((status) => status === 429)).toHaveLength(290);
    expect(lookUps).toBeLessThanOrEqual(10 + 3);
  });

  it("are counted where a key only shows more, too", async () => {
    const read = () => test.call("GET", "/v1/verify/x", { key: makeKey(), ip });
    for (let i = 0; i < 10; i += 1) expect((await read()).status).toBe(404);
    expect((await read()).status).toBe(429);
    expect((await test.call("GET", "/v1/verify/x", { ip })).status).toBe(404);
  });

  it("hold up no key of the same address that was found before, which is refused at once when it is revoked", async () => {
    const { key, keyId } = await test.createKey();
    expect((await ask(key)).status).toBe(200);
    await exhaust();
    expect((await ask(makeKey())).status).toBe(429);
    for (let i = 0; i < 20; i += 1) expect((await ask(key)).status).toBe(200);
    await test.query("UPDATE api_keys SET revoked_at = now() WHERE id = $1", [keyId]);
    lookUps = 0;
    for (let i = 0; i < 20; i += 1) expect((await ask(key)).status).toBe(401);
    expect(lookUps).toBe(1);
  });

  it("don't include a key that has just been revoked", async () => {
    const { key, keyId } = await test.createKey("just-revoked@example.com");
    expect((await ask(key)).status).toBe(200);
    await test.query("UPDATE api_keys SET revoked_at = now() WHERE id = $1", [keyId]);
    expect((await ask(key)).status).toBe(401);
    for (let i = 0; i < 10; i += 1) expect((await ask(makeKey())).status).toBe(401);
    expect((await ask(makeKey())).status).toBe(429);
  });

  it("hold up no key that comes before the count is used up, however many come at once", async () => {
    const made = [];
    for (let i = 0; i < 12; i += 1) made.push((await test.createKey(`nat${i}@example.com`)).key);
    expect(await statuses(made)).toEqual(Array(12).fill(200));
  });

  it("that are one and the same cost one look-up and one count", async () => {
    const dead = makeKey();
    for (let i = 0; i < 40; i += 1) expect((await ask(dead)).status).toBe(401);
    expect(lookUps).toBe(1);
    expect((await ask(makeKey())).status).toBe(401);
  });

  it("without a right checksum are refused for nothing", async () => {
    for (let i = 0; i < 30; i += 1) expect((await ask(`${makeKey().slice(0, -1)}_`)).status).toBe(401);
    expect(lookUps).toBe(0);
  });
});
