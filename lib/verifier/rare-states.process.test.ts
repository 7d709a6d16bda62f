/**
 * Everything that the service makes in rare states verifies for everybody: alone, in the record and in a pack, by both
 * verifiers. Keys are rotated and revoked and a new log begins between an approval and its use; rosters, rules and
 * groups change; standing approvals are used up and taken back; content is erased; the agent is frozen and goes on.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { MemberPrincipal } from "#lib/api/http/context";
import type { WorldIdStart } from "#lib/api/schemas/approval-view";
import { makeSnapshot } from "#lib/log/records/agent-heads";
import { toByteSource } from "#lib/protocol/encoding/zip";
import { approvalChallenge } from "#lib/protocol/passkey/assertion";
import { mergeHeads } from "#lib/protocol/record/agent-heads";
import { saveGroup } from "#lib/services/accounts/approver-groups";
import { listApprovers, removeApprover } from "#lib/services/accounts/approvers";
import { readApprovalView } from "#lib/services/approvals/decision/inbox";
import { readProgramFile } from "#lib/services/attestations/receipt-files";
import { makeEvidencePack } from "#lib/services/packs/pack";
import { checkRecord } from "#lib/verifier/checks/check-record";
import { parseTrust } from "#lib/verifier/checks/trust";
import { nodeIo } from "#lib/verifier/cli/node-io";
import { checkPack } from "#lib/verifier/pack/check-pack";
import type { TestApp } from "#support/app";
import { type AskedRequest, ask, fromPage, makeResult } from "#support/authorizations";
import { anyKind } from "#support/databases";
import { enrolApprover, enrolGroup } from "#support/enrol";
import { closeHomes, makeHome, runBeside, start } from "#support/operator-commands";
import { collect } from "#support/packs";
import { signInPerson } from "#support/portal";
import { agreeWithPython, findPython } from "#support/python";
import { verifyInBrowser } from "./browser";

// biome-ignore lint/suspicious/noExplicitAny: answers as they come
type Json = any;
type Person = Awaited<ReturnType<typeof enrolApprover>>;

const slug = "rare-bot";
const email = "owner@example.com";
const python = await findPython("core");

describe("what the service makes in rare states", { timeout: 600_000 }, () => {
  let home: Record<string, string>;
  let test: TestApp;
  let key: string;
  let owner: MemberPrincipal;
  /** Every attestation, and the owner's answers about the approvals behind them that weren't erased. */
  const ids: string[] = [];
  const approvals: Json[] = [];
  let folder: string;

  const expectBody = async (call: Promise<{ status: number; body: Json }>, status = 200) => {
    const answer = await call;
    expect(answer.status, JSON.stringify(answer.body)).toBe(status);
    return answer.body;
  };
  const post = (to: string, body: object, status = 200) =>
    expectBody(test.call("POST", to, { key, body }), status);
  const read = (from: string, as?: string): Promise<Json> =>
    expectBody(test.call("GET", from, as === undefined ? {} : { key: as }));
  const erase = (id: string) => expectBody(test.call("DELETE", `/v1/attestations/${id}/content`, { key }));
  const takeBack = ({ made }: AskedRequest) => post(`/v1/authorizations/${made.request_id}/revoke`, {});
  const setRules = (mode: string) => {
    const text = `@id("pay") permit (principal, action == Action::"act", resource == Tool::"pay");`;
    return expectBody(test.call("PUT", "/v1/rules", { key, body: { text, mode } }));
  };

  async function attest(more: object = {}): Promise<string> {
    const body = { agent_slug: slug, action: "Paid", inputs_hash: "abc", ...more };
    const { attestation_id } = await post("/v1/attest", body, 201);
    ids.push(attestation_id);
    return attestation_id;
  }
  const asking = (more: object = {}) => ask(test, key, { agent_slug: slug, action: "Paid", ...more });
  const approved = async (human: string, more: object = {}) => {
    const asked = await asking(more);
    expect((await asked.approve(human)).status).toBe(200);
    return asked;
  };
  async function use({ made }: AskedRequest, more: object = {}): Promise<string> {
    const approval = await read(`/v1/authorize/${made.request_id}`, key);
    approvals.push(approval);
    return attest({ human_authorization: approval.human_authorization, ...more });
  }
  /** Approves by passkey, and with World ID if a human is named. */
  async function approveAs({ token }: AskedRequest, { passkey: device }: Person, human?: string) {
    const hash = (await readApprovalView(test.app.context, token))?.binding.request_hash ?? "";
    const { public_key: _key, ...passkey } = device.assert(approvalChallenge(hash, "approve"));
    const send = (what: string, body: object) =>
      expectBody(test.call("POST", `/approve/${token}/${what}`, { headers: fromPage, body }));
    const result =
      human === undefined
        ? {}
        : { result: await makeResult((await send("world-id", {})) as WorldIdStart, human) };
    await send("passkey", { passkey, ...result });
  }
  async function command(name: string, ...args: string[]): Promise<void> {
    const result = await runBeside(anyKind, test, home, [name, args]);
    expect(result.code, result.out).toBe(0);
    ({ test } = result);
  }
  const count = () => makeSnapshot({ ...test.app.context, merge: async (...given) => mergeHeads(...given) });

  /** Two kinds of approvers with World ID, a roster that changes between them, and one of them removed before the use. */
  async function actByPeople(): Promise<AskedRequest> {
    const [carol, dave] = (await enrolGroup(test, email, "finance", "Carol", "Dave")) as [Person, Person];
    const [erin] = (await enrolGroup(test, email, "legal", "Erin")) as [Person];
    const required_approvers = ["finance", "legal"].map((group) => ({ group, count: 1 }));
    const amount = { value: "5", currency: "EUR" };
    const both = await asking({ required_approvers, required_level: "device", amount });
    await approveAs(both, carol, "ada");
    const frank = await enrolApprover(test, owner, "Frank");
    await approveAs(both, erin, "grace");
    await removeApprover(test.app.context, owner, carol.id);
    await use(both, { enable_zk: true });
    const finance = [{ group: "finance", count: 1 }];
    const alone = await asking({ required_approvers: finance, required_level: "none" });
    const { groups } = await listApprovers(test.app.context, owner);
    const id = groups.find(({ name }) => name === "finance")?.id ?? null;
    const memberIds = [dave.id, frank.id];
    await saveGroup(test.app.context, owner, { id, name: "finance", memberIds });
    await approveAs(alone, dave);
    return alone;
  }

  /** A standing approval that is used up, and one that is taken back between the claim of a use and its attestation. */
  async function actByGrants(): Promise<void> {
    const expires_at = new Date(Date.now() + 3_600_000).toISOString();
    const limits = { max_calls: 2, max_amount: "50", max_budget: "60", currency: "EUR", expires_at };
    const grant = { tools: ["pay"], ...limits };
    const euros = (value: string) => asking({ tool: "pay", amount: { value, currency: "EUR" } });
    const granted = await approved("ada", { action: "Pay bills", grant });
    const [first, second] = [await euros("20"), await euros("40")];
    await use(first);
    await use(second, { is_public: false });
    await (await euros("1")).deny("it is used up");
    await takeBack(granted);
    const other = await approved("ada", { action: "Pay more bills", grant });
    const last = await euros("7");
    await post(`/v1/authorize/${last.made.request_id}/claim`, { run: "run-1" });
    await takeBack(other);
    await use(last);
  }

  async function actFrozen(): Promise<void> {
    await takeBack(await approved("ada"));
    const waiting = await approved("grace");
    await post(`/v1/identity/${slug}/freeze`, { reason: "It paid twice" });
    await attest({ client: { instance: "a", sequence: 3 } });
    expect((await asking()).made.status).toBe("denied");
    await post(`/v1/identity/${slug}/unfreeze`, {});
    await use(waiting);
  }

  async function actErased(): Promise<void> {
    await erase(await attest({ action: "A secret" }));
    await erase(await use(await approved("ada", { inputs_hash: "abc" })));
    approvals.pop();
    const { made } = await asking();
    await expectBody(test.call("DELETE", `/v1/authorize/${made.request_id}`, { key }));
  }

  beforeAll(async () => {
    folder = mkdtempSync(path.join(tmpdir(), "countersign-rare-"));
    home = await makeHome(anyKind);
    test = await start(anyKind, home);
    ({ key } = await test.createKey(email));
    owner = await signInPerson(test.app.context, email);
    await post("/v1/identity/register", { slug, tools: ["pay"] }, 201);
    const spelled = { agent_slug: slug.toUpperCase(), tools_used: ["pay", "rm"] };
    await attest({ ...spelled, client: { instance: "a", sequence: 1 } });
    const byPasskey = await actByPeople();
    await actByGrants();
    await actFrozen();
    for (const mode of ["log_only", "enforce"]) await setRules(mode);
    const byRule = await asking({ tool: "pay" });
    await setRules("off");
    await actErased();
    await count();
    const [overKeys, overLogs] = [await approved("ada"), await approved("grace")];
    await command("keys", "rotate", "attestation");
    await command("keys", "rotate", "zk");
    await use(overKeys, { enable_zk: true });
    await use(byRule);
    await use(byPasskey);
    await command("log", "new-epoch", "--anyway");
    await use(overLogs);
    await attest({ is_public: false, client: { instance: "a", sequence: 4 } });
    await command("keys", "revoke", "attestation", (await read("/v1/pubkey")).key_id);
    await command("keys", "revoke", "zk", (await read("/v1/pubkey")).zk.kid);
    await attest({ enable_zk: true });
    await count();
  }, 600_000);
  afterAll(async () => {
    await closeHomes();
    rmSync(folder, { recursive: true, force: true });
  });

  it("holds alone and in the record, by both verifiers", async () => {
    const keys = await read("/v1/pubkey");
    const about = { keys: JSON.stringify(keys), now: Math.floor(Date.now() / 1_000) };
    const cases: Json[] = [];
    const owned = await Promise.all(ids.map((id) => read(`/v1/verify/${id}`, key)));
    const shown = await Promise.all(ids.map((id) => read(`/v1/verify/${id}`)));
    const objects = approvals.map(({ human_authorization }) => human_authorization);
    for (const answer of [...owned, ...shown, ...objects, ...approvals]) {
      const receipt = JSON.stringify(answer);
      const { statedWarnings: stated_warnings, ...report } = await verifyInBrowser(receipt, keys);
      expect(report.checks.filter(({ status }) => status === "fail")).toEqual([]);
      const isHidden = answer.payload === null;
      const whole = isHidden ? (answer.status === "erased" ? "erased" : "incomplete") : "valid";
      expect([report.verdict, report.disagrees]).toEqual([whole, false]);
      cases.push({ ...about, ...report, kind: "receipt", name: receipt, receipt, stated_warnings });
    }
    const receipts = owned.filter(({ payload }) => payload !== null).map((answer) => JSON.stringify(answer));
    const page = await read(`/v1/agent/${slug}/record`);
    const source = {
      readPage: async () => page,
      readAnswer: async (id: string) => JSON.stringify(await read(`/v1/verify/${id}`)),
      readRows: async () => null,
      readStatements: (from: number) => read(`/v1/log/statements?from=${from}`),
    };
    const request = { nowSeconds: about.now, receipts, sumUpTo: 0 };
    const record = await checkRecord(source, parseTrust(keys), request);
    expect([record.verdict, record.checks.filter(({ status }) => status === "fail")]).toEqual(["valid", []]);
    cases.push({ ...about, ...record, kind: "record", name: slug, pages: [page], receipts });
    if (python.path) expect(await agreeWithPython(python.path, cases)).toMatchObject({ record: 1 });
  });

  it.each([true, false])("holds in a pack, with private content: %s", async (withPrivate) => {
    const [from = "", to = ""] = [-1, 1].map((days) =>
      new Date(Date.now() + days * 86_400_000).toISOString(),
    );
    const request = { agentSlugs: [slug], period: { from, to }, withPrivate };
    const { parts } = await makeEvidencePack(test.app.context, owner, request);
    const program = (await readProgramFile("verify.mjs"))?.bytes ?? null;
    const { checks } = await checkPack(toByteSource(await collect(parts)), {
      tools: nodeIo.zip,
      trust: null,
      program,
    });
    const open = ["attestations", "decisions", "uses", "rules"];
    expect(checks.filter(({ name, status }) => status !== "pass" && !open.includes(name))).toEqual([]);
    expect(checks.filter(({ status }) => status === "fail")).toEqual([]);
    expect(checks.find(({ name }) => name === "grounds")?.detail).toMatch(/^4 rosters/);
  });
});
