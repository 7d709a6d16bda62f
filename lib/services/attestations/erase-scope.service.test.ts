/** Guarantee: an agent cannot destroy the evidence against itself. Erasing is an owner's, and the audit log says whose. */

import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { MemberPrincipal } from "#lib/api/http/context";
import { operations } from "#lib/api/operations/index";
import type { OperationSpec } from "#lib/api/operations/operation";
import { type Scope, scopeNames, usualScopes } from "#lib/api/schemas/key-choices";
import { listAuditEvents } from "#lib/services/accounts/audit-list";
import type { Context } from "#lib/services/approvals/context";
import { makeApiKey, rotateApiKey } from "#lib/services/keys/api-keys";
import { changeRole, removeMember } from "#lib/services/portal/organization";
import { anyKind } from "#support/databases";
import { joinPerson, signInPerson } from "#support/portal";
import { setupTestApp } from "#support/setup-app";
import { eraseContent } from "./erase";

const forbidden = { errorName: "forbidden" };
let counter = 0;

/**
 * Operations by the scopes of which each needs one; without one: for whoever holds the key, about that key alone, or (MCP)
 * for what the operations behind its tools need.
 */
const byScopes: Record<string, string> = {
  "": "keyInfo deleteKey freezeAgent mcp",
  "attest hook record": "attest attestBatch",
  record: "otlpTraces otlpLogs",
  "authorize hook": "authorize answerQuestion cancelAuthorization claimAuthorization revokeAuthorization",
  "hook authorize attest": "agent_hook",
  authorize: "evaluateAccess",
  identity: `registerIdentity updateIdentity putTools createWebhook updateWebhook deleteWebhook rotateWebhook testWebhook
    replayWebhookDelivery`,
  freeze: "unfreezeAgent",
  rules: "readRules putRules simulateRules",
  read: `createPresentation listAttestations listAuthorizations readRoster listWebhooks readWebhook readCallbackWebhook
    listWebhookDeliveries`,
  audit: "readAudit",
  erase: "eraseContent",
};

it("gives no permission more than its own operations", () => {
  const found = new Map<string, string>();
  for (const [id, spec] of Object.entries(operations) as [string, OperationSpec][])
    if (spec.auth.kind === "key") found.set(id, spec.auth.scopes.join(" "));
  const expected = Object.entries(byScopes).flatMap(([scopes, ids]) =>
    ids.split(/\s+/).map((id): [string, string] => [id, scopes]),
  );
  const directory = (Object.entries(operations) as [string, OperationSpec][]).filter(([, one]) => one.isScim);
  expect(found).toEqual(new Map([...expected, ...directory.map(([id]): [string, string] => [id, "scim"])]));
});

