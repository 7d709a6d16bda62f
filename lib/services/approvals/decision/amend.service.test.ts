/** Guarantees: a counter-offer only narrows, takes the old request's place in one step, and is decided as a new question. */

import { describe, expect, it, vi } from "vitest";
import type { AuthorizationState } from "#lib/api/schemas/authorization-state";
import { hashInputs } from "#lib/client/api/inputs";
import { applyChanges } from "#lib/protocol/approval/amendment";
import type { ApprovalRequest, HumanAuthorization } from "#lib/protocol/approval/approval";
import { requestHash } from "#lib/protocol/approval/approval";
import { describeDecided } from "#lib/protocol/approval/decided-words";
import type { JsonObject } from "#lib/protocol/encoding/canonical-json";
import { approvalChallenge, type PasskeyDecision } from "#lib/protocol/passkey/assertion";
import { saveGroup } from "#lib/services/accounts/approver-groups";
import { listApprovers } from "#lib/services/accounts/approvers";
import { listInbox, readApprovalView, readDecidable } from "#lib/services/approvals/decision/inbox";
import { readOwnAuthorization } from "#lib/services/approvals/portal-authorizations";
import { readRequestFacts } from "#lib/services/approvals/read";
import { type AuthorizationRow, approvalUrl, findAuthorization } from "#lib/services/approvals/rows";
import { verifyInBrowser } from "#lib/verifier/browser";
import { type AskedRequest, approveUnproven, ask, fromPage, openRequest } from "#support/authorizations";
import { enrolApprover, enrolGroup } from "#support/enrol";
import { signInPerson } from "#support/portal";
import { setupTestApp } from "#support/setup-app";

const { test } = setupTestApp();

type Passkey = Awaited<ReturnType<typeof enrolApprover>>["passkey"];

const inputs = { amount: 120, payee: "Example Ltd", note: "March" };
const shown = {
  context: { amount: "120", payee: "Example Ltd", note: "March" },
  details: { complete: true, types: { amount: "number", payee: "string", note: "string" } },
  inputs_hash: hashInputs(inputs),
  amount: { value: "120.00", currency: "EUR" },
  amendable: ["context.payee", "amount", "context.amount"],
  tool: "bank.transfer",
};
const inCents = {
  context: { cents: "12000", count: "120", units: "12000" },
  details: { complete: true, types: { cents: "number", count: "number", units: "number" } },
  inputs_hash: hashInputs({ cents: 12000, count: 120, units: 12000 }),
};

const post = (token: string, what: string, body: object) =>
  test.call("POST", `/approve/${token}/${what}`, { headers: fromPage, body });
const amend = (token: string, changes: object, more: object = {}) =>
  post(token, "amend", { changes, ...more });

async function read(key: string, id: string): Promise<AuthorizationState> {
  return (await test.call("GET", `/v1/authorize/${id}`, { key })).body as AuthorizationState;
}

const tokenOf = (id: string) => approvalUrl(test.app.context, id).split("/").at(-1) ?? "";

async function requestOf(id: string): Promise<ApprovalRequest> {
  const { rows } = await test.query("SELECT request FROM authorization_requests WHERE id = $1", [id]);
  return JSON.parse(Buffer.from(rows[0]?.["request"] as Uint8Array).toString()) as ApprovalRequest;
}

async function sign(id: string, passkey: Passkey, decision: PasskeyDecision) {
  const hash = requestHash(await requestOf(id));
  const { public_key: _key, ...sent } = passkey.assert(approvalChallenge(hash, decision));
  return { passkey: sent };
}

async function decisionOf(id: string): Promise<JsonObject> {
  const { rows } = await test.query("SELECT decision_payload FROM authorization_requests WHERE id = $1", [
    id,
  ]);
  return JSON.parse(Buffer.from(rows[0]?.["decision_payload"] as Uint8Array).toString()).predicate;
}

