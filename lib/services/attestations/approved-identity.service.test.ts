/**
 * The agent that the human saw is the one that acts: another key, code or name, registered before the approval is
 * used or while the attestation is stored, passes for nothing that was shown.
 */
import { ed25519 } from "@noble/curves/ed25519.js";
import { sql } from "drizzle-orm";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { parseHumanAuthorization } from "#lib/protocol/approval/human-authorization-shape";
import { isShownContent } from "#lib/protocol/approval/shown-content";
import { base64Encode } from "#lib/protocol/encoding/bytes";
import { readApprovalView } from "#lib/services/approvals/decision/inbox";
import { approveUnproven, ask } from "#support/authorizations";
import { setupTestApp } from "#support/setup-app";

describe("the approved identity", () => {
  const { test } = setupTestApp();
  let key: string;
  let organizationId: string;
  beforeAll(async () => {
    ({ key, organizationId } = await test.createKey());
  });

  const register = (slug: string, profile: object) =>
    test.call("POST", "/v1/identity/register", { key, body: { slug, ...profile } });
  const update = (slug: string, profile: object) =>
    test.call("PATCH", `/v1/identity/${slug}`, { key, body: profile });
  const makeAgentKey = () => base64Encode(ed25519.getPublicKey(ed25519.utils.randomSecretKey()));
  const spend = (slug: string, action: string, human_authorization: unknown) => {
    const body = { agent_slug: slug, action, inputs_hash: "sha256:aa", human_authorization };
    return test.call("POST", "/v1/attest", { key, body });
  };
  const claim = (requestId: string, run: string) =>
    test.call("POST", `/v1/authorize/${requestId}/claim`, { key, body: { run } });

  it("is refused under another agent key than the human saw, until that key is back", async () => {
    const cases: [string, string | null, string | null][] = [
      ["key-bot-1", makeAgentKey(), makeAgentKey()],
      ["key-bot-2", makeAgentKey(), null],
      ["key-bot-3", null, makeAgentKey()],
    ];
    for (const [slug, approvedKey, laterKey] of cases) {
      await register(slug, { public_key: approvedKey });
      const changed = await ask(test, key, { agent_slug: slug, action: "Pay once" });
      await approveUnproven(test, changed.made.request_id);
      const { human_authorization } = (await changed.read()).body;
      expect(human_authorization).toMatchObject({ version: 1, request: { agent_public_key: approvedKey } });
      await update(slug, { public_key: laterKey });
      for (const refused of [
        await spend(slug, "Pay once", human_authorization),
        // Nothing may run that could not be attested.
        await claim(changed.made.request_id, "run 1"),
      ]) {
        expect([slug, refused.status, refused.body.code]).toEqual([slug, 422, "authorization_mismatch"]);
        expect(refused.body.detail).toContain("agent key");
      }
      await update(slug, { public_key: approvedKey });
      expect((await claim(changed.made.request_id, "run 1")).status).toBe(200);
      await update(slug, { public_key: laterKey });
      const resumed = await claim(changed.made.request_id, "run 1");
      expect([resumed.status, resumed.body.code]).toEqual([422, "authorization_mismatch"]);
      await update(slug, { public_key: approvedKey });
      expect((await spend(slug, "Pay once", human_authorization)).status).toBe(201);
    }
  });

  it("is refused where the key changes between the look-up and the moment of storing", async () => {
    const [first, second] = [makeAgentKey(), makeAgentKey()];
    await register("race-bot", { public_key: first });
    const raced = await ask(test, key, { agent_slug: "race-bot", action: "Pay in a race" });
    await approveUnproven(test, raced.made.request_id);
    const { human_authorization } = (await raced.read()).body;
    const { log } = test.app.context;
    const spy = vi.spyOn(log, "submit").mockImplementationOnce(async (itemKind, item) => {
      await register("race-bot", { public_key: second });
      spy.mockRestore();
      return log.submit(itemKind, item);
    });
    const refused = await spend("race-bot", "Pay in a race", human_authorization);
    expect([refused.status, refused.body.code]).toEqual([422, "authorization_mismatch"]);
    expect((await raced.read(key)).body.attestation_id).toBeNull();
  });

  it("leaves none compared with nothing where a registration wins the slug at the last moment", async () => {
    const { db } = test.app.context.database;
    let attested: ReturnType<typeof test.call> | undefined;
    // On PostgreSQL the attestation finds no agent, and waits for this insertion when it claims the slug.
    await db.transaction(async (tx) => {
      const row = sql`(gen_random_uuid(), ${organizationId}, 'last-bot', 'last-bot', 'bbbb', now(), now())`;
      await tx.execute(
        sql`INSERT INTO agents (id, organization_id, slug, slug_key, code_hash, created_at, updated_at) VALUES ${row}`,
      );
      const body = { agent_slug: "last-bot", action: "a", inputs_hash: "b", code_hash: "aaaa" };
      attested = test.call("POST", "/v1/attest", { key, body });
      await new Promise((resolve) => setTimeout(resolve, 1000));
    });
    const made = await attested;
    expect([made?.status, made?.body.code_hash_verified]).toEqual([201, false]);
  });

  it("keeps the names that the page showed, whatever agent and organization are called later", async () => {
    await register("named-bot", { name: "Trusted Treasurer" });
    const named = await ask(test, key, {
      agent_slug: "named-bot",
      action: "Pay by name",
      context: { a: "1" },
    });
    const rename = (name: string) => test.query("UPDATE organizations SET name = $1", [name]);
    const before = named.made.organization_name;
    await register("named-bot", { name: "Somebody else" });
    await rename("Somebody else Ltd");
    const view = await readApprovalView(test.app.context, named.token);
    expect([view?.agent.name, view?.organization.name]).toEqual(["Trusted Treasurer", before]);
    await approveUnproven(test, named.made.request_id);
    const owned = (await named.read(key)).body;
    expect([owned.agent_name, owned.organization_name]).toEqual(["Trusted Treasurer", before]);
    const open = (await named.read()).body;
    for (const hidden of ["agent_name", "organization_name", "requested_by"])
      expect(open).not.toHaveProperty(hidden);
    expect(JSON.stringify(open)).not.toContain("Trusted Treasurer");

    const authorization = parseHumanAuthorization(owned.human_authorization);
    if (authorization === null) throw new Error("no authorization");
    const { context, context_salt, agent_name, organization_name, requested_by } = owned;
    const shown = { context, context_salt, agent_name, organization_name, group_names: [], requested_by };
    expect(isShownContent(authorization.request, shown)).toBe(true);
    for (const other of [{ agent_name: "Somebody else" }, { organization_name: "Somebody else Ltd" }])
      expect(isShownContent(authorization.request, { ...shown, ...other })).toBe(false);
    const made = await spend("named-bot", "Pay by name", owned.human_authorization);
    expect(made.status).toBe(201);
    expect(
      JSON.stringify((await test.call("GET", `/v1/verify/${made.body.attestation_id}`)).body),
    ).not.toContain("Trusted Treasurer");
  });
});
