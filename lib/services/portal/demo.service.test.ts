/** The demo is a request like any other, of an organization that nobody can enter, and says TEST in the signed bytes. */
import { beforeAll, describe, expect, it } from "vitest";
import { parseEnv } from "#lib/env";
import type { Context } from "#lib/services/approvals/context";
import { readExample } from "#lib/services/attestations/list";
import { ask, openRequest } from "#support/authorizations";
import { anyKind } from "#support/databases";
import { setupTestApp } from "#support/setup-app";
import { attestDemo, demoOrganizationId, readDemo, requestDemo } from "./demo";

const ip = "192.0.2.7";
const tokenOf = (path: string) => path.replace("/demo/", "");

describe("the demo", () => {
  const { test } = setupTestApp(anyKind, { LIMIT_DEMO_PER_IP_PER_HOUR: "3" });
  let context: Context;
  beforeAll(async () => {
    ({ context } = test.app);
  });

  const open = async () => {
    const token = tokenOf(await requestDemo(context, ip));
    const { authorization, approvalUrl } = await readDemo(context, token, ip);
    const made = { approval_url: approvalUrl, request_id: authorization.request_id };
    return { token, authorization, page: openRequest(test, made) };
  };

  it("leads from a request to one receipt that says TEST", async () => {
    const { token, authorization, page } = await open();
    expect(authorization).toMatchObject({ status: "pending", action: "TEST: Pay invoice 1042" });
    await attestDemo(context, token, ip);
    expect((await readDemo(context, token, ip)).receiptUrl, "nothing without an approval").toBeNull();
    expect((await page.approve("ada")).status).toBe(200);
    await Promise.all([attestDemo(context, token, ip), attestDemo(context, token, ip)]);
    await attestDemo(context, token, ip);
    const { receiptUrl } = await readDemo(context, token, ip);
    const example = await readExample(context, { organizationId: demoOrganizationId });
    expect(example).toMatchObject({
      action: "TEST: Pay invoice 1042",
      publicUrl: receiptUrl,
      warnings: [{ code: "approval_test" }],
    });
    const { rows } = await context.database.query("SELECT 1 FROM attestations", []);
    expect(rows).toHaveLength(1);
    const { body } = await test.call("GET", `/v1/verify/${example?.id}`);
    expect(body).toMatchObject({
      valid: true,
      human_approval: { method: "proof_of_personhood", environment: "local" },
    });
  });

  it("is one visitor's own: what another has denied is not held against it", async () => {
    expect((await (await open()).page.deny("no")).status).toBe(200);
    const { authorization } = await open();
    expect(authorization).toMatchObject({ status: "pending", previously_denied: null });
    await expect(requestDemo(context, ip)).rejects.toThrow("rate_limit_exceeded");
  });

  it("shows and attests no request of another organization", async () => {
    const { key } = await test.createKey();
    const { token } = await ask(test, key);
    await expect(readDemo(context, token, ip)).rejects.toThrow("authorization_not_found");
    await expect(attestDemo(context, token, ip)).rejects.toThrow("authorization_not_found");
    await expect(readDemo(context, "areq_AAAAAAAAAAAAAAAAAAAAAA", ip)).rejects.toThrow("not_found");
  });
});

describe("the setting DEMO", () => {
  const world = { WORLD_APP_ID: "app_x", WORLD_RP_ID: "rp_x", WORLD_RP_SIGNING_KEY: "1".repeat(64) };
  it.each([
    [{}, true],
    [{ DEMO: "off" }, false],
    [{ ...world, WORLD_ENVIRONMENT: "staging" }, true],
    [world, false],
    [{ ...world, DEMO: "on" }, true],
  ])("%j", (settings, isOn) => {
    expect(parseEnv(settings).isDemoOn).toBe(isOn);
  });

  it("keeps every part of it closed", async () => {
    const context = { settings: parseEnv({ DEMO: "off" }) } as unknown as Context;
    await expect(requestDemo(context, ip)).rejects.toThrow("not_found");
    await expect(readDemo(context, "x", ip)).rejects.toThrow("not_found");
    await expect(attestDemo(context, "x", ip)).rejects.toThrow("not_found");
  });
});
