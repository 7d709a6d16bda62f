/** GET /v1/attestations: the caller's own, private ones included, by filter and cursor. */
import { beforeAll, describe, expect, it } from "vitest";
import { anyKind } from "#support/databases";
import { setupTestApp } from "#support/setup-app";

describe("the caller's attestations", () => {
  const { test, key } = setupTestApp(anyKind);
  beforeAll(async () => {
    const made = [
      { agent_slug: "a-bot", action: "Sold 10% of it", is_public: false },
      { agent_slug: "a-bot", action: "Sold 100 of it", human_approved: true },
      { agent_slug: "b-bot", action: "Bought it" },
    ];
    for (const body of made)
      await test.call("POST", "/v1/attest", { key, body: { inputs_hash: "x", ...body } });
  });

  const actions = async (query: string) => {
    const { status, body } = await test.call("GET", `/v1/attestations${query}`, { key });
    return status === 200 ? body.attestations.map(({ action }: { action: string }) => action) : status;
  };

  it("are listed newest first, private ones included, by filter and cursor", async () => {
    const all = ["Bought it", "Sold 100 of it", "Sold 10% of it"];
    expect(await actions("")).toEqual(all);
    expect(await actions("?agent_slug=A-Bot")).toEqual(all.slice(1));
    expect(await actions("?human_approval_method=hash")).toEqual([all[1]]);
    expect(await actions("?q=sold")).toEqual(all.slice(1));
    expect(await actions("?q=10%25")).toEqual([all[2]]);
    expect(await actions("?from=2999-01-01")).toEqual([]);
    expect(await actions("?to=2999-01-01T00:00:00Z&from=2020-01-01")).toEqual(all);
    expect(await actions("?limit=0")).toBe(400);
    expect(await actions("?cursor=zzz")).toBe(400);
    for (const time of [
      "yesterday",
      "0000-01-01",
      "0000-01-01T00:00:00Z",
      "0001-01-01T00:00:00%2B23:00",
      "9999-12-31T23:59:59-23:00",
    ])
      expect([time, await actions(`?from=${time}`), await actions(`?to=${time}`)]).toEqual([time, 400, 400]);
    expect(await actions("?from=0001-01-01&to=9999-12-31")).toEqual(all);
    const first = (await test.call("GET", "/v1/attestations?limit=2", { key })).body;
    expect(await actions(`?limit=2&cursor=${first.next_cursor}`)).toEqual([all[2]]);
  });

  it("are nobody else's, and need the scope read", async () => {
    const other = (await test.createKey("other@example.com")).key;
    expect((await test.call("GET", "/v1/attestations", { key: other })).body.attestations).toEqual([]);
    const writer = (await test.createKey("dev@example.com", ["attest"])).key;
    expect((await test.call("GET", "/v1/attestations", { key: writer })).status).toBe(403);
  });
});
