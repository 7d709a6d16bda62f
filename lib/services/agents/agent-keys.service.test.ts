import { ed25519 } from "@noble/curves/ed25519.js";
import { describe, expect, it } from "vitest";
import type { KeyHistoryEntry } from "#lib/api/schemas/identity";
import { base64Encode } from "#lib/protocol/encoding/bytes";
import { signInPerson } from "#support/portal";
import { setupTestApp } from "#support/setup-app";
import { updateOwnAgent } from "./identities";

let counter = 0;

function newKey(): string {
  counter += 1;
  const seed = new Uint8Array(32);
  new DataView(seed.buffer).setUint32(0, counter);
  return base64Encode(ed25519.getPublicKey(seed));
}

describe("the keys of an agent", () => {
  const { test, key } = setupTestApp();

  const register = (slug: string, app = test) =>
    app.call("POST", "/v1/identity/register", { key, body: { slug, public_key: newKey() } });
  const patch = (slug: string, body: unknown) => test.call("PATCH", `/v1/identity/${slug}`, { key, body });
  const readPage = async (slug: string, query: string) =>
    (await test.call("GET", `/v1/identity/${slug}/keys${query}`)).body;
  const sql = (text: string, values: unknown[]) => test.query(text, values);

  /** Adds 900 changes from the days before today. */
  async function addOldKeys(slug: string): Promise<void> {
    await sql(
      `INSERT INTO agent_keys (agent_id, public_key, registered_at, retired_at)
       SELECT id, decode(md5(n::text) || md5(n::text), 'hex'), now() - make_interval(days => 2, secs => n), now()
       FROM agents, generate_series(1, 900) AS n WHERE slug = $1`,
      [slug],
    );
  }

  it("are shown few by few: 900 of them make no answer and no page long", async () => {
    await register("long");
    const short = JSON.stringify((await test.call("GET", "/v1/agent/long")).body).length;
    await addOldKeys("long");
    const { body: identity } = await test.call("GET", "/v1/identity/long");
    const { body: feed } = await test.call("GET", "/v1/agent/long");
    const { body: changed } = await patch("long", { name: "Long" });
    for (const { key_history, key_history_cursor } of [identity, feed.identity, changed]) {
      expect(key_history).toHaveLength(10);
      expect(key_history_cursor).not.toBeNull();
      expect(key_history.at(-1).public_key).toBe(identity.public_key);
      const times = key_history.map(({ registered_at }: KeyHistoryEntry) => registered_at);
      expect(times).toEqual(times.toSorted());
    }
    expect(JSON.stringify(feed).length - short).toBeLessThan(3000);
  });

  it("are read whole by cursor, each once and newest first, also while a new one arrives", async () => {
    await register("whole");
    await addOldKeys("whole");
    const { key_history, key_history_cursor } = (await test.call("GET", "/v1/identity/whole")).body;
    const older: KeyHistoryEntry[] = [];
    let cursor: string | null = key_history_cursor;
    while (cursor !== null) {
      const page = await readPage("WHOLE", `?limit=100&cursor=${cursor}`);
      expect(page.slug).toBe("whole");
      if (older.length === 0) await register("whole");
      older.push(...page.keys);
      cursor = page.next_cursor;
    }
    const all = [...key_history.toReversed(), ...older];
    expect(all).toHaveLength(901);
    const times = all.map(({ registered_at }) => registered_at);
    expect(times).toEqual([...new Set(times)].toSorted().reverse());
    expect((await readPage("whole", "")).keys).toHaveLength(20);
  });

  it("refuse a cursor that nobody gave out, a limit beyond a page, and an unknown agent", async () => {
    await register("strict");
    const made = ["x", "", "LTE", Buffer.from("99999999999999999").toString("base64url"), "%00"];
    for (const cursor of made) {
      const { status, body } = await test.call("GET", `/v1/identity/strict/keys?cursor=${cursor}`);
      expect([cursor, status, body.code]).toEqual([cursor, 400, "bad_request"]);
    }
    expect((await test.call("GET", "/v1/identity/strict/keys?limit=101")).status).toBe(400);
    expect((await test.call("GET", "/v1/identity/nobody/keys")).body).toMatchObject({
      status: 404,
      error: "Agent not found",
    });
    expect((await readPage("strict", "")).next_cursor).toBeNull();
  });

  it("change 20 times a UTC day, however they are changed, and again the next day", async () => {
    const answers = await Promise.all(Array.from({ length: 30 }, () => register("busy")));
    expect(answers.filter(({ status }) => status < 300)).toHaveLength(20);
    const refused = answers.find(({ status }) => status >= 300);
    expect([refused?.status, refused?.body.code]).toEqual([429, "rate_limit_exceeded"]);
    expect(refused?.body.detail).toMatch(/new keys per UTC day; try again in \d+ (hours|minutes|seconds)$/);
    const midnightSeconds = 86_400 - ((Date.now() / 1000) % 86_400);
    expect(Math.abs(Number(refused?.headers.get("retry-after")) - midnightSeconds)).toBeLessThan(30);
    const current = (await test.call("GET", "/v1/identity/busy")).body.public_key;
    expect((await patch("busy", { public_key: newKey() })).status).toBe(429);
    const person = await signInPerson(test.app.context, "dev@example.com");
    await expect(
      updateOwnAgent(test.app.context, person, "busy", { public_key: newKey() }),
    ).rejects.toMatchObject({ errorName: "rate_limit_exceeded" });
    expect((await test.call("GET", "/v1/identity/busy")).body.public_key).toBe(current);

    expect((await patch("busy", { public_key: current, name: "Busy" })).status).toBe(200);
    expect((await patch("busy", { public_key: null })).status).toBe(200);
    expect((await patch("busy", { public_key: current })).status).toBe(429);
    expect((await register("calm")).status).toBe(201);
    await sql(
      "UPDATE agent_keys SET registered_at = registered_at - interval '1 day' FROM agents WHERE id = agent_id AND slug = $1",
      ["busy"],
    );
    expect((await patch("busy", { public_key: current })).status).toBe(200);
  });

  it("have places of their own, also when the clock is set back", async () => {
    const { context } = test.app;
    const { clock } = context;
    const times = [Date.now() + 60_000, Date.now() + 60_000, Date.now(), Date.now()];
    try {
      for (const time of times) {
        context.clock = () => new Date(time);
        expect((await register("clock")).status).toBeLessThan(300);
      }
    } finally {
      context.clock = clock;
    }
    const { keys } = await readPage("clock", "");
    const { public_key } = (await test.call("GET", "/v1/identity/clock")).body;
    expect(keys).toHaveLength(4);
    expect(keys[0].public_key).toBe(public_key);
  });
});
