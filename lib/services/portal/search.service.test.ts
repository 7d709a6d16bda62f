/** Guarantee: the search finds what is the organization's, by part of a name or a whole id, and nothing of anyone else. */
import { beforeAll, expect, it } from "vitest";
import type { MemberPrincipal } from "#lib/api/http/context";
import { searchQuery } from "#lib/api/schemas/portal";
import type { Context } from "#lib/services/approvals/context";
import { signInPerson } from "#support/portal";
import { setupTestApp } from "#support/setup-app";
import { searchOrganization } from "./overview";

const { test } = setupTestApp();
let context: Context;
let owner: MemberPrincipal;
let stranger: MemberPrincipal;
let ids: { key: string; attestation: string; authorization: string; request: string };
beforeAll(async () => {
  ({ context } = test.app);
  owner = await signInPerson(context, "owner@example.com");
  stranger = await signInPerson(context, "stranger@example.com");
  const { key, keyId } = await test.createKey("owner@example.com");
  const body = { agent_slug: "Payer_1", action: "paid", inputs_hash: "x" };
  const made = await test.call("POST", "/v1/attest", { key, body });
  const asked = await test.call("POST", "/v1/authorize", {
    key,
    body: { agent_slug: "Payer_1", action: "pay" },
  });
  await context.requestLog.flush();
  ids = {
    key: keyId,
    attestation: made.body.attestation_id,
    authorization: asked.body.request_id,
    request: made.headers.get("request-id") ?? "",
  };
});

it("finds keys and agents by part of their name, literally, and everything by its id", async () => {
  const find = async (text: string) =>
    (await searchOrganization(context, owner, text)).map(({ kind, href }) => [kind, href]);
  const agent = ["Agent", "/portal/agents/Payer_1"];
  expect(await find("payer")).toEqual([agent]);
  expect(await find("r_1")).toEqual([agent]);
  expect(await find("a_1")).toEqual([]);
  expect(await find("TES")).toEqual([["Key", `/portal/requests?key=${ids.key}`]]);
  expect(await find(ids.key)).toEqual([["Key", `/portal/requests?key=${ids.key}`]]);
  expect(await find(ids.attestation)).toEqual([["Attestation", `/portal/attestations/${ids.attestation}`]]);
  expect(await find(ids.authorization)).toEqual([
    ["Authorization", `/portal/authorizations/${ids.authorization}`],
  ]);
  expect(await find(`http://localhost:3000/verify/Payer_1/${ids.attestation}`)).toHaveLength(1);
  expect(await find(`http://localhost:3000/approve/${ids.authorization}.${"x".repeat(43)}`)).toHaveLength(1);
  expect(await find(ids.request)).toEqual([["Request", `/portal/requests?id=${ids.request}`]]);
});

it("takes between 2 and 300 characters, and no U+0000", () => {
  for (const text of ["", " a ", "a".repeat(301), "a\0b"]) expect(searchQuery.parse(text)).toBeUndefined();
  expect(searchQuery.parse(` ${"a".repeat(300)} `)).toBe("a".repeat(300));
});

it("finds nothing for a stranger", async () => {
  for (const text of ["payer", "test", ...Object.values(ids)])
    expect(await searchOrganization(context, stranger, text), text).toEqual([]);
});
