/** Guarantees: keys work as created, stop when revoked, and are nobody else's. */

import { beforeAll, describe, expect, it } from "vitest";
import type { MemberPrincipal } from "#lib/api/http/context";
import { listAuditEvents } from "#lib/services/accounts/audit-list";
import type { AccountsContext } from "#lib/services/accounts/context";
import { joinPerson, signInPerson } from "#support/portal";
import { setupTestApp } from "#support/setup-app";
import { limitApiKey, listApiKeys, makeApiKey, revokeOwnApiKey, rotateApiKey } from "./api-keys";

describe("API keys in the portal", () => {
  const { test } = setupTestApp();
  let context: AccountsContext;
  let person: MemberPrincipal;
  let stranger: MemberPrincipal;
  beforeAll(async () => {
    ({ context } = test.app);
    person = await signInPerson(context, "owner@example.com");
    stranger = await signInPerson(context, "stranger@example.com");
  });

  const statusOf = async (key: string) => (await test.call("GET", "/v1/keys/info", { key })).status;
  const make = () => makeApiKey(context, person, { name: "k", scopes: ["read", "attest"], lifetimeDays: 7 });

  it("makes a key with exactly the chosen permissions and expiry", async () => {
    const { text } = await make();
    const { body } = await test.call("GET", "/v1/keys/info", { key: text });
    expect(body.scopes).toEqual(["read", "attest"]);
    const lifetimeMs = Date.parse(body.expires_at) - Date.parse(body.created_at);
    expect(Math.round(lifetimeMs / 60_000)).toBe(7 * 24 * 60);
    const refused = await test.call("POST", "/v1/identity/register", { key: text, body: { slug: "x" } });
    expect(refused.status).toBe(403);
  });

  it("shows the keys that the API made for the same address", async () => {
    const { keyId } = await test.createKey("owner@example.com");
    const { rows } = await listApiKeys(context, person, { cursor: undefined, limit: 50 });
    expect(rows.map(({ id }) => id)).toContain(keyId);
  });

  it("refuses a revoked key at once", async () => {
    const { id, text } = await make();
    expect(await statusOf(text)).toBe(200);
    await revokeOwnApiKey(context, person, id);
    expect(await statusOf(text)).toBe(401);
    await expect(revokeOwnApiKey(context, person, id)).rejects.toMatchObject({ errorName: "not_found" });
  });

  it("rotates: both keys work during the overlap, without one the old is refused at once", async () => {
    const first = await make();
    const second = await rotateApiKey(context, person, { keyId: first.id, overlapHours: 1 });
    expect([await statusOf(first.text), await statusOf(second.text)]).toEqual([200, 200]);
    const third = await rotateApiKey(context, person, { keyId: second.id, overlapHours: 0 });
    expect([await statusOf(second.text), await statusOf(third.text)]).toEqual([401, 200]);
  });

  it("never lengthens the life of a rotated key", async () => {
    const { id, text } = await make();
    const before = await test.call("GET", "/v1/keys/info", { key: text });
    await rotateApiKey(context, person, { keyId: id, overlapHours: 24 * 30 });
    const after = await test.call("GET", "/v1/keys/info", { key: text });
    expect(after.body.expires_at).toBe(before.body.expires_at);
  });

  it("limits a key for its owners alone, keeps the limit when it is rotated, and takes it away", async () => {
    const { id, text } = await makeApiKey(context, person, {
      ...{ name: "k", scopes: ["read"], lifetimeDays: null, perDay: 5 },
    });
    const perDay = async (key: string) =>
      (await test.call("GET", "/v1/keys/info", { key })).body.rate_limit.per_day;
    expect(await perDay(text)).toBe(5);
    await limitApiKey(context, person, { keyId: id, perDay: 3 });
    const rotated = await rotateApiKey(context, person, { keyId: id, overlapHours: 1 });
    expect([await perDay(text), await perDay(rotated.text)]).toEqual([3, 3]);
    const member = await joinPerson(context, "member@example.com", person.organizationId);
    const forbidden = { errorName: "forbidden" };
    await expect(limitApiKey(context, member, { keyId: id, perDay: null })).rejects.toMatchObject(forbidden);
    const wish = { name: "k", scopes: ["read"] as const, lifetimeDays: null };
    await expect(makeApiKey(context, member, { ...wish, perDay: 5 })).rejects.toMatchObject(forbidden);
    const unknown = { errorName: "not_found" };
    await expect(limitApiKey(context, stranger, { keyId: id, perDay: 1 })).rejects.toMatchObject(unknown);
    expect(await perDay(text)).toBe(3);
    await limitApiKey(context, person, { keyId: id, perDay: null });
    expect(await perDay(text)).toBe(Number.MAX_SAFE_INTEGER);
    const { rows } = await listAuditEvents(context, person, { kind: "user", cursor: undefined, limit: 50 });
    const limits = rows.filter(({ action }) => action === "api_key.limited").map(({ detail }) => detail);
    expect(limits).toEqual(['{"attestations_per_day":null}', '{"attestations_per_day":3}']);
  });

  it("pages by cursor without gaps or repetitions", async () => {
    const seen: string[] = [];
    for (let cursor: string | undefined; ; ) {
      const { rows, nextCursor } = await listApiKeys(context, person, { cursor, limit: 2 });
      seen.push(...rows.map(({ id }) => id));
      if (nextCursor === null) break;
      cursor = nextCursor;
    }
    const { rows } = await listApiKeys(context, person, { cursor: undefined, limit: 100 });
    expect(seen).toEqual(rows.map(({ id }) => id));
    expect(seen.length).toBeGreaterThan(4);
  });
});
