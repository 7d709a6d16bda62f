/** GET /v1/attestations: the caller's own, private ones included, by filter and cursor. */
import { beforeAll, describe, expect, it } from "vitest";
import { listInbox } from "#lib/services/approvals/decision/inbox";
import { listOwnAuthorizations } from "#lib/services/approvals/portal-authorizations";
import { approveUnproven, ask } from "#support/authorizations";
import { signInPerson } from "#support/portal";
import { setupTestApp } from "#support/setup-app";
import { eraseContent } from "./erase";
import { readAgentFeed } from "./feed";
import { listOwnAttestations } from "./own";

interface Listed {
  rows: readonly { amount?: { value: string; currency: string } | null }[];
  nextCursor: string | null;
}

describe("the caller's attestations", () => {
  const { test, key } = setupTestApp();
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

  it("are nobody else's", async () => {
    const other = (await test.createKey("other@example.com")).key;
    expect((await test.call("GET", "/v1/attestations", { key: other })).body.attestations).toEqual([]);
  });

  it("are found in the portal as people look for them, and approvals too: by hash, link, payee, amount and words", async () => {
    const { context } = test.app;
    const person = await signInPerson(context, "seeker@example.com");
    const stranger = await signInPerson(context, "no-seeker@example.com");
    const own = (await test.createKey("seeker@example.com")).key;
    const request = { agent_slug: "seek-bot", action: "Pay 100% of it", details: { complete: true } };
    const amount = { value: "12345.5", currency: "EUR" };
    const paid = await ask(test, own, { ...request, amount, context: { payee: 'Zeta "Z" GmbH' } });
    const other = await ask(test, own, { ...request, action: "Pay 1000 of it" });
    await approveUnproven(test, paid.made.request_id);
    const { human_authorization } = (await paid.read(own)).body;
    const inputs = "5e".repeat(32);
    const body = { ...request, details: undefined, inputs_hash: `sha256:${inputs}`, is_public: false };
    const attested = await test.call("POST", "/v1/attest", {
      key: own,
      body: { ...body, human_authorization },
    });
    const { attestation_id: id } = attested.body;
    await test.call("POST", "/v1/attest", { key: own, body: { ...body, inputs_hash: "sha256:00" } });
    const { rows } = await test.query(
      "SELECT encode(payload_hash, 'hex') AS hash FROM attestations WHERE id = $1",
      [id],
    );

    const page = { cursor: undefined, limit: 10 };
    const findAttestations = async (q: string, by = person) =>
      (await listOwnAttestations(context, by, { q }, page)).rows.map((row) => row.attestation_id);
    const base = context.settings.baseUrl;
    const texts = [
      inputs,
      `sha256:${inputs.toUpperCase()}`,
      rows[0]?.["hash"],
      id,
      `${base}/verify/seek-bot/${id}`,
    ];
    for (const text of [...texts, paid.made.approval_url, paid.made.request_id]) {
      expect(await findAttestations(String(text)), String(text)).toEqual([id]);
      expect(await findAttestations(String(text), stranger), String(text)).toEqual([]);
    }

    const findApprovals = async (text: string, by = person) =>
      (await listOwnAuthorizations(context, by, { ...page, text })).rows.map((row) => row.request_id);
    const exact = ["zeta", '"z" gmbh', "12345.50", "12,345.5 EUR", "0% of", paid.made.request_id];
    for (const text of [...exact, paid.made.approval_url]) {
      expect(await findApprovals(text), text).toEqual([paid.made.request_id]);
      expect(await findApprovals(text, stranger), text).toEqual([]);
    }
    expect(await findApprovals("pay 100")).toEqual([other.made.request_id, paid.made.request_id]);
    for (const text of ["12345", "seek-bot", "_eta", "."])
      expect(await findApprovals(text), text).toEqual([]);
  });

  it("are sorted by amount as whole lists, as are approvals, the inbox and the public list, page by page and by currency", async () => {
    const { context } = test.app;
    const person = await signInPerson(context, "sums@example.com");
    const sums = (await test.createKey("sums@example.com")).key;
    const values = ["9 EUR", "100.5 EUR", "20 EUR", "100.5 EUR", "3 CHF", "70000 JPY", "0.01 EUR"];
    for (const text of [...values, ""]) {
      const [value, currency] = text.split(" ");
      const action = `Pay ${text}`;
      const asked = await ask(test, sums, {
        ...{ agent_slug: "sum-bot", action, details: { complete: true } },
        ...(currency === undefined ? {} : { amount: { value, currency } }),
      });
      await approveUnproven(test, asked.made.request_id);
      const { human_authorization } = (await asked.read(sums)).body;
      const body = { agent_slug: "sum-bot", action, inputs_hash: "x", human_authorization };
      expect((await test.call("POST", "/v1/attest", { key: sums, body })).status).toBe(201);
    }
    const listed = async (list: (cursor: string | undefined) => Promise<Listed>) => {
      const found: string[] = [];
      let cursor: string | undefined;
      do {
        const { rows, nextCursor } = await list(cursor);
        expect(rows.length).toBeLessThanOrEqual(2);
        found.push(...rows.map(({ amount }) => `${amount?.value} ${amount?.currency}`));
        cursor = nextCursor ?? undefined;
      } while (cursor !== undefined);
      return found;
    };
    const page = (cursor: string | undefined) => ({ cursor, limit: 2, isByAmount: true });
    const sorted = ["3 CHF", "100.5 EUR", "100.5 EUR", "20 EUR", "9 EUR", "0.01 EUR", "70000 JPY"];
    expect(await listed((cursor) => listOwnAttestations(context, person, {}, page(cursor)))).toEqual(sorted);
    const filters = { q: "Pay 100" };
    expect(await listed((cursor) => listOwnAttestations(context, person, filters, page(cursor)))).toEqual([
      "100.5 EUR",
      "100.5 EUR",
    ]);
    expect(await listed((cursor) => listOwnAuthorizations(context, person, page(cursor)))).toEqual(sorted);
    expect(
      await listed((cursor) => listInbox(context, person, { isWaiting: false, ...page(cursor) })),
    ).toEqual(sorted);
    const listPublic = async (query: Parameters<typeof readAgentFeed>[2]) => {
      const { attestations: rows, next_cursor: nextCursor } = await readAgentFeed(context, "sum-bot", query);
      return { rows, nextCursor };
    };
    expect(await listed((cursor) => listPublic(page(cursor)))).toEqual(sorted);
    const few = { action: "Pay 100", approval: "proof_of_personhood" } as const;
    const some = await listed((cursor) => listPublic({ ...page(cursor), ...few }));
    expect(some).toEqual(["100.5 EUR", "100.5 EUR"]);
    const { nextCursor: newest } = await listPublic({ limit: 2 });
    await expect(listPublic(page(newest ?? undefined))).rejects.toThrow("cursor");
    await test.query("UPDATE attestations SET is_public = false WHERE action = 'Pay 20 EUR'", []);
    const { rows: found } = await test.query("SELECT id FROM attestations WHERE action = 'Pay 9 EUR'", []);
    await eraseContent(context, person, String(found[0]?.["id"]));
    expect(await listed((cursor) => listPublic(page(cursor)))).toEqual(
      sorted.filter((shown) => shown !== "20 EUR" && shown !== "9 EUR"),
    );
    const stranger = await signInPerson(context, "no-sums@example.com");
    expect((await listOwnAttestations(context, stranger, {}, page(undefined))).rows).toEqual([]);
    const { nextCursor } = await listOwnAttestations(context, person, {}, { limit: 2 });
    await expect(listOwnAttestations(context, person, {}, page(nextCursor ?? undefined))).rejects.toThrow(
      "cursor",
    );
  });
});
