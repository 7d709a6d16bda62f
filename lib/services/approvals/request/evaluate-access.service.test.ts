/** An evaluation says what the request would be answered at this moment, and leaves nothing behind. */
import { describe, expect, it } from "vitest";
import { evaluationResponse } from "#lib/api/schemas/authorization-state";
import { approveUnproven, ask } from "#support/authorizations";
import { setupTestApp } from "#support/setup-app";

const rules = `
@id("small") permit (principal, action == Action::"act", resource)
when { context has amount && context.amount.currency == "EUR" && context.amount.value.lessThan(decimal("50.0")) };
@id("never") forbid (principal, action, resource == Tool::"rm");
@id("stopped") forbid (principal == Agent::"stopped", action, resource);
@id("two") @approvals("2") permit (principal, action == Action::"act_approved", resource == Tool::"pay");
`;

describe("POST /access/v1/evaluation", () => {
  const { test, key } = setupTestApp();

  const post = (path: string, body: object, by = key) => test.call("POST", path, { key: by, body });
  const putRules = (mode: string) => test.call("PUT", "/v1/rules", { key, body: { text: rules, mode } });
  const evaluate = async (agent: string, tool: string, value?: string, by = key) => {
    const { status, body } = await post(
      "/access/v1/evaluation",
      {
        subject: { type: "agent", id: agent },
        action: { name: "Pay invoice 17" },
        resource: { type: "tool", id: tool },
        ...(value && { context: { amount: { value, currency: "EUR" } } }),
      },
      by,
    );
    if (status !== 200) throw new Error(JSON.stringify(body));
    expect(evaluationResponse.parse(body)).toEqual(body);
    return body;
  };
  /** All that a request could write; calls are counted for the portal, and the service writes statements of its own. */
  const written = [
    ...["agents", "agent_changes", "approvals", "attestations", "audit_events", "authorization_requests"],
    ...["grants", "idempotency_keys", "notices", "request_approvers", "rule_sets", "webhook_messages"],
  ];
  async function countRows(): Promise<Record<string, unknown>> {
    const counts = written.map((name) => `(SELECT count(*)::int FROM ${name}) AS ${name}`);
    const decisions = "(SELECT count(*)::int FROM log_leaves WHERE sequence IS NOT NULL) AS entries";
    const { rows } = await test.query(`SELECT ${[...counts, decisions].join(", ")}`, []);
    return rows[0] ?? {};
  }

  it("decides as the request is decided right after it, by rule, standing approval, freeze or people", async () => {
    expect((await putRules("enforce")).status).toBe(200);
    await ask(test, key, { agent_slug: "frozen", action: "Anything" });
    await ask(test, key, { agent_slug: "stopped", action: "Anything" });
    await post("/v1/identity/frozen/freeze", { reason: "stop" });
    const expires_at = new Date(Date.now() + 3_600_000).toISOString();
    const grant = await ask(test, key, {
      agent_slug: "granted",
      action: "Send three mails",
      grant: { tools: ["mail"], max_calls: 3, expires_at },
    });
    await approveUnproven(test, grant.made.request_id);
    const cases = [
      ["payer", "pay", "20", "allowed_by_rule", "approved"],
      ["payer", "pay", "80", "approval_required", "pending"],
      ["payer", "rm", "20", "denied", "denied"],
      ["Stopped", "pay", "20", "denied", "denied"],
      ["frozen", "pay", "20", "denied", "denied"],
      ["granted", "mail", undefined, "covered_by_standing_approval", "approved"],
      ["granted", "mail", undefined, "covered_by_standing_approval", "approved"],
      ["payer", "read", undefined, "approval_required", "pending"],
    ] as const;
    for (const [agent, tool, value, reason, status] of cases) {
      const before = await countRows();
      const said = await evaluate(agent, tool, value);
      expect(await countRows(), "nothing is stored").toEqual(before);
      expect([said.context.reason, said.decision]).toEqual([reason, status === "approved"]);
      const request = said.context.access_request?.request ?? {
        agent_slug: agent,
        action: "Pay invoice 17",
        tool,
        ...(value && { amount: { value, currency: "EUR" } }),
      };
      const { body: made } = await post("/v1/authorize", request);
      expect([made.status, made.denial_reason]).toEqual([status, said.context.message]);
      const { context_hash: _salted, ...decidedBy } = said.context.decided_by ?? { context_hash: "" };
      expect(made.decided_by ?? {}).toMatchObject(decidedBy);
    }
    expect((await evaluate("granted", "mail")).context.decided_by).toMatchObject({
      kind: "grant",
      use: 3,
      of: 3,
    });
  });

  it("says where people are asked, with the body for it", async () => {
    const { context } = await evaluate("payer", "pay", "80");
    expect(context).toMatchObject({ reason: "approval_required", decided_by: null, message: null });
    expect(context.access_request).toMatchObject({
      endpoint: "http://localhost:3000/v1/authorize",
      request: { agent_slug: "payer", tool: "pay", amount: { value: "80", currency: "EUR" } },
    });
    expect(Date.parse(context.access_request.expires_at) - Date.parse(context.evaluated_at)).toBe(300_000);
  });

  it("asks people while rules only log, and without any", async () => {
    for (const mode of ["log_only", "off"]) {
      expect((await putRules(mode)).status).toBe(200);
      expect((await evaluate("payer", "rm", "20")).context.reason).toBe("approval_required");
    }
  });

  it("needs a key that may ask, an own agent, and nothing that rules can't see", async () => {
    const body = {
      subject: { type: "agent", id: "payer" },
      action: { name: "Pay" },
      resource: { type: "tool", id: "pay" },
    };
    const { key: reader } = await test.createKey("dev@example.com", ["read"]);
    expect((await post("/access/v1/evaluation", body, reader)).body.code).toBe("insufficient_scope");
    expect((await test.call("POST", "/access/v1/evaluation", { body })).status).toBe(401);
    const { key: other } = await test.createKey("other@example.com");
    const pointers = (answer: Awaited<ReturnType<typeof post>>) =>
      answer.body.errors.map(({ pointer }: { pointer: string }) => pointer);
    const taken = await post("/access/v1/evaluation", body, other);
    expect([taken.body.code, pointers(taken)]).toEqual(["agent_slug_taken", ["/subject/id"]]);
    const text = '@id("no") forbid (principal == Agent::"nobody", action, resource);';
    const changed = await test.call("PUT", "/v1/rules", { key, body: { text, mode: "enforce" } });
    expect(changed.status).toBe(200);
    const misspelt = await post("/access/v1/evaluation", {
      ...body,
      subject: { type: "agent", id: "Nobody" },
    });
    expect([misspelt.body.code, pointers(misspelt)]).toEqual(["validation_error", ["/subject/id"]]);
    for (const odd of [
      { ...body, subject: { type: "user", id: "payer" } },
      { ...body, resource: { ...body.resource, properties: { owner: "x" } } },
      { ...body, context: { time: "now" } },
    ])
      expect((await post("/access/v1/evaluation", odd)).status).toBe(422);
  });
});
