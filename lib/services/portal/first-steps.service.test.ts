/** The first steps follow from what the organization has done; its buttons act as its own key, once. */
import { generateKeyPairSync } from "node:crypto";
import { beforeAll, describe, expect, it } from "vitest";
import type { MemberPrincipal } from "#lib/api/http/context";
import { addApprover } from "#lib/services/accounts/approvers";
import { listAuditEvents } from "#lib/services/accounts/audit-list";
import { addDomain } from "#lib/services/accounts/domains";
import type { Context } from "#lib/services/approvals/context";
import { makeApiKey, revokeOwnApiKey } from "#lib/services/keys/api-keys";
import { startTestApp } from "#support/app";
import { approveUnproven } from "#support/authorizations";
import { signInPerson } from "#support/portal";
import { setupTestApp } from "#support/setup-app";
import {
  askForFirstApproval,
  findNextStep,
  readBusiest,
  readFirstSteps,
  sendFirstAttestation,
} from "./overview";

describe("what comes after the first steps", () => {
  it("is one thing at a time, of this organization's own", async () => {
    const test = await startTestApp();
    const { context } = test.app;
    const owner = await signInPerson(context, "next@example.com");
    const { organizationId } = owner;
    await signInPerson(context, "other@example.com");
    const { key: otherKey } = await test.createKey("other@example.com");
    const { key } = await test.createKey("next@example.com");
    const register = (as: string, slug: string, more: object = {}) =>
      test.call("POST", "/v1/identity/register", { key: as, body: { slug, ...more } });
    const public_key = generateKeyPairSync("ed25519")
      .publicKey.export({ format: "der", type: "spki" })
      .subarray(-32)
      .toString("base64");
    await register(otherKey, "another-bot", { public_key });
    await register(key, "next-bot");
    expect(await findNextStep(context, organizationId)).toBe("agent_key");
    expect((await register(key, "next-bot", { public_key })).status).toBe(200);
    expect(await findNextStep(context, organizationId)).toBe("approvers");
    await addApprover(context, owner, { name: "Ana", email: "ana@example.com" });
    expect(await findNextStep(context, organizationId)).toBe("domain");
    await addDomain(context, owner, "example.com");
    expect(await findNextStep(context, organizationId)).toBeNull();
    await test.close();
  });
});

describe("the first steps", () => {
  const { test } = setupTestApp();
  let context: Context;
  let person: MemberPrincipal;
  const read = () => readFirstSteps(context, person.organizationId);
  beforeAll(async () => {
    ({ context } = test.app);
    person = await signInPerson(context, "new@example.com");
  });

  it("need a live key that may do it", async () => {
    expect(await read()).toEqual({ hasKey: false, attestation: null, approval: null });
    const revoked = await makeApiKey(context, person, { name: "a", scopes: ["attest"], lifetimeDays: null });
    await revokeOwnApiKey(context, person, revoked.id);
    await makeApiKey(context, person, { name: "b", scopes: ["read"], lifetimeDays: null });
    expect((await read()).hasKey).toBe(true);
    await expect(sendFirstAttestation(context, person)).rejects.toThrow("permission “attest” first");
    await expect(askForFirstApproval(context, person)).rejects.toThrow("permission “authorize” first");
  });

  it("tick themselves off, and happen once", async () => {
    await makeApiKey(context, person, { name: "c", scopes: ["attest", "authorize"], lifetimeDays: null });
    await sendFirstAttestation(context, person);
    const { attestation } = await read();
    const { body } = await test.call("GET", `/v1/verify/${attestation?.id}`);
    expect(body).toMatchObject({ valid: true, agent_slug: attestation?.slug });
    await expect(sendFirstAttestation(context, person)).rejects.toThrow("has attestations already");
    await context.requestLog.flush();
    expect((await readBusiest(context, person)).agents).toEqual([
      { slug: attestation?.slug, attestations: { today: 1, days7: 1, days30: 1 } },
    ]);

    await askForFirstApproval(context, person);
    const asked = (await read()).approval;
    expect(asked?.isApproved).toBe(false);
    await expect(askForFirstApproval(context, person)).rejects.toThrow("has a request already");
    await approveUnproven(test, asked?.requestId ?? "");
    const { rows } = await listAuditEvents(context, person, { limit: 100 });
    const { email: actor, session } = person;
    const byPerson = { actorKind: "user", actor, session };
    expect(rows).toContainEqual(
      expect.objectContaining({ ...byPerson, action: "attestation.created", subject: attestation?.id }),
    );
    expect(rows).toContainEqual(
      expect.objectContaining({ ...byPerson, action: "authorization.requested", subject: asked?.requestId }),
    );
    expect((await read()).approval).toEqual({ ...asked, isApproved: true });
  });
});
