/**
 * Guarantee: a service without World ID (APPROVALS=passkeys) asks enrolled approvers alone, refuses what only World ID could
 * prove, and loses nothing when World ID is added: what was signed stays to the byte as it was.
 */
import { beforeAll, describe, expect, it } from "vitest";
import { buildOpenApi } from "#lib/api/openapi";
import { approvalChallenge } from "#lib/protocol/passkey/assertion";
import { readApprovalView } from "#lib/services/approvals/decision/inbox";
import { askForFirstApproval } from "#lib/services/portal/overview";
import { verifyInBrowser } from "#lib/verifier/browser";
import { startTestApp } from "#support/app";
import { type AskedRequest, ask, fromPage } from "#support/authorizations";
import { anyKind } from "#support/databases";
import { enrolGroup } from "#support/enrol";
import { signInPerson } from "#support/portal";
import { setupTestApp } from "#support/setup-app";

const world = {
  WORLD_APP_ID: "app_test",
  WORLD_RP_ID: "rp_00000000000000ff",
  WORLD_RP_SIGNING_KEY: "22".repeat(32),
};
const ownerEmail = "owner@example.com";
const finance = { required_approvers: [{ group: "finance", count: 1 }] };

describe("a service without World ID", () => {
  const { test } = setupTestApp(anyKind, { APPROVALS: "passkeys" });
  let key: string;
  let approved: { id: string; object: string };
  let carol: Awaited<ReturnType<typeof enrolGroup>>[number];

  beforeAll(async () => {
    ({ key } = await test.createKey(ownerEmail));
  });

  const authorize = (body: object, on = test) =>
    on.call("POST", "/v1/authorize", { key, body: { agent_slug: "bot", action: "Pay", ...body } });
  const permit = (demands: string) =>
    `@id("ask")\n${demands}\npermit (principal, action == Action::"act_approved", resource);\n`;
  const save = (text: string, on = test) =>
    on.call("PUT", "/v1/rules", { key, body: { mode: "enforce", text } });

  async function approve(asked: AskedRequest) {
    const view = await readApprovalView(test.app.context, asked.token);
    const challenge = approvalChallenge(view?.binding.request_hash ?? "", "approve");
    const { public_key: _, ...passkey } = carol.passkey.assert(challenge);
    return test.call("POST", `/approve/${asked.token}/passkey`, { headers: fromPage, body: { passkey } });
  }

  it("says what to do where a request can reach nobody, or asks for a level", async () => {
    const { status, body } = await authorize({});
    expect([status, body.code, body.errors[0].pointer]).toEqual([
      422,
      "validation_error",
      "/required_approvers",
    ]);
    expect(body.detail).toContain("must name a group");
    const person = await signInPerson(test.app.context, ownerEmail);
    await expect(askForFirstApproval(test.app.context, person)).rejects.toThrow("add a passkey first");
    for (const required_level of ["device", "orb"]) {
      const refused = await authorize({ required_level, ...finance });
      expect([refused.status, refused.body.errors[0].pointer]).toEqual([422, "/required_level"]);
      expect(refused.body.detail).toContain(`is ${required_level}, and this service has no World ID`);
    }
  });

  it("makes keys that are no TEST keys, and takes no webhook to this machine", async () => {
    expect(key).toMatch(/^cs_live_/);
    const hook = { url: "http://127.0.0.1:9/", events: ["attestation.created"] };
    expect((await test.call("POST", "/v1/webhooks", { key, body: hook })).status).toBe(422);
  });

  it("asks for passkeys alone by default, and the approval outlives the coming of World ID unchanged", async () => {
    [carol] = (await enrolGroup(test, ownerEmail, "finance", "Carol")) as [typeof carol];
    const asked = await ask(test, key, finance);
    expect(asked.made).toMatchObject({ required_level: "none", environment: "local", approvals_required: 1 });
    const refused = await test.call("POST", `/approve/${asked.token}/world-id`, {
      headers: fromPage,
      body: {},
    });
    expect([refused.status, refused.body.code]).toEqual([422, "approval_refused"]);
    expect((await approve(asked)).status).toBe(200);
    const { body } = await asked.read(key);
    expect(body.status).toBe("approved");
    const { body: pubkey } = await test.call("GET", "/v1/pubkey");
    const { checks, authorization } = await verifyInBrowser(body, pubkey);
    expect(checks.filter(({ status }) => status === "fail")).toEqual([]);
    expect(authorization?.checks.find(({ name }) => name === "passkeys")?.status).toBe("pass");
    approved = { id: asked.made.request_id, object: JSON.stringify(body.human_authorization) };
  });

  it.skipIf(anyKind === "embedded")(
    "loses nothing when World ID comes, and answers when it goes again",
    async () => {
      const waiting = (await authorize(finance)).body;
      const later = await startTestApp(anyKind, { ...test.env, ...world });
      const read = async (id: string) => (await later.call("GET", `/v1/authorize/${id}`, { key })).body;
      expect(JSON.stringify((await read(approved.id)).human_authorization)).toBe(approved.object);
      expect(await read(waiting.request_id)).toMatchObject({ status: "pending", required_level: "none" });
      const made = (await authorize({}, later)).body;
      expect(made).toMatchObject({ required_level: "device", required_approvers: [] });
      expect((await authorize({ required_level: "orb", ...finance }, later)).status).toBe(201);
      await later.app.close();

      const path = `${new URL(made.approval_url).pathname}/world-id`;
      const gone = await test.call("POST", path, { headers: fromPage, body: {} });
      expect([gone.status, gone.body.detail]).toEqual([
        503,
        expect.stringContaining("doesn't have any more"),
      ]);
      const after = await test.call("GET", `/v1/authorize/${made.request_id}`, { key });
      expect(after.body).toMatchObject({ status: "pending", required_level: "device" });
    },
  );

  it("asks the group of a rule, and takes no rule that asks for a level", async () => {
    const { status, body } = await save(permit('@group("finance") @level("device")'));
    expect([status, body.detail]).toEqual([422, expect.stringContaining("which this service doesn't have")]);
    const many = await save(permit('@approvals("9") @group("finance")'));
    const [{ message }] = many.body.warnings;
    expect(message).toMatch(/: asks for 9 of "finance", which has \d enrolled approvers?\. Requests that/);
    expect(await save(permit('@group("finance")'))).toMatchObject({ status: 200, body: { warnings: [] } });
    const made = await authorize({});
    expect([made.status, made.body.required_level]).toEqual([201, "none"]);
    expect(made.body.required_approvers).toMatchObject([{ name: "finance", count: 1 }]);
  });

  it.skipIf(anyKind === "embedded")(
    "denies by a rule that asks for a level and was saved with World ID",
    async () => {
      const before = await startTestApp(anyKind, { ...test.env, ...world });
      expect((await save(permit('@group("finance") @level("orb")'), before)).status).toBe(200);
      await before.app.close();
      expect((await authorize(finance)).body).toMatchObject({
        status: "denied",
        denial_reason: "A rule asks for World ID, which this service doesn't have.",
      });
    },
  );

  it("says so in the contract", () => {
    const { components } = buildOpenApi("https://one.example") as unknown as {
      components: { schemas: Record<string, { properties: Record<string, { description: string }> }> };
    };
    const level = components.schemas["AuthorizeRequest"]?.properties["required_level"];
    expect(level?.description).toContain("APPROVALS=passkeys");
  });
});