const changed = (answer: { body: { errors?: { pointer: string; message: string }[] } }) =>
  answer.body.errors?.map(({ pointer, message }) => `${pointer}: ${message}`).join() ?? null;

describe("a counter-offer", () => {
  it("takes the old request's place, has a hash of its own, and verifies as a chain", async () => {
    const { key } = await test.createKey();
    const asked = await ask(test, key, shown);
    const waiting = asked.read(key, "?wait=20");
    const answer = await amend(asked.token, { amount: "80.50", "context.payee": "Example GmbH" });
    expect(answer.status).toBe(200);
    const old = (await waiting).body as AuthorizationState;
    expect(old).toMatchObject({ status: "cancelled", amended_by: answer.body.request_id });
    expect(old.guidance).toContain("amended_by");
    const ended = await findAuthorization(test.app.context.database, old.request_id);
    const { decided } = await readRequestFacts(test.app.context, ended as AuthorizationRow);
    expect(describeDecided(decided)).toBe("Nobody, an approver changed it into another request");
    const now = await read(key, old.amended_by ?? "");
    const after = { amount: 80.5, payee: "Example GmbH", note: "March" };
    expect(now).toMatchObject({
      status: "pending",
      amount: { value: "80.5", currency: "EUR" },
      context: { amount: "80.5", payee: "Example GmbH", note: "March" },
      inputs_hash: hashInputs(after),
      amendable: null,
      amends: {
        request_id: asked.made.request_id,
        fields: ["amount", "context.amount", "context.payee"],
        by: null,
      },
      before: { context: { amount: "120", payee: "Example Ltd" } },
      expires_at: asked.made.expires_at,
    });
    // A verifier of a record rebuilds the old one's cancellation from the new request.
    expect(await decisionOf(asked.made.request_id)).toMatchObject({
      decision: "cancelled",
      decided_at: now.created_at,
      authorization_hash: null,
    });
    expect((await asked.deny("late")).status, "the old one").toBe(409);
    expect((await amend(tokenOf(now.request_id), { amount: "1" })).body.code).toBe("approval_refused");
    const opened = openRequest(test, {
      request_id: now.request_id,
      approval_url: approvalUrl(test.app.context, now.request_id),
    });
    expect((await opened.approve("ada")).status).toBe(200);
    const row = await findAuthorization(test.app.context.database, now.request_id);
    expect(row && (await readRequestFacts(test.app.context, row)).changed).toBe(
      "amount from 120.00 EUR to 80.50 EUR, amount, payee, by somebody with the link",
    );
    const approved = await read(key, now.request_id);
    const object = approved.human_authorization as unknown as HumanAuthorization;
    expect(object.version).toBe(2);
    expect(requestHash(object.original_request as ApprovalRequest)).toBe(object.request.amends?.request_hash);
    const trust = (await test.call("GET", "/v1/pubkey")).body;
    const report = await verifyInBrowser(approved, trust);
    const statuses = Object.fromEntries(report.checks.map(({ name, status }) => [name, status]));
    expect(statuses).toMatchObject({ amendment: "pass", shown_content: "pass", restated_fields: "pass" });
    expect(report.facts.find(({ id }) => id === "changed")?.text).toContain("120.00 EUR to 80.50 EUR");
    const attest = (inputs_hash: string) =>
      test.call("POST", "/v1/attest", {
        key,
        body: {
          agent_slug: "treasurer",
          action: asked.made.action,
          inputs_hash,
          human_authorization: object as unknown as JsonObject,
        },
      });
    expect((await attest(hashInputs(inputs))).body.code, "what was asked for").toBe("authorization_mismatch");
    expect((await attest(hashInputs(after))).status).toBe(201);
  });

  it.each([
    [{ amount: "120.01" }, "/changes/amount: must be lower"],
    [{ amount: "80.001" }, "/changes/amount: EUR has 2 decimals: 80.001 can't be paid"],
    [{ amount: "-1" }, "/changes/amount: must be an amount such as 8000.50, without thousands separators"],
    [{ amount: "1e2" }, "/changes/amount: must be an amount such as 8000.50, without thousands separators"],
    [{ "context.amount": "1" }, "/changes/context.amount: follows the amount"],
    [{ "context.note": "April" }, "/changes/context.note: can't be changed"],
    [{ action: "Pay more" }, "/changes/action: can't be changed"],
    [{ "context.payee": "x".repeat(1025) }, "/changes/context.payee: must be at most 1024 characters"],
    [{ amount: "120" }, "/changes: changes nothing"],
    [{}, "/changes: changes nothing"],
  ])("refuses %j", async (changes, problem) => {
    const { key } = await test.createKey();
    const asked = await ask(test, key, shown);
    expect(changed(await amend(asked.token, changes))).toBe(problem);
    expect(await read(key, asked.made.request_id)).toMatchObject({ status: "pending", amended_by: null });
  });

  it.each([
    [{ amendable: ["context.nobody"] }, "context.nobody is not in the request"],
    [{ amendable: ["amount"] }, "amount needs an amendable detail of the same number, which changes with it"],
    [
      { details: null },
      "needs details that are the inputs: complete, typed, and with the hash of inputs_hash",
    ],
    [
      { inputs_hash: "sha256:aa" },
      "needs details that are the inputs: complete, typed, and with the hash of inputs_hash",
    ],
    [
      { amendable: ["context.amount", "context.payee"] },
      "context.amount is the amount: name amount too, so that both change",
    ],
    [
      { ...inCents, amendable: ["context.cents"] },
      "context.cents is the amount: name amount too, so that both change",
    ],
    [{ amendable: ["action"] }, "must name amount or context.NAME, each once"],
  ])("can't be asked for with %j", async (more, problem) => {
    const { key } = await test.createKey();
    const body = { agent_slug: "treasurer", action: "Pay", ...shown, ...more };
    const answer = await test.call("POST", "/v1/authorize", { key, body });
    expect([answer.status, changed(answer)]).toEqual([422, `/amendable: ${problem}`]);
  });

  it("changes cents with the amount, but nothing that only happens to be so many", async () => {
    const { key } = await test.createKey();
    const amendable = ["amount", "context.cents", "context.units"];
    const asked = await ask(test, key, { ...shown, ...inCents, amendable });
    const { body } = await amend(asked.token, { amount: "80.50" });
    expect(await read(key, body.request_id)).toMatchObject({
      amount: { value: "80.5", currency: "EUR" },
      context: { cents: "8050", count: "120", units: "12000" },
      inputs_hash: hashInputs({ cents: 8050, count: 120, units: 12000 }),
      amends: { fields: ["amount", "context.cents"] },
    });
    const alone = await ask(test, key, {
      ...shown,
      ...inCents,
      amendable: ["context.count", "context.units"],
    });
    expect((await amend(alone.token, { "context.count": "119" })).status).toBe(200);
  });

  it("changes no sum apart from the amount in a request that was made before that was refused", () => {
    const old = { amount: { value: "120", currency: "EUR" }, amendable: ["context.cents", "context.units"] };
    const change = (name: string) => applyChanges(old, inCents.context, { [`context.${name}`]: "999900" });
    expect(change("cents")).toEqual({
      field: "context.cents",
      problem: "is the amount, which can't be changed",
    });
    expect(change("units")).toMatchObject({ fields: ["context.units"] });
  });

  it("of two at once, or of one beside a decision, one happens", async () => {
    const { key } = await test.createKey();
    const asked = await ask(test, key, shown);
    const answers = await Promise.all([
      amend(asked.token, { amount: "1" }),
      amend(asked.token, { amount: "2" }),
      asked.deny("no"),
      approveUnproven(test, asked.made.request_id).then(
        () => ({ status: 200 }),
        () => ({ status: 409 }),
      ),
    ]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409]);
    const list = await test.call("GET", "/v1/authorizations", { key });
    const states = (list.body.authorizations as AuthorizationState[]).filter(
      ({ agent_slug }) => agent_slug === "treasurer",
    );
    expect(states.filter(({ amends }) => amends?.request_id === asked.made.request_id).length).toBeLessThan(
      2,
    );
    expect((await read(key, asked.made.request_id)).status).not.toBe("pending");
  });

  it("isn't made for a frozen agent, also if it is frozen at the same moment", async () => {
    const { key } = await test.createKey();
    const slug = "frozen-meanwhile";
    const asked = await ask(test, key, { ...shown, agent_slug: slug });
    const { pipelined } = test.app.context.database;
    const run = pipelined.transaction.bind(pipelined);
    const spy = vi.spyOn(pipelined, "transaction").mockImplementationOnce(async (...given) => {
      await test.query("UPDATE agents SET frozen_at = now() WHERE slug = $1", [slug]);
      return run(...given);
    });
    const answers = [await amend(asked.token, { amount: "80" }), await amend(asked.token, { amount: "80" })];
    spy.mockRestore();
    expect(answers.map(({ body }) => body.code)).toEqual(["agent_frozen", "agent_frozen"]);
  });

  it("obeys rules like a new request, but is never approved by one", async () => {
    const { key } = await test.createKey();
    const rules = async (text: string, mode = "enforce") =>
      expect((await test.call("PUT", "/v1/rules", { key, body: { text, mode } })).status).toBe(200);
    const asked = await ask(test, key, shown);
    await rules(`@id("no-gmbh") forbid (principal, action, resource) when { context.details.hasTag("payee") && context.details.getTag("payee") == "Example GmbH" };
      @id("small") permit (principal, action == Action::"act", resource) when { context has amount && context.amount.value.lessThan(decimal("100.0")) };
      @id("ask") permit (principal, action == Action::"act_approved", resource);`);
    const refused = await amend(asked.token, { "context.payee": "Example GmbH" });
    expect(refused.body.code).toBe("rule_forbids");
    const { body } = await amend(asked.token, { amount: "80" });
    expect((await read(key, body.request_id)).status).toBe("pending");
    await rules('@id("off") permit (principal, action, resource);', "off");
  });
});

