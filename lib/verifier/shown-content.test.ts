/** Holders of what the page showed can check it against the public object: the owner's answer, kept as a file. */
import { describe, expect, it } from "vitest";
import type { VerifierTrust } from "#lib/verifier/checks/trust";
import { verifyEvidence } from "#lib/verifier/checks/verify-evidence";
import { makeTestAuthorization, testKeyId, testShown, testVerifyOptions } from "#support/human-authorization";

const trust: VerifierTrust = {
  keys: [
    {
      keyId: testKeyId,
      publicKey: testVerifyOptions.serviceKeys(testKeyId) ?? new Uint8Array(),
      validFromIndex: 0,
      validToIndex: null,
    },
  ],
  logKeys: [],
  zkKeys: [],
  revokedZkKeys: [],
  ...(testVerifyOptions.v4Key && { worldV4Key: testVerifyOptions.v4Key }),
};
const human_authorization = makeTestAuthorization();

async function check(answer: object) {
  const file = JSON.stringify({ request_id: "areq_test", human_authorization, ...answer });
  const { verdict, checks } = await verifyEvidence(file, trust);
  return [verdict, checks.find(({ name }) => name === "shown_content")?.status];
}

describe("the answer of GET /v1/authorize/{id}", () => {
  it("is checked with the details and names beside the object", async () => {
    // The object here has no log entry.
    expect(await check(testShown)).toEqual(["incomplete", "pass"]);
    const file = JSON.stringify({ request_id: "areq_test", human_authorization, ...testShown });
    const { checks } = await verifyEvidence(file, trust);
    expect(checks.find(({ name }) => name === "shown_content")?.detail).toBe(
      "the details, the names and who asks are those that the approval covers; verified domains: example.com (last checked 2026-11-21T02:00:00.000Z)",
    );
  });

  it.each([
    { agent_name: "Another agent" },
    { agent_name: null },
    { organization_name: "Another organization" },
    { context: { invoice: "2026-115" } },
    { context_salt: "AAAA" },
    { context_salt: undefined },
    { context: undefined },
    { context: "2026-114" },
    { requested_by: undefined },
    { requested_by: { ...testShown.requested_by, organization_domains: [] } },
    { requested_by: "example.com" },
  ])("fails with others: %j", async (other) => {
    expect(await check({ ...testShown, ...other })).toEqual(["invalid", "fail"]);
  });

  it("fails if a field beside the object says otherwise than the object", async () => {
    const { request, environment, usable_until, decided_by } = human_authorization;
    const { context_hash: _hash, origin: _origin, organization: _organization, ...repeated } = request;
    const restated = { ...repeated, environment, usable_until, decided_by };
    expect(await check(restated)).toEqual(["incomplete", "not_applicable"]);
    for (const other of [
      { action: "Pay 1 EUR to Example GmbH" },
      { tool: null },
      { amount: { value: "1", currency: "EUR" } },
      { grant: {} },
      { agent_slug: "another" },
      { request_id: "areq_other" },
      { environment: "local" },
      { usable_until: null },
      { decided_by: { kind: "rule" } },
    ])
      expect(await check({ ...restated, ...other }), JSON.stringify(other)).toEqual([
        "invalid",
        "not_applicable",
      ]);
  });

  it("says that it could not look where the file has none of them", async () => {
    expect(await check({})).toEqual(["incomplete", "not_applicable"]);
  });
});
