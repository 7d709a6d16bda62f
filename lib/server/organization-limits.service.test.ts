import { beforeEach, describe, expect, it } from "vitest";
import { makeApiKey, revokeOwnApiKey, rotateApiKey } from "#lib/services/keys/api-keys";
import type { TestAnswer } from "#support/app";
import { anyKind } from "#support/databases";
import { joinPerson, signInPerson } from "#support/portal";
import { setupTestApp } from "#support/setup-app";

const settings = {
  LIMIT_ATTEST_PER_MINUTE: "4",
  LIMIT_ATTEST_PER_ORGANIZATION_PER_MINUTE: "10",
  LIMIT_AUTHORIZE_PER_MINUTE: "20",
  LIMIT_AUTHORIZE_PER_ORGANIZATION_PER_MINUTE: "12",
  LIMIT_AUTHORIZE_PENDING: "3",
  LIMIT_AUTHORIZE_PENDING_PER_ORGANIZATION: "8",
  LIMIT_KEYED_PER_MINUTE: "3",
  LIMIT_KEY_REQUEST_PER_IP_PER_HOUR: "1000",
  LIMIT_KEY_REQUEST_PER_ADDRESS_PER_HOUR: "1000",
  LIMIT_KEYS_PER_ORGANIZATION: "6",
};
const count = (answers: TestAnswer[], status: number) =>
  answers.filter((answer) => answer.status === status).length;
let counter = 0;

describe("the keys of one organization", () => {
  const { test } = setupTestApp(anyKind, settings);
  let email: string;
  beforeEach(() => {
    counter += 1;
    email = `org${counter}@example.com`;
  });

  const createKeys = async (n: number) => {
    const keys = [];
    for (let i = 0; i < n; i += 1) keys.push((await test.createKey(email)).key);
    return keys;
  };
  const attest = (key: string) =>
    test.call("POST", "/v1/attest", {
      key,
      body: { agent_slug: `bot${counter}`, action: "a", inputs_hash: "x" },
    });
  const authorize = (key: string) =>
    test.call("POST", "/v1/authorize", { key, body: { agent_slug: `bot${counter}`, action: "a" } });
  const callAll = (keys: string[], times: number, call: (key: string) => Promise<TestAnswer>) =>
    Promise.all(keys.flatMap((key) => Array.from({ length: times }, () => call(key))));

  it("share attestations per minute, and leave other organizations theirs", async () => {
    const answers = await callAll(await createKeys(5), 4, attest);
    expect([count(answers, 201), count(answers, 429)]).toEqual([10, 10]);
    const refused = answers.find(({ status }) => status === 429);
    expect(refused?.body.code).toBe("rate_limit_exceeded");
    expect(refused?.headers.get("ratelimit-policy")).toBe('"attest_organization";q=10;w=60');
    expect(refused?.headers.get("x-ratelimit-remaining")).toBe("0");
    expect(Number(refused?.headers.get("retry-after"))).toBeGreaterThan(0);
    email = `other${counter}@example.com`;
    counter += 1;
    expect((await attest((await createKeys(1))[0] ?? "")).status).toBe(201);
  });

  it("are called invalid once they are revoked, not limited", async () => {
    const { key, keyId } = await test.createKey(email);
    const statuses = async () => (await callAll([key], 5, attest)).map(({ status }) => status);
    expect((await statuses()).toSorted()).toEqual([201, 201, 201, 201, 429]);
    await test.query("UPDATE api_keys SET revoked_at = now() WHERE id = $1", [keyId]);
    expect(await statuses()).toEqual([401, 401, 401, 401, 401]);
  });

  it("learn from the headers which of the two limits ends first", async () => {
    const [first = "", second = "", third = ""] = await createKeys(3);
    const policies = [];
    for (const key of [first, first, first, first, second, second, second, third])
      policies.push((await attest(key)).headers.get("ratelimit"));
    expect(policies.map((text) => text?.replace(/;t=\d+$/, ""))).toEqual([
      ...[3, 2, 1, 0, 3, 2, 1].map((left) => `"attest";r=${left}`),
      '"attest_organization";r=2',
    ]);
  });

  it("do not lose to one key that is refused again and again", async () => {
    const [wild = "", calm = ""] = await createKeys(2);
    expect(count(await callAll([wild], 30, attest), 201)).toBe(4);
    expect(count(await callAll([calm], 4, attest), 201)).toBe(4);
  });

  it("share authorization requests per minute and those that are pending", async () => {
    const answers = await callAll(await createKeys(6), 3, authorize);
    expect(count(answers, 201)).toBe(8);
    expect(count(answers, 429)).toBe(18 - 12);
    const full = answers.filter(({ status }) => status === 409);
    expect(full.map(({ body }) => body.code)).toEqual(Array(4).fill("too_many_pending"));
    expect(full[0]?.body.detail).toContain("the organization has 8");
  });

  it("share the other requests too: five keys' worth where nothing is set", async () => {
    const answers = await callAll(await createKeys(6), 3, (key) =>
      test.call("GET", "/v1/keys/info", { key }),
    );
    expect([count(answers, 200), count(answers, 429)]).toEqual([15, 3]);
  });

  it("are limited in number, however many are made at once", async () => {
    const person = await signInPerson(test.app.context, email);
    const wish = { name: "k", scopes: ["read" as const], lifetimeDays: null };
    const make = () => makeApiKey(test.app.context, person, wish);
    const made = await Promise.allSettled(Array.from({ length: 20 }, make));
    const keys = made.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
    expect(keys.length).toBe(6);
    for (const one of made)
      if (one.status === "rejected") expect(one.reason).toMatchObject({ errorName: "too_many_keys" });
    const rotate = (overlapHours: number) =>
      rotateApiKey(test.app.context, person, { keyId: keys[0]?.id ?? "", overlapHours });
    await expect(rotate(24)).rejects.toMatchObject({ errorName: "too_many_keys" });
    await rotate(0);
    await expect(make()).rejects.toMatchObject({ errorName: "too_many_keys" });
    await revokeOwnApiKey(test.app.context, person, keys[1]?.id ?? "");
    await make();
  });

  it("are limited in number, however many colleagues get one by email at once", async () => {
    const { context } = test.app;
    const { organizationId } = await signInPerson(context, email);
    const colleagues = Array.from({ length: 12 }, (_, i) => `colleague${i}-${email}`);
    for (const colleague of colleagues) await joinPerson(context, colleague, organizationId);
    const made = await Promise.allSettled(colleagues.map((colleague) => test.createKey(colleague)));
    expect(made.filter(({ status }) => status === "fulfilled")).toHaveLength(6);
    for (const one of made)
      if (one.status === "fulfilled") expect(one.value.organizationId).toBe(organizationId);
  });

  it("are limited by email too, without using the code up", async () => {
    const [spare = ""] = await createKeys(6);
    await test.call("POST", "/v1/keys/request", { body: { email } });
    const { messages } = (await test.call("GET", "/dev/mailbox")).body;
    const code = messages.find(({ to }: { to: string }) => to === email).subject.slice(0, 6);
    const verify = () => test.call("POST", "/v1/keys/verify", { body: { email, code } });
    const refused = await verify();
    expect([refused.status, refused.body.code]).toEqual([409, "too_many_keys"]);
    expect((await test.call("DELETE", "/v1/keys", { key: spare })).status).toBe(200);
    expect((await verify()).status).toBe(201);
  });
});