describe("a counter-offer where groups decide", () => {
  it("needs an approver's passkey, counts only with that approver, and names them", async () => {
    const { key } = await test.createKey();
    const [carol, dave, erin] = await enrolGroup(
      test,
      "dev@example.com",
      "treasury",
      "Carol",
      "Dave",
      "Erin",
    );
    if (!carol || !dave || !erin) throw new Error("three are enrolled");
    const groups = { required_approvers: [{ group: "treasury", count: 2 }], required_level: "none" };
    const asked = await ask(test, key, { ...shown, ...groups });
    const { request_id: id } = asked.made;
    const changes = { amount: "80" };
    expect((await amend(asked.token, changes)).body.code, "the link alone").toBe("approval_refused");
    const question = "What for?";
    expect((await post(asked.token, "ask", { question })).body.code, "the link alone").toBe(
      "approval_refused",
    );
    const asking = await sign(id, carol.passkey, "ask");
    expect((await post(asked.token, "ask", { question, ...asking })).status).toBe(200);
    const approving = await sign(id, carol.passkey, "approve");
    expect((await amend(asked.token, changes, approving)).body.code, "another decision").toBe(
      "passkey_refused",
    );
    const copied = await sign(id, erin.passkey, "amend");
    const other = await ask(test, key, { ...shown, ...groups });
    const denying = await sign(other.made.request_id, erin.passkey, "deny");
    expect((await post(other.token, "deny", denying)).status).toBe(200);
    const late = await amend(asked.token, changes, copied);
    expect([late.body.code, late.body.detail], "by a counter that didn't grow").toEqual([
      "passkey_refused",
      expect.stringContaining("may be a copy"),
    ]);
    const { body, status } = await amend(asked.token, changes, await sign(id, carol.passkey, "amend"));
    expect(status).toBe(200);
    const now = body.request_id as string;
    expect(await read(key, now)).toMatchObject({
      amends: { by: carol.id },
      required_approvers: [{ name: "treasury" }],
    });
    const owner = await signInPerson(test.app.context, "dev@example.com");
    expect((await readOwnAuthorization(test.app.context, owner, now)).changed).toMatch(
      /^amount from 120\.00 EUR to 80\.00 EUR, .*by Carol$/,
    );
    const view = await readApprovalView(test.app.context, tokenOf(now));
    expect([view?.before?.questions, view?.questions]).toEqual([[expect.objectContaining({ question })], []]);
    const approve = async (passkey: Passkey) =>
      post(tokenOf(now), "passkey", await sign(now, passkey, "approve"));
    const replayed = await post(tokenOf(now), "passkey", approving);
    expect(replayed.body.code, "an approval of the old request").toBe("passkey_refused");
    expect((await approve(dave.passkey)).status).toBe(200);
    const isOffered = async (name: string) => {
      const user = await signInPerson(test.app.context, `${name}@example.com`);
      const { rows } = await listInbox(test.app.context, user, { isWaiting: true, limit: 20 });
      const decidable = await readDecidable(test.app.context, user, rows);
      return decidable.flat().some(({ view }) => view.request_id === now);
    };
    expect([await isOffered("erin"), await isOffered("carol")]).toEqual([false, true]);
    const { body: refused } = await approve(erin.passkey);
    expect(refused.code, "the place of who changed it").toBe("approval_refused");
    expect(refused.detail).toContain("needed from whoever changed the request");
    expect((await approve(carol.passkey)).status).toBe(200);
    const state = await read(key, now);
    const trust = (await test.call("GET", "/v1/pubkey")).body;
    const { checks } = await verifyInBrowser(state, trust);
    expect(checks.filter(({ status }) => status === "fail")).toEqual([]);
    expect(checks.find(({ name }) => name === "amendment")?.detail).toContain(`by approver ${carol.id}`);
  });

  it("isn't made by who asked, nor by somebody of no group", async () => {
    const owner = await signInPerson(test.app.context, "boss@example.com");
    const { key } = await test.createKey("boss@example.com");
    const boss = await enrolApprover(test, owner, "Boss");
    const others = await enrolGroup(test, "boss@example.com", "board", "Frank", "Grace");
    const groups = await listApprovers(test.app.context, owner);
    const board = groups.groups.find(({ name }) => name === "board");
    const memberIds = [...others.map(({ id }) => id), boss.id];
    await saveGroup(test.app.context, owner, { id: board?.id ?? "", name: "board", memberIds });
    const asked = await ask(test, key, {
      ...shown,
      agent_slug: "board-bot",
      required_approvers: [{ group: "board", count: 1 }],
      required_level: "none",
    });
    const stranger = await enrolApprover(test, owner, "Heidi");
    for (const [{ passkey }, code] of [
      [boss, "approval_refused"],
      [stranger, "approver_not_enrolled"],
    ] as const) {
      const signed = await sign(asked.made.request_id, passkey, "amend");
      expect((await amend(asked.token, { amount: "1" }, signed)).body.code).toBe(code);
    }
  });
});

