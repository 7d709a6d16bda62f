/** Guarantee: a key that a coding agent can read asks, waits, and attests what was approved for it; nothing else. */
import { beforeAll, describe, expect, it } from "vitest";
import type { AuthorizationState } from "#lib/api/schemas/authorization-state";
import type { scopeNames } from "#lib/api/schemas/key-choices";
import { createKeyForm } from "#lib/api/schemas/portal";
import { approveUnproven, ask } from "#support/authorizations";
import { setupTestApp } from "#support/setup-app";

const refused = { status: 403, code: "insufficient_scope" };

describe("the permission hook", () => {
  const { test } = setupTestApp();
  let [hook, otherHook, full] = ["", "", ""];
  const makeKey = async (...scopes: (typeof scopeNames)[number][]) =>
    (await test.createKey("dev@example.com", scopes)).key;
  beforeAll(async () => {
    hook = await makeKey("hook");
    otherHook = await makeKey("hook");
    full = await makeKey("attest", "authorize", "read");
  });

  const askedWith = (key: string) => ask(test, key, { inputs_hash: "sha256:1", context: { command: "ls" } });
  const attest = (key: string, human_authorization?: unknown, more: object = {}) => {
    const { agent_slug, action } = { agent_slug: "treasurer", action: "Pay 12,000 EUR to Example GmbH" };
    const body = { agent_slug, action, inputs_hash: "sha256:1", human_authorization, ...more };
    return test.call("POST", "/v1/attest", { key, body });
  };

  it("asks, waits, and attests what was approved", async () => {
    const { made, read } = await askedWith(hook);
    const { body: pending } = (await read(hook)) as { body: AuthorizationState };
    expect(pending).toMatchObject({ context: { command: "ls" }, attestation_id: null });
    await approveUnproven(test, made.request_id);
    const { human_authorization } = (await read(hook)).body;
    const { status, body } = await attest(hook, human_authorization);
    expect(status).toBe(201);
    expect((await read(hook)).body.attestation_id).toBe(body.attestation_id);
  });

  it("claims what was approved at its own request", async () => {
    const { made } = await askedWith(hook);
    await approveUnproven(test, made.request_id);
    const claim = (key: string) =>
      test.call("POST", `/v1/authorize/${made.request_id}/claim`, { key, body: { run: "run-1" } });
    expect((await claim(otherHook)).body).toMatchObject(refused);
    expect((await claim(hook)).body).toMatchObject({ run: "run-1" });
  });

  it("cancels what it asked for", async () => {
    const { made } = await askedWith(hook);
    const path = `/v1/authorize/${made.request_id}`;
    expect((await test.call("DELETE", path, { key: hook })).body.status).toBe("cancelled");
  });

  it("does nothing with a request of another key: neither its owner's view, nor its end, nor its use", async () => {
    for (const other of [full, otherHook]) {
      const { made, read } = await askedWith(other);
      expect(Object.keys((await read(hook)).body)).toEqual(Object.keys((await read()).body));
      const path = `/v1/authorize/${made.request_id}`;
      expect((await test.call("DELETE", path, { key: hook })).body).toMatchObject(refused);
      expect((await read(other)).body.status).toBe("pending");
      await approveUnproven(test, made.request_id);
      const { human_authorization } = (await read()).body;
      expect((await attest(hook, human_authorization)).body).toMatchObject(refused);
      expect((await attest(other, human_authorization)).status).toBe(201);
    }
  });

  it("gets no answer that another key got under the same Idempotency-Key", async () => {
    const body = { agent_slug: "treasurer", action: "Pay", require_code: true };
    const send = (key: string) =>
      test.call("POST", "/v1/authorize", { key, body, headers: { "idempotency-key": "invoice-7" } });
    const made = await send(full);
    expect([made.status, (await send(full)).body]).toEqual([201, made.body]);
    const again = await send(hook);
    expect(again.body).toMatchObject(refused);
    expect(JSON.stringify(again.body)).not.toContain(made.body.confirmation_code);
    const mine = { ...body, action: "Pay less" };
    const sendMine = () =>
      test.call("POST", "/v1/authorize", {
        key: hook,
        body: mine,
        headers: { "idempotency-key": "invoice-8" },
      });
    const first = await sendMine();
    expect([first.status, (await sendMine()).body]).toEqual([201, first.body]);
  });

  it("attests nothing without an approval", async () => {
    const fresh = await makeKey("hook");
    for (const more of [{}, { human_approved: true, human_approver_hash: "x" }])
      expect((await attest(fresh, undefined, more)).body).toMatchObject(refused);
    expect((await attest(full)).status).toBe(201);
  });

  it("attests as not approved what ran otherwise than it had claimed, and only that", async () => {
    const fresh = await makeKey("hook");
    const { made } = await askedWith(fresh);
    await approveUnproven(test, made.request_id);
    const other = { inputs_hash: "sha256:2", metadata: { approval: "none" } };
    expect((await attest(fresh, undefined, other)).body, "not claimed yet").toMatchObject(refused);
    await test.call("POST", `/v1/authorize/${made.request_id}/claim`, { key: fresh, body: { run: "run-1" } });
    expect((await attest(otherHook, undefined, other)).body, "another key's").toMatchObject(refused);
    for (const more of [{ action: "Pay more" }, { agent_slug: "someone-else" }, { human_approved: true }])
      expect((await attest(fresh, undefined, { ...other, ...more })).body).toMatchObject(refused);
    const { status, body } = await attest(fresh, undefined, other);
    expect(status).toBe(201);
    const verified = await test.call("GET", `/v1/verify/${body.attestation_id}`);
    expect(verified.body.human_approval).toEqual({ method: "none" });
    const { human_authorization } = (await test.call("GET", `/v1/authorize/${made.request_id}`)).body;
    const attested = await attest(fresh, human_authorization);
    expect(attested.status).toBe(201);
    expect((await attest(fresh, undefined, other)).body, "nothing is claimed any more").toMatchObject(
      refused,
    );
    const { attestation_id: id, payload_hash, log } = attested.body;
    const end = { parent: { id, payload_hash, origin: log.origin } };
    for (const [key, more] of [
      [otherHook, {}],
      [fresh, { inputs_hash: "sha256:2" }],
      [fresh, { action: "Pay more" }],
      [fresh, { parent: { ...end.parent, id: body.attestation_id } }],
      [fresh, { parent: { ...end.parent, payload_hash: body.payload_hash } }],
    ] as const)
      expect((await attest(key, undefined, { ...end, ...more })).body).toMatchObject(refused);
    expect((await attest(fresh, undefined, end)).status, "the end of what it attested").toBe(201);
  });

  it("is alone in a key that is made in the portal", () => {
    const problem = (...scopes: string[]) =>
      createKeyForm.safeParse({ name: "hook", scopes }).error?.issues[0]?.message;
    expect(problem("hook")).toBeUndefined();
    expect(problem("attest", "authorize")).toBeUndefined();
    expect(problem("hook", "record")).toBeUndefined();
    expect(problem("hook", "attest")).toContain("choose hook alone");
  });

  it("attests without an approval with record beside it, and never in the name of a human", async () => {
    const [recording, recordOnly] = [await makeKey("hook", "record"), await makeKey("record")];
    const { made, read } = await askedWith(recording);
    await approveUnproven(test, made.request_id);
    const { human_authorization } = (await read(recording)).body;
    for (const key of [recording, recordOnly]) {
      expect((await attest(key)).status).toBe(201);
      expect((await attest(key, undefined, { human_approved: true })).body).toMatchObject(refused);
    }
    expect((await attest(recordOnly, human_authorization)).body).toMatchObject(refused);
    expect((await attest(recording, human_authorization)).status).toBe(201);
    const body = { agent_slug: "treasurer", action: "Pay" };
    expect((await test.call("POST", "/v1/authorize", { key: recordOnly, body })).body).toMatchObject(refused);
  });

  it("takes nothing from a key that has more", async () => {
    const both = (await test.createKey("dev@example.com", ["hook", "attest", "authorize", "read"])).key;
    const { made, read } = await askedWith(full);
    expect((await read(both)).body.context).toEqual({ command: "ls" });
    expect((await attest(both)).status).toBe(201);
    expect((await test.call("DELETE", `/v1/authorize/${made.request_id}`, { key: both })).status).toBe(200);
  });
});
