/** Guarantee: a request hashes who asks as it is at that moment, and shows that and nothing newer, to its end. */
import { beforeAll, describe, expect, it } from "vitest";
import { findDifferences } from "#components/approve/check-shown";
import type { MemberPrincipal } from "#lib/api/http/context";
import { readApprovalView } from "#lib/services/approvals/decision/inbox";
import { updateOrganization } from "#lib/services/portal/organization";
import { ask } from "#support/authorizations";
import { signInPerson } from "#support/portal";
import { setupTestApp } from "#support/setup-app";

describe("who asks", () => {
  const { test } = setupTestApp();
  let key: string;
  let owner: MemberPrincipal;
  beforeAll(async () => {
    owner = await signInPerson(test.app.context, "dev@example.com");
    ({ key } = await test.createKey("dev@example.com"));
    await setMark(null, null);
  });

  const askAs = async (agent_slug: string, more: object = {}) => {
    const asked = await ask(test, key, { agent_slug, ...more });
    const view = await readApprovalView(test.app.context, asked.token);
    if (view === null) throw new Error("no view");
    return { ...asked, view, asker: asked.made.requested_by };
  };
  const viewOf = (token: string) => readApprovalView(test.app.context, token);
  const setMark = (markText: string | null, markColor: "teal" | null) =>
    updateOrganization(test.app.context, owner, {
      name: "dev",
      defaultPublic: true,
      markText,
      markColor,
      pushShowsFacts: true,
    });

  it("is the caller's label, the mark, the domains and the agent's past", async () => {
    const { view, asker, made, read } = await askAs("new-bot", { requester: "Accounts payable" });
    expect(asker).toEqual({
      requester: "Accounts payable",
      organization_mark: { text: "D", color: expect.any(String) },
      organization_domains: [],
      agent_past: { known_since: null, attestations: 0, requests: 0, denied: 0 },
    });
    expect(view.requested_by).toEqual(asker);
    expect(findDifferences(view)).toEqual([]);
    expect((await read(key)).body.requested_by).toEqual(asker);
    expect((await read()).body).not.toHaveProperty("requested_by");
    const listed = (await test.call("GET", "/v1/authorizations?agent_slug=new-bot", { key })).body;
    expect(listed.authorizations).toMatchObject([{ request_id: made.request_id, requested_by: asker }]);
  });

  it("counts what the agent did before, and stays as it was when it does more", async () => {
    const attest = () =>
      test.call("POST", "/v1/attest", {
        key,
        body: { agent_slug: "busy-bot", action: "a", inputs_hash: "b" },
      });
    await attest();
    await attest();
    const first = await askAs("busy-bot");
    expect((await first.deny("no")).status).toBe(200);
    const second = await askAs("busy-bot");
    expect(second.asker?.agent_past).toEqual({
      known_since: expect.stringMatching(/^\d{4}-.*Z$/),
      attestations: 2,
      requests: 1,
      denied: 1,
    });
    await attest();
    await askAs("busy-bot");
    expect(await viewOf(second.token)).toMatchObject({ requested_by: second.asker });
    expect(first.asker?.agent_past).toMatchObject({ attestations: 2, requests: 0, denied: 0 });
  });

  it("stops counting at the bound", async () => {
    await askAs("endless-bot");
    await test.query(
      `INSERT INTO authorization_requests (id, organization_id, agent_id, api_key_id, request, request_hash,
           fingerprint, status, decided_by, approvals_required, created_at, expires_at)
         SELECT r.id || i, r.organization_id, r.agent_id, r.api_key_id, r.request, sha256((r.id || i)::bytea),
           sha256(i::text::bytea), 'denied', '{"kind":"people"}', 1, r.created_at, r.expires_at
         FROM authorization_requests r JOIN agents a ON a.id = r.agent_id, generate_series(1, 1000) AS i
         WHERE a.slug = 'endless-bot'`,
      [],
    );
    const { asker } = await askAs("endless-bot");
    expect(asker?.agent_past).toMatchObject({ attestations: 0, requests: 1000, denied: 1000 });
  });

  it("has the mark that the owner chose, from then on", async () => {
    const before = await askAs("mark-bot");
    await setMark("ÄX", "teal");
    expect((await askAs("mark-bot")).asker?.organization_mark).toEqual({ text: "ÄX", color: "teal" });
    expect(await viewOf(before.token)).toMatchObject({ requested_by: before.asker });
    await setMark(null, null);
    expect((await askAs("mark-bot")).asker).toMatchObject({
      organization_mark: before.asker?.organization_mark,
    });
  });

  it("does not make two requests differ: a denied one is remembered under any label", async () => {
    const first = await askAs("label-bot", { requester: "Alice" });
    await first.deny("no");
    const second = await askAs("label-bot", { requester: "Bob" });
    expect(second.made.previously_denied?.request_id).toBe(first.made.request_id);
  });

  it.each([
    ["", 422],
    ["x".repeat(65), 422],
    ["\u0000", 422],
    [7, 422],
    ["😀".repeat(64), 201],
    [null, 201],
  ])("takes a label of 1 to 64 characters: %j", async (requester, status) => {
    const body = { agent_slug: "strict-bot", action: "pay", requester };
    const answer = await test.call("POST", "/v1/authorize", { key, body });
    expect(answer.status).toBe(status);
    if (status === 422) expect(answer.body.errors[0].pointer).toBe("/requester");
    else expect(answer.body.requested_by.requester).toBe(requester);
  });
});