describe("the permission erase", () => {
  const { test } = setupTestApp(anyKind, { LIMIT_KEY_REQUEST_PER_IP_PER_HOUR: "1000" });
  let context: Context;
  let owner: MemberPrincipal;
  let member: MemberPrincipal;
  beforeAll(async () => {
    ({ context } = test.app);
  });
  beforeEach(async () => {
    counter += 1;
    owner = await signInPerson(context, `owner${counter}@example.com`);
    member = await joinPerson(context, `member${counter}@example.com`, owner.organizationId);
  });

  const wish = (...scopes: Scope[]) => ({ name: "k", scopes, lifetimeDays: null });
  const scopesOf = async (key: string) => (await test.call("GET", "/v1/keys/info", { key })).body.scopes;
  const erase = (key: string, id: string) => test.call("DELETE", `/v1/attestations/${id}/content`, { key });
  const attest = async (key: string): Promise<string> => {
    const body = { agent_slug: `agent-${counter}`, action: "did harm", inputs_hash: "x" };
    return (await test.call("POST", "/v1/attest", { key, body })).body.attestation_id;
  };
  const isErased = async (id: string) =>
    (await test.call("GET", `/v1/verify/${id}`)).body.status === "erased";

  it("is not in a key got by email, which cannot erase", async () => {
    const email = owner.email;
    await test.call("POST", "/v1/keys/request", { body: { email } });
    const { body: mailbox } = await test.call("GET", "/dev/mailbox");
    const mail = mailbox.messages.find(({ to }: { to: string }) => to === email);
    const code = mail.subject.slice(0, 6);
    const { body } = await test.call("POST", "/v1/keys/verify", { body: { email, code } });
    expect(await scopesOf(body.api_key)).toEqual(["attest", "authorize", "identity", "read"]);
    const id = await attest(body.api_key);
    expect((await erase(body.api_key, id)).body).toMatchObject({ status: 403, code: "insufficient_scope" });
    expect(await isErased(id)).toBe(false);
  });

  it("is made by owners, and never by, for or through a member", async () => {
    await expect(makeApiKey(context, member, wish("erase"))).rejects.toMatchObject(forbidden);
    await expect(makeApiKey(context, member, wish(...scopeNames))).rejects.toMatchObject(forbidden);
    const made = await makeApiKey(context, owner, wish("attest", "erase"));
    for (const overlapHours of [0, 24])
      await expect(rotateApiKey(context, member, { keyId: made.id, overlapHours })).rejects.toMatchObject(
        forbidden,
      );
    expect(await scopesOf(made.text)).toEqual(["attest", "erase"]);
    const rotated = await rotateApiKey(context, owner, { keyId: made.id, overlapHours: 0 });
    expect(await scopesOf(rotated.text)).toEqual(["attest", "erase"]);
    const own = await makeApiKey(context, member, wish(...usualScopes));
    const again = await rotateApiKey(context, member, { keyId: own.id, overlapHours: 0 });
    expect(await scopesOf(again.text)).toEqual(usualScopes);
  });

  it("does not outlive its maker's role", async () => {
    await changeRole(context, owner, { userId: member.userId, role: "owner" });
    const [demoted, left] = await Promise.all([
      makeApiKey(context, member, wish("read", "erase")),
      makeApiKey(context, owner, wish("read", "erase")),
    ]);
    const id = await attest((await makeApiKey(context, owner, wish("attest"))).text);
    await changeRole(context, owner, { userId: member.userId, role: "member" });
    expect(await scopesOf(demoted.text)).toEqual(["read"]);
    expect((await erase(demoted.text, id)).status).toBe(403);
    await changeRole(context, owner, { userId: member.userId, role: "owner" });
    await removeMember(context, member, { userId: owner.userId, revokeKeys: false });
    expect(await scopesOf(left.text)).toEqual(["read"]);
    expect((await erase(left.text, id)).status).toBe(403);
    expect(await isErased(id)).toBe(false);
  });

  it("goes with the permission that changes rules", async () => {
    await changeRole(context, owner, { userId: member.userId, role: "owner" });
    const made = await makeApiKey(context, member, wish("rules", "read", "attest"));
    const asked = {
      key: made.text,
      body: { text: "permit (principal, action, resource);", mode: "enforce" },
    };
    await changeRole(context, owner, { userId: member.userId, role: "member" });
    expect(await scopesOf(made.text)).toEqual(["attest", "read"]);
    expect((await test.call("PUT", "/v1/rules", asked)).status).toBe(403);
  });

  it("is not won by making a key while one loses the role", async () => {
    await changeRole(context, owner, { userId: member.userId, role: "owner" });
    const [, ...made] = await Promise.allSettled([
      changeRole(context, owner, { userId: member.userId, role: "member" }),
      ...Array.from({ length: 8 }, () => makeApiKey(context, member, wish("read", "erase"))),
    ]);
    for (const one of made)
      if (one.status === "fulfilled") expect(await scopesOf(one.value.text)).toEqual(["read"]);
  });

  it("leaves who made the key and who erased in the audit log, by the key or in the portal", async () => {
    const { id: keyId, text } = await makeApiKey(context, owner, wish("attest", "erase"));
    const [first, second] = [await attest(text), await attest(text)];
    expect((await erase(text, first)).status).toBe(200);
    await expect(eraseContent(context, member, second)).rejects.toMatchObject(forbidden);
    await eraseContent(context, owner, second);
    const { rows } = await listAuditEvents(context, owner, { kind: undefined, cursor: undefined, limit: 50 });
    const shown = (action: string) =>
      rows
        .filter((row) => row.action === action)
        .map(({ actorKind, detail }) => [actorKind, JSON.parse(detail ?? "{}")]);
    expect(shown("api_key.created")).toEqual([["user", { name: "k", scopes: ["attest", "erase"] }]]);
    expect(rows.find(({ action }) => action === "api_key.created")?.actor).toBe(owner.email);
    expect(shown("attestation.erased")).toEqual([
      ["user", {}],
      ["key", { key_id: keyId, key_name: "k", key_made_by: owner.email }],
    ]);
    expect(rows.find(({ action }) => action === "attestation.erased")?.actor).toBe(owner.email);
  });
});