describe("a request that is asked about", () => {
  it.each([
    ["cancelled", (asked: AskedRequest) => amend(asked.token, { amount: "80" })],
    ["denied", (asked: AskedRequest) => asked.deny("no")],
  ] as const)("has what was asked at the same moment in its decision: %s", async (decision, decide) => {
    const { key } = await test.createKey();
    const asked = await ask(test, key, { ...shown, agent_slug: `asked-meanwhile-${decision}` });
    const { pipelined } = test.app.context.database;
    const run = pipelined.transaction.bind(pipelined);
    const spy = vi.spyOn(pipelined, "transaction").mockImplementationOnce(async (...given) => {
      expect((await post(asked.token, "ask", { question: "Why?" })).status).toBe(200);
      return run(...given);
    });
    const { status } = await decide(asked);
    spy.mockRestore();
    expect(status).toBe(200);
    expect(await decisionOf(asked.made.request_id)).toMatchObject({
      decision,
      questions_hash: expect.any(String),
    });
  });
});

describe("questions", () => {
  it("reach the waiting agent, take one answer each, and are hashed into the decision", async () => {
    const { key } = await test.createKey();
    const asked = await ask(test, key);
    const { request_id: id } = asked.made;
    const waiting = asked.read(key, "?wait=20");
    await new Promise((resolve) => setTimeout(resolve, 100));
    const question = "What is invoice 1042 for?";
    expect((await post(asked.token, "ask", { question })).status).toBe(200);
    const state = (await waiting).body as AuthorizationState;
    expect(state).toMatchObject({
      status: "pending",
      question: { number: 1, question },
      expires_at: asked.made.expires_at,
    });
    expect(state.guidance).toContain("/answer");
    expect((await asked.read()).body.question, "who only knows the id").toBeUndefined();
    expect((await post(asked.token, "ask", { question: "And why?" })).body.code).toBe("question_conflict");
    const answer = (number: number, words: string, by = key) =>
      test.call("POST", `/v1/authorize/${id}/answer`, { key: by, body: { number, answer: words } });
    const { key: stranger } = await test.createKey("stranger@example.org");
    expect((await answer(1, "Paper", stranger)).status).toBe(404);
    expect((await answer(2, "Paper")).body.code).toBe("question_conflict");
    const { body: answered } = await answer(1, "Paper");
    expect(answered).toMatchObject({ question: null, questions: [{ question, answer: "Paper" }] });
    expect((await answer(1, "Paper")).status, "again").toBe(200);
    expect((await answer(1, "Ink")).body.code).toBe("question_conflict");
    expect((await asked.approve("ada")).status).toBe(200);
    const approved = await read(key, id);
    const object = approved.human_authorization as unknown as HumanAuthorization;
    expect(object.version).toBe(2);
    const trust = (await test.call("GET", "/v1/pubkey")).body;
    const statusOf = async (shownState: object) =>
      (await verifyInBrowser(shownState, trust)).checks.find(({ name }) => name === "shown_content")?.status;
    expect(await statusOf(approved)).toBe("pass");
    const [first] = approved.questions ?? [];
    expect(await statusOf({ ...approved, questions: [{ ...first, answer: "Ink" }] })).toBe("fail");
    expect((await post(asked.token, "ask", { question })).status, "after the decision").toBe(409);
  });

  it("are at most five, each announced, and a denial covers them too", async () => {
    const { key } = await test.createKey();
    const asked = await ask(test, key, { callback_url: "http://127.0.0.1:9/callback" });
    const { request_id: id } = asked.made;
    for (let number = 1; number <= 5; number += 1) {
      expect((await post(asked.token, "ask", { question: `${number}?` })).status).toBe(200);
      await test.call("POST", `/v1/authorize/${id}/answer`, { key, body: { number, answer: "Yes" } });
    }
    expect((await post(asked.token, "ask", { question: "6?" })).body.code).toBe("question_conflict");
    const { rows: told } = await test.query(
      "SELECT m.body FROM webhook_messages m JOIN webhook_deliveries d ON d.message_id = m.id WHERE m.type = 'authorization.question' ORDER BY m.body::jsonb #> '{data,number}'",
    );
    const numbers = [1, 2, 3, 4, 5].map((number) => ({ request_id: id, number }));
    expect(told.map(({ body }) => JSON.parse(String(body)).data)).toEqual(numbers);
    expect((await post(asked.token, "ask", { question: "x".repeat(501) })).status).toBe(422);
    expect((await asked.deny("no")).status).toBe(200);
    expect((await decisionOf(id))["questions_hash"]).toMatch(/^[0-9a-f]{64}$/);
  });
});
