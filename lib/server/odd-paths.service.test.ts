/** Names in a path that are nobody's: U+0000, which no column holds, and letters that lower-case to others. */
import { describe, expect, it } from "vitest";
import { operations } from "#lib/api/operations/index";
import { attestationFilters, organizationForm } from "#lib/api/schemas/portal";
import { readOwnAgent } from "#lib/services/agents/identities";
import { readOwnAuthorization } from "#lib/services/approvals/portal-authorizations";
import { readAgentFeed } from "#lib/services/attestations/feed";
import { exportOwnAttestations, listOwnAttestations } from "#lib/services/attestations/own";
import { signInPerson } from "#support/portal";
import { setupTestApp } from "#support/setup-app";

describe("odd names", () => {
  const { test, key } = setupTestApp();

  it("are unknown in every path of the table", async () => {
    const bodies: Record<string, unknown> = { putTools: { tools: [] }, updateIdentity: { name: "x" } };
    const named = Object.entries(operations).filter(([, { path }]) => path.includes("{"));
    expect(named.length).toBeGreaterThan(10);
    for (const [id, spec] of named)
      for (const name of ["%00", "areq_%00", "areq_AAAAAAAAAAAAAAAAAAAAA%00", "%F0%9F%92%A9"]) {
        const path = spec.path.replaceAll(/\{[^}]+\}/g, name);
        const sent = spec.method === "GET" ? { key } : { key, body: bodies[id] ?? {} };
        const { status } = await test.call(spec.method, path, sent);
        expect([spec.method, path, status >= 400 && status < 500]).toEqual([spec.method, path, true]);
      }
  });

  it("do not lead to the agent whose slug they lower-case to", async () => {
    const body = { agent_slug: "key", action: "a", inputs_hash: "b" };
    expect((await test.call("POST", "/v1/attest", { key, body })).status).toBe(201);
    for (const path of ["/v1/agent/", "/v1/identity/"]) {
      expect((await test.call("GET", `${path}KEY`)).status).toBe(200);
      expect((await test.call("GET", `${path}%E2%84%AAey`)).status).toBe(404);
    }
    const renamed = await test.call("PATCH", "/v1/identity/%E2%84%AAey", { key, body: { name: "x" } });
    expect(renamed.status).toBe(404);
  });

  it("are nothing to the portal and the feed's filter", async () => {
    const { context } = test.app;
    const person = await signInPerson(context, "dev@example.com");
    await expect(readOwnAgent(context, person, "\0")).rejects.toMatchObject({ errorName: "agent_not_found" });
    const unknown = { errorName: "authorization_not_found" };
    await expect(readOwnAuthorization(context, person, "\0")).rejects.toMatchObject(unknown);
    const wrong = { errorName: "bad_request" };
    await expect(readAgentFeed(context, "key", { limit: 1, action: "\0" })).rejects.toMatchObject(wrong);
    const name = organizationForm.safeParse({
      name: "a\0b",
      default_public: "public",
      lock_screen: "facts",
    });
    expect(name.error?.issues.map(({ message }) => message)).toEqual(["must not contain U+0000"]);
  });

  it("and days that no database has filter nothing in the portal", async () => {
    const { context } = test.app;
    const person = await signInPerson(context, "dev@example.com");
    for (const query of [{ q: "\0" }, { from: "0000-01-01" }, { until: "9999-12-31" }]) {
      const filters = attestationFilters.parse(query);
      const { rows } = await listOwnAttestations(context, person, filters, { cursor: undefined, limit: 5 });
      let exported = "";
      for await (const part of await exportOwnAttestations(context, person, "ndjson", filters))
        exported += part;
      expect([query, rows.length, exported.split("\n").length]).toEqual([query, 1, 2]);
    }
  });
});
