/** Guarantee: a self-hoster has no daily limit until it is set, and a key says who can read its attestations. */
import { afterEach, expect, it } from "vitest";
import { addOwner } from "#lib/services/accounts/organizations";
import { nameOrganization, readOrganization } from "#lib/services/portal/organization";
import { readOverview } from "#lib/services/portal/overview";
import { startTestApp, type TestApp } from "#support/app";
import { anyKind } from "#support/databases";
import { signInPerson } from "#support/portal";
import { makeApiKey } from "./api-keys";

let test: TestApp;
afterEach(() => test.close());

const attest = (key: string, more: object = {}) =>
  test.call("POST", "/v1/attest", {
    key,
    body: { agent_slug: "bot", action: "a", inputs_hash: "x", ...more },
  });
const perDay = async (key: string) =>
  (await test.call("GET", "/v1/keys/info", { key })).body.rate_limit.per_day;

async function getKey(email: string) {
  await test.call("POST", "/v1/keys/request", { body: { email } });
  const { body } = await test.call("GET", "/dev/mailbox");
  const code = body.messages.find(({ to }: { to: string }) => to === email).subject.slice(0, 6);
  return (await test.call("POST", "/v1/keys/verify", { body: { email, code } })).body;
}

it("has no daily limit unless set: answers name the largest safe integer, headers only the minute", async () => {
  test = await startTestApp();
  const { key, organizationId } = await test.createKey();
  expect(await perDay(key)).toBe(9_007_199_254_740_991);
  await test.query("UPDATE daily_usage SET attestations = 5000 WHERE organization_id = $1", [organizationId]);
  const made = await attest(key);
  expect(made.status).toBe(201);
  expect(made.headers.get("ratelimit-policy")).not.toMatch(/86400|day/);
  await test.query("UPDATE daily_usage SET attestations = 5000 WHERE organization_id = $1", [organizationId]);
  expect((await attest(key)).status).toBe(201);
  const owner = await signInPerson(test.app.context, "dev@example.com");
  expect((await readOverview(test.app.context, owner)).attestationsPerDay).toBeNull();
  expect((await readOrganization(test.app.context, owner)).attestationsPerDay).toBeNull();
  // A limit of its own holds as before.
  await test.query("UPDATE organizations SET attestations_per_day = 5001 WHERE id = $1", [organizationId]);
  expect((await attest(key)).status).toBe(429);
});

it("keeps the limit that is set", async () => {
  test = await startTestApp(anyKind, { LIMIT_ATTEST_PER_DAY: "2" });
  const { key } = await test.createKey();
  expect(await perDay(key)).toBe(2);
  const statuses = [await attest(key), await attest(key), await attest(key)].map(({ status }) => status);
  expect(statuses).toEqual([201, 201, 429]);
});

it("makes private organizations where the operator wants it, says so with the key, and asks the owner", async () => {
  test = await startTestApp(anyKind, { DEFAULT_VISIBILITY: "private" });
  const { context } = test.app;
  const made = await getKey("ada@example.com");
  expect(made.default_visibility).toBe("private");
  expect((await attest(made.api_key)).body.is_public).toBe(false);
  expect((await attest(made.api_key, { is_public: true })).body.is_public).toBe(true);
  const owner = await signInPerson(context, "ada@example.com");
  expect((await readOverview(context, owner)).defaultPublic).toBe(false);
  await nameOrganization(context, owner, { name: "Ada Ltd", defaultPublic: true });
  const key = await makeApiKey(context, owner, { name: "k", scopes: ["attest"], lifetimeDays: null });
  expect(key.defaultVisibility).toBe("public");
  expect((await attest(key.text)).body.is_public).toBe(true);
  const organizationId = await addOwner(context, "bob@example.com", { name: "Bob's" });
  const { rows } = await context.database.query("SELECT default_public FROM organizations WHERE id = $1", [
    organizationId,
  ]);
  expect(rows).toEqual([{ default_public: false }]);
});
