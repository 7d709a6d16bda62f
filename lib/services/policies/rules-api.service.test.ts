/** Guarantee: rules are only what validates, every version is in the log, and a change waits for a second owner if the rules say so. */
import type { ChildProcess } from "node:child_process";
import { eq } from "drizzle-orm";
import { beforeEach, describe, expect, it } from "vitest";
import type { MemberPrincipal } from "#lib/api/http/context";
import { authorizationRequests } from "#lib/db/schema";
import { hexEncode, sha256, utf8Encode } from "#lib/protocol/encoding/bytes";
import { rulesOrganization } from "#lib/protocol/policy/replay";
import { rulesetHash } from "#lib/protocol/policy/rule-context";
import { rulesTemplates } from "#lib/protocol/policy/templates";
import { changeRole } from "#lib/services/portal/organization";
import { approveUnproven, ask } from "#support/authorizations";
import { joinPerson, signInPerson } from "#support/portal";
import { setupTestApp } from "#support/setup-app";
import { createRulesEngine } from "./engine";
import { saveOwnRules } from "./read";
import { simulateRules } from "./simulate";
import { confirmProposal, dropProposal, saveRules } from "./versions";

const forbidTool = '@id("never")\nforbid (principal, action, resource == Tool::"rm");\n';
const allowAll = '@id("all")\npermit (principal, action == Action::"act", resource);\n';

describe("rules through the API", () => {
  const { test } = setupTestApp();
  let key: string;
  let organizationId: string;
  let owner: MemberPrincipal;
  let counter = 0;
  beforeEach(async () => {
    counter += 1;
    owner = await signInPerson(test.app.context, `owner${counter}@example.com`);
    ({ key, organizationId } = await test.createKey(`owner${counter}@example.com`));
  });

  const put = (body: object) =>
    test.call("PUT", "/v1/rules", { key, body: { mode: "enforce", text: allowAll, ...body } });
  const read = (query = "") => test.call("GET", `/v1/rules${query}`, { key });
  const addOwner = () =>
    joinPerson(test.app.context, `second${counter}@example.com`, organizationId, "owner");
  const simulate = (text: string, more: object = {}) =>
    test.call("POST", "/v1/rules/simulate", { key, body: { text, ...more } });

  it("has none at first, and says what rules may speak of", async () => {
    const { status, body } = await read();
    expect(status).toBe(200);
    expect(body).toMatchObject({ rules: null, proposal: null, versions: [] });
    expect(body.schema).toContain("act_approved");
  });

  it("stores versions, each a statement in the log that names the one before", async () => {
    const first = await put({ text: forbidTool, mode: "log_only", version: 0 });
    expect(first.status).toBe(200);
    const second = await put({ fallback: "deny", version: 1 });
    expect(second.body.rules).toMatchObject({
      version: 2,
      hash: rulesetHash(allowAll),
      mode: "enforce",
      fallback: "deny",
      author: `owner${counter}@example.com`,
      confirmed_by: null,
    });
    const { predicate, subject } = JSON.parse(second.body.rules.statement.payload);
    expect(subject).toEqual([{ name: "ruleset", digest: { sha256: rulesetHash(allowAll) } }]);
    expect(predicate).toMatchObject({
      number: 2,
      previous: hexEncode(sha256(utf8Encode(first.body.rules.statement.payload))),
      organization: rulesOrganization(organizationId),
      mode: "enforce",
      fallback: "deny",
    });
    expect(second.body.rules.statement.payload).not.toContain(organizationId);
    const listed = await test.call("GET", "/v1/log/statements");
    const own = listed.body.statements.filter(({ kind }: { kind: string }) => kind === "ruleset");
    expect(own.at(-1)).toMatchObject({
      payload: second.body.rules.statement.payload,
      log_index: second.body.rules.log_index,
      log_origin: second.body.rules.log_origin,
    });
    expect((await read("?version=1")).body.rules.text).toBe(forbidTool);
    expect((await read("?version=1")).body.versions.map((one: { version: number }) => one.version)).toEqual([
      2, 1,
    ]);
    expect((await read("?version=3")).status).toBe(404);
  });

  it("refuses rules about currencies that don't exist, and warns about a forbid that is easily passed", async () => {
    const forbid = (when: string) => `@id("no") forbid (principal, action, resource) when { ${when} };`;
    const unknown = await put({ text: forbid('context has amount && context.amount.currency == "EUX"') });
    expect([unknown.status, unknown.body.errors[0].pointer]).toEqual([422, "/text"]);
    expect(unknown.body.detail).toContain('line 1, column 1: "EUX" is not on the list of ISO 4217');
    const text = forbid('context.details.hasTag("payee") && context.details.getTag("payee") == "Evil"');
    const warning = {
      line: 1,
      column: 1,
      message: expect.stringContaining("no: this forbid applies only if"),
    };
    expect((await simulate(text)).body.warnings).toEqual([warning]);
    expect((await put({ text })).body.warnings).toEqual([warning]);
    expect((await put({})).body.warnings).toEqual([]);
  });

  it("stores nothing if nothing was changed, and refuses a change of what has changed since", async () => {
    await put({});
    expect((await put({})).body.rules.version).toBe(1);
    const late = await put({ text: forbidTool, version: 0 });
    expect([late.status, late.body.code]).toEqual([409, "rules_changed"]);
  });

  it("numbers versions without a gap when they are made at once", async () => {
    const texts = Array.from({ length: 6 }, (_, i) => allowAll.replace('"all"', `"all-${i}"`));
    const answers = await Promise.all(texts.map((text) => put({ text })));
    expect(answers.map(({ status }) => status)).toEqual(texts.map(() => 200));
    const { versions } = (await read()).body;
    expect(versions.map(({ version }: { version: number }) => version)).toEqual([6, 5, 4, 3, 2, 1]);
  });

  it("takes one of two changes of the same version that are made at once", async () => {
    await put({});
    const answers = await Promise.all(
      ["deny", "ask"].map((fallback) => put({ fallback, text: forbidTool, version: 1 })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
    expect((await read()).body.versions).toHaveLength(2);
  });

  it("leaves what a change doesn't name as another one made it that came just before", async () => {
    await put({});
    const { context } = test.app;
    const { log } = context;
    let isFirst = true;
    const submit: typeof log.submit = async (...item) => {
      if (isFirst) await put({ fallback: "deny" });
      isFirst = false;
      return log.submit(...item);
    };
    const late = { ...context, log: { ...log, submit } };
    expect(await saveRules(late, owner, { text: forbidTool, mode: "enforce" })).toBe(true);
    expect((await read()).body.rules).toMatchObject({ version: 3, text: forbidTool, fallback: "deny" });
  });

  it("refuses what does not validate, with line and column of each problem", async () => {
    const text = `${allowAll}@id("b") permit (principal, action, resource) when { context.amonut == 1 };\n@id("c") permit (principal, action, resource == Tol::"x");`;
    const { status, body } = await put({ text });
    expect([status, body.code]).toEqual([422, "validation_error"]);
    expect(body.errors.map(({ pointer }: { pointer: string }) => pointer)).toEqual(
      expect.arrayContaining(["/text", "/text"]),
    );
    expect(body.errors[0].message).toMatch(/^line 3, column \d+: .*amonut/);
    expect(body.errors.at(-1).message).toMatch(/^line 4, column \d+: .*Tol/);
    expect((await read()).body.rules).toBeNull();
  });

  it("refuses a megabyte, and a text that drives Cedar out of its stack, and still works after", async () => {
    expect((await put({ text: "/".repeat(1_000_000) })).status).toBe(413);
    expect((await put({ text: "/".repeat(40_000) })).status).toBe(422);
    const chain = `@id("a") permit (principal, action, resource) when { context.uses_today${" + 1".repeat(5000)} > 0 };`;
    const refused = await put({ text: chain });
    expect(refused.status).toBe(422);
    expect(refused.body.detail).toContain("too involved");
    expect((await put({})).status).toBe(200);
  });

  it("refuses a group that nobody has", async () => {
    const text =
      '@id("a")\n@group("finance")\npermit (principal, action == Action::"act_approved", resource);';
    const { status, body } = await put({ text });
    expect(status).toBe(422);
    expect(body.detail).toContain(
      'line 1, column 1: no group of your approvers is called "finance" (an owner can create it in the portal, under Approvers)',
    );
  });

  it("refuses another spelling of an agent than it is registered in, where rules name it", async () => {
    const slug = `payer-${counter}`;
    await test.call("POST", "/v1/identity/register", { key, body: { slug } });
    const about = (name: string) =>
      `// Agent::"PAYER-${counter}" "\n${allowAll}@id("b") forbid (principal == Agent::"${name}", action, resource)
        when { context.action == "Agent::\\"PAYER-${counter}\\"" };`;
    const { status, body } = await put({ text: about(slug.toUpperCase()) });
    expect([status, body.errors.length]).toEqual([422, 1]);
    expect(body.detail).toContain(
      `line 4, column 31: no agent is called "PAYER-${counter}": yours is registered as "${slug}"`,
    );
    for (const name of [slug, "nobody", "NOBODY"])
      expect((await put({ text: about(name) })).status).toBe(200);
  });

  it("waits for another owner if the rules say so", async () => {
    const { context } = test.app;
    await put({ require_second_owner: true });
    const proposed = await put({ text: forbidTool });
    expect(proposed.body).toMatchObject({ rules: { version: 1 }, proposal: { text: forbidTool } });
    const { id } = proposed.body.proposal;
    await expect(confirmProposal(context, owner, id)).rejects.toMatchObject({ errorName: "forbidden" });
    const other = await signInPerson(context, `second${counter}@example.com`, organizationId);
    await expect(confirmProposal(context, other, id)).rejects.toMatchObject({ errorName: "not_found" });
    const second = await addOwner();
    const replaced = await put({ text: forbidTool, require_second_owner: false });
    await expect(confirmProposal(context, second, id)).rejects.toMatchObject({ errorName: "rules_changed" });
    await confirmProposal(context, second, replaced.body.proposal.id);
    expect((await read()).body).toMatchObject({
      proposal: null,
      rules: { version: 2, confirmed_by: second.email, require_second_owner: false },
    });
    await expect(confirmProposal(context, second, replaced.body.proposal.id)).rejects.toMatchObject({
      errorName: "rules_changed",
    });
  });

  it("drops what an owner proposed who is one no longer", async () => {
    const { context } = test.app;
    const second = await addOwner();
    await put({ require_second_owner: true });
    const { proposal } = (await put({ text: forbidTool })).body;
    await changeRole(context, second, { userId: owner.userId, role: "member" });
    await expect(confirmProposal(context, second, proposal.id)).rejects.toMatchObject({
      errorName: "rules_changed",
    });
  });

  it("changes nothing for who stops being an owner at that moment", async () => {
    const { context } = test.app;
    const second = await addOwner();
    const { log } = context;
    const submit: typeof log.submit = async (...item) => {
      await changeRole(context, owner, { userId: second.userId, role: "member" });
      return log.submit(...item);
    };
    const late = { ...context, log: { ...log, submit } };
    const isForbidden = { errorName: "forbidden" };
    const change = { text: allowAll, mode: "enforce" } as const;
    await expect(saveOwnRules(late, second, change)).rejects.toMatchObject(isForbidden);
    expect((await read()).body.rules).toBeNull();
    await changeRole(context, owner, { userId: second.userId, role: "owner" });
    await put({ require_second_owner: true });
    const { proposal } = (await put({ text: forbidTool })).body;
    await expect(confirmProposal(late, second, proposal.id)).rejects.toMatchObject(isForbidden);
    expect((await read()).body).toMatchObject({ rules: { version: 1 }, proposal: { id: proposal.id } });
  });

  it("confirms a proposal once, however many confirm it at once", async () => {
    const { context } = test.app;
    const second = await addOwner();
    await put({ require_second_owner: true });
    const { proposal } = (await put({ text: forbidTool })).body;
    const confirm = () => confirmProposal(context, second, proposal.id);
    const outcomes = await Promise.allSettled([confirm(), confirm()]);
    const [refused] = outcomes.filter(({ status }) => status === "rejected");
    expect(refused).toMatchObject({ reason: { errorName: "rules_changed" } });
    expect((await read()).body).toMatchObject({ rules: { version: 2 }, proposal: null });
  });

  it("lets the author take a proposal back", async () => {
    await put({ require_second_owner: true });
    const { proposal } = (await put({ text: forbidTool })).body;
    await dropProposal(test.app.context, owner, proposal.id);
    expect((await read()).body).toMatchObject({ proposal: null, rules: { version: 1 } });
  });

  it("simulates over past requests and stores nothing", async () => {
    const asked = await ask(test, key, {
      agent_slug: `sim-${counter}`,
      action: "Pay",
      context: { payee: "Example" },
    });
    await ask(test, key, { agent_slug: `sim-${counter}`, action: "Read" });
    const text = `${forbidTool}@id("pay") permit (principal, action == Action::"act", resource)
      when { context.action == "Pay" && context.details.hasTag("payee") && context.details.getTag("payee") == "Example" };`;
    const { status, body } = await simulate(text);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      requests: 2,
      erased: 0,
      was: { allowed: 0, asked: 2, denied: 0 },
      would: { allowed: 1, asked: 1, denied: 0 },
      unused: ["never"],
    });
    expect(body.differences).toHaveLength(1);
    expect(body.differences[0]).toMatchObject({
      request_id: asked.made.request_id,
      was: "asked",
      would: "allowed",
      policy_ids: ["pay"],
    });
    expect((await simulate("", { fallback: "deny" })).body.would).toEqual({
      allowed: 0,
      asked: 0,
      denied: 2,
    });
    expect((await simulate("permit")).status).toBe(422);
    expect((await read()).body.rules).toBeNull();
  });

  it("lists the requests that other rules would ask more people about, and none that asked for as many", async () => {
    const payment = (value: string, currency: string, more: object = {}) =>
      ask(test, key, {
        agent_slug: `large-${counter}`,
        action: `Pay ${value} ${currency}`,
        amount: { value, currency },
        ...more,
      });
    await payment("1000", "EUR");
    await payment("1000.01", "EUR");
    await payment("5", "USD");
    await payment("2000", "EUR", { approvals_required: 2, required_level: "orb" });
    const two = rulesTemplates.find(({ title }) => title === "Two of a group above an amount")?.text ?? "";
    const { body } = await simulate(two.replaceAll('@group("finance")\n@level("none")\n', ""));
    expect(body.would).toEqual({ allowed: 0, asked: 4, denied: 0 });
    expect(body.differences).toMatchObject([
      { action: "Pay 5 USD", was: "asked", would: "asked", policy_ids: ["other-currencies"] },
      { action: "Pay 1000.01 EUR", demands: { approvals: 2, level: null, groups: [] } },
    ]);
  });

  it("leaves what a standing approval covered as it was, unless rules deny it or ask for more", async () => {
    const agent_slug = `covered-${counter}`;
    const expires_at = new Date(Date.now() + 3_600_000).toISOString();
    const grant = { tools: ["pay"], max_calls: 3, expires_at };
    const given = await ask(test, key, { agent_slug, action: "Pay often", grant });
    await approveUnproven(test, given.made.request_id);
    const { made } = await ask(test, key, { agent_slug, action: "Pay", tool: "pay" });
    expect(made.decided_by?.kind).toBe("grant");
    const people = 'permit (principal, action == Action::"act_approved", resource);';
    for (const [text, would] of [
      ["", undefined],
      [`@id("people") ${people}`, undefined],
      [`@id("two") @approvals("2") ${people}`, "asked"],
      ['@id("never") forbid (principal, action, resource == Tool::"pay");', "denied"],
    ] as const) {
      const { differences } = (await simulate(text)).body;
      const found = differences.find((one: { request_id: string }) => one.request_id === made.request_id);
      expect([text, found?.would]).toEqual([text, would]);
    }
  });

  it("compares a few requests at a time in the process for comparisons, and few comparisons at once", async () => {
    const { context } = test.app;
    for (let i = 0; i < 30; i += 1) await ask(test, key, { agent_slug: `slow-${counter}`, action: "Pay" });
    const sizes: number[] = [];
    const compare: typeof context.rules.compare = (rules, contexts, fallback) => {
      sizes.push(contexts.length);
      return context.rules.compare(rules, contexts, fallback);
    };
    const evaluate = () => Promise.reject(new Error("this process is for requests"));
    const rules = { ...context.rules, compare, evaluate };
    const simulateNow = () => simulateRules({ ...context, rules }, organizationId, { text: allowAll });
    const answers = await Promise.allSettled(Array.from({ length: 5 }, simulateNow));
    const refused = answers.filter(({ status }) => status === "rejected");
    expect(refused).toMatchObject([{ reason: { errorName: "service_unavailable" } }]);
    expect(Math.max(...sizes)).toBe(16);
  });

  it("answers 503 if the processes that evaluate end, stores nothing, and answers the next", async () => {
    const { context } = test.app;
    const working = context.rules;
    await put({});
    let starts = 0;
    const onStart = (child: ChildProcess) => {
      starts += 1;
      if (starts <= 2) child.kill("SIGKILL");
    };
    context.rules = createRulesEngine({ logger: { error: () => {} }, onStart });
    try {
      const body = { agent_slug: `ended-${counter}`, action: "Pay" };
      const refused = await test.call("POST", "/v1/authorize", { key, body });
      expect(refused).toMatchObject({ status: 503, body: { code: "service_unavailable" } });
      expect(refused.body.detail).toContain("evaluates rules has ended");
      const stored = context.database.db.select().from(authorizationRequests);
      expect(await stored.where(eq(authorizationRequests.organization_id, organizationId))).toEqual([]);
      const next = await test.call("POST", "/v1/authorize", { key, body });
      expect([next.status, next.body.decided_by?.kind]).toEqual([201, "rule"]);
    } finally {
      context.rules.close();
      context.rules = working;
    }
  });
});
