/** Stops by an organization, in a pack: counted, in place, with the signed reason and no other. */
import { readFile } from "node:fs/promises";
import { beforeAll, describe, expect, it } from "vitest";
import type { MemberPrincipal } from "#lib/api/http/context";
import { toByteSource } from "#lib/protocol/encoding/zip";
import { encodePackJson } from "#lib/protocol/pack/pack-manifest";
import { approvalUrl } from "#lib/services/approvals/rows";
import { readProgramFile } from "#lib/services/attestations/receipt-files";
import { nodeIo } from "#lib/verifier/cli/node-io";
import { checkPack } from "#lib/verifier/pack/check-pack";
import { ask, fromPage, openRequest } from "#support/authorizations";
import { collect, forge, type Json, parse, unpack } from "#support/packs";
import { signInPerson } from "#support/portal";
import { setupTestApp } from "#support/setup-app";
import { makeEvidencePack } from "./pack";

const slug = "stopped-bot";
const dayMs = 86_400_000;

describe("changes of an agent in an evidence pack", () => {
  const { test } = setupTestApp();
  let person: MemberPrincipal;
  let program: Uint8Array;
  let whole: Uint8Array;
  let requestId: string;

  const make = async (withPrivate = true, agent = slug, to = Date.now() + dayMs) => {
    const period = { from: new Date(to - 2 * dayMs).toISOString(), to: new Date(to).toISOString() };
    return collect(
      (await makeEvidencePack(test.app.context, person, { agentSlugs: [agent], period, withPrivate })).parts,
    );
  };
  const check = (bytes: Uint8Array) =>
    checkPack(toByteSource(bytes), { tools: nodeIo.zip, trust: null, program });
  const problems = async (bytes: Uint8Array) =>
    (await check(bytes)).checks
      .filter(({ status }) => status === "fail")
      .map(({ name, detail }) => `${name}: ${detail}`);
  const forged = async (name: string, change: (json: Json) => Json) => {
    const files = unpack(whole);
    return problems(await forge(files.set(name, encodePackJson(change(parse(files, name)))), true));
  };

  beforeAll(async () => {
    const { key, organizationId } = await test.createKey();
    person = await signInPerson(test.app.context, "dev@example.com", organizationId);
    const post = async (path: string, body: object) => {
      const { status } = await test.call("POST", path, { key, body });
      expect([path, status]).toEqual([path, path === "/v1/attest" ? 201 : 200]);
    };
    const attestation = { agent_slug: slug, action: "Paid", inputs_hash: "abc" };
    await post("/v1/attest", attestation);
    const asked = await ask(test, key, { agent_slug: slug });
    await asked.approve("ada");
    requestId = asked.made.request_id;
    await post(`/v1/authorizations/${requestId}/revoke`, { reason: "Wrong account" });
    await post(`/v1/identity/${slug}/freeze`, { reason: "It paid twice" });
    await post("/v1/attest", { ...attestation, action: "Paid all the same" });
    await post(`/v1/identity/${slug}/unfreeze`, {});
    program = (await readProgramFile("verify.mjs"))?.bytes ?? new Uint8Array();
    whole = await make();
  });

  it("are entries that hold, and are counted by what they are", async () => {
    const { checks, verdict, facts } = await check(whole);
    expect(checks.filter(({ status }) => status !== "pass")).toEqual([]);
    expect(verdict).toBe("valid");
    const guide = await readFile("components/guides/content/evidence-pack.md", "utf8");
    const named = [...guide.matchAll(/^\| (`.*?) +\|/gm)].flatMap(
      ([, cell = ""]) => cell.match(/[a-z ]+/g) ?? [],
    );
    const names = checks.map(({ name }) => (name.startsWith("record ") ? "record " : name));
    expect(named, "the guide explains each").toEqual(expect.arrayContaining(names));
    expect(facts?.counts).toMatchObject({
      entries: 6,
      decisions: { total: 4, approved: 1, denied: 0, revoked: 1, frozen: 1, unfrozen: 1, erased: 0 },
      warnings: [{ code: "agent_frozen", count: 1 }],
    });
    const files = unpack(whole);
    expect(parse(files, "decisions/000000000003.json")).toMatchObject({
      type: "agent_change",
      request_id: requestId,
      reason: "Wrong account",
    });
    expect(Buffer.from(files.get("report.html") ?? []).toString()).toContain("It paid twice");
  });

  it("say by which decision a request was replaced that an approver changed", async () => {
    const agent = "changed-bot";
    const { key } = await test.createKey();
    const change = async () => {
      const amount = { value: "120.00", currency: "EUR" };
      const { token, made } = await ask(test, key, { agent_slug: agent, amount, amendable: ["amount"] });
      const body = { changes: { amount: "80" } };
      const { body: into } = await test.call("POST", `/approve/${token}/amend`, { headers: fromPage, body });
      return { made, request_id: into.request_id as string };
    };
    const [first, second] = [await change(), await change()];
    const { body: cancelled } = await test.call("GET", `/v1/authorize/${second.made.request_id}`, { key });
    const end = Date.parse(cancelled.decided_at) + 1;
    await expect.poll(() => Date.now()).toBeGreaterThan(end);
    const approval_url = approvalUrl(test.app.context, first.request_id);
    const { status } = await openRequest(test, { request_id: first.request_id, approval_url }).approve("ada");
    expect(status).toBe(200);
    const bytes = await make(true, agent);
    expect((await check(bytes)).checks.filter(({ status }) => status === "fail")).toEqual([]);
    const files = unpack(bytes);
    const file = (number: number) => `decisions/00000000000${number}.json`;
    expect(parse(files, file(1))).toMatchObject({ request_id: first.made.request_id, changed_into: 3 });
    expect(parse(files, file(2)).changed_into, "undecided").toBeUndefined();
    expect(parse(files, file(2)).request_id).toBe(second.made.request_id);
    expect(parse(files, file(3)).request_id).toBe(first.request_id);
    for (const name of ["report.html", "report.csv"]) {
      const text = Buffer.from(files.get(name) ?? []).toString();
      for (const words of [
        "replaced by number 3, as an approver changed it",
        "amount from 120.00 EUR to 80.00 EUR, by somebody with the link",
      ])
        expect(text).toContain(words);
    }
    const early = await make(true, agent, end);
    expect((await check(early)).checks.filter(({ status }) => status === "fail")).toEqual([]);
    expect(unpack(early).has(file(3)), "the first entry after the period").toBe(false);
    expect(Buffer.from(unpack(early).get("report.html") ?? []).toString()).toContain(
      "replaced by number 3, as an approver changed it",
    );
    const lie = async (number: number, changed_into: number) =>
      problems(
        await forge(
          files.set(file(number), encodePackJson({ ...parse(unpack(bytes), file(number)), changed_into })),
          true,
        ),
      );
    expect((await lie(2, 3)).join()).toContain(
      "number 2 names number 3 as the decision about the request that an approver made of it, and it is none",
    );
    expect((await lie(3, 4)).join()).toContain("changed_into is not of a cancelled request");
    expect(parse(unpack(await make(false, agent)), file(1)).changed_into).toBeUndefined();
  });

  it("keep the organization's reasons out with the rest of what is private", async () => {
    const bytes = await make(false);
    const files = unpack(bytes);
    for (const name of [3, 4, 6].map((number) => `decisions/00000000000${number}.json`))
      expect(parse(files, name)).toMatchObject({ type: "agent_change", reason: null, reason_salt: null });
    const { verdict, checks } = await check(bytes);
    expect(verdict).toBe("incomplete");
    expect(checks.find(({ name }) => name === "decisions")).toMatchObject({ reason: "content_absent" });
  });

  const frozen = "decisions/000000000004.json";
  const change = (json: Json, edit: (statement: Json) => void) => {
    const statement = JSON.parse(json.payload);
    edit(statement);
    return { ...json, payload: JSON.stringify(statement) };
  };
  const swap = (from: string, to: string) => (json: Json) => ({
    ...json,
    payload: json.payload.replace(from, to),
  });

  it.each([
    [
      "another reason",
      (json: Json) => ({ ...json, reason: "It did nothing" }),
      "the reason is not the one that was signed",
    ],
    [
      "another salt",
      (json: Json) => ({ ...json, reason_salt: "AAAA" }),
      "the reason is not the one that was signed",
    ],
    [
      "another kind of file",
      (json: Json) => ({ ...json, type: "authorization_decision" }),
      "another kind than its payload",
    ],
    ["another number", (json: Json) => ({ ...json, sequence: 5 }), "another number"],
    [
      "another place beside its log entry",
      ({ log, ...json }: Json) => ({ ...json, log: { ...log, record: { ...log.record, sequence: 5 } } }),
      "log.record is not the place in the payload",
    ],
    [
      "another size beside its checkpoint",
      ({ log, ...json }: Json) => ({ ...json, log: { ...log, tree_size: log.tree_size + 1 } }),
      "not in the log",
    ],
    [
      "another change",
      swap('"change":"frozen"', '"change":"unfrozen"'),
      "payload_hash is not that of the payload",
    ],
    [
      "another signature",
      (json: Json) => ({ ...json, signature: `${"A".repeat(86)}==` }),
      "not signed by a trusted key",
    ],
    [
      "a changed time",
      (json: Json) => change(json, (one) => (one.predicate.changed_at = "2020-01-01T00:00:00.000Z")),
      "payload_hash",
    ],
  ])("are found out with %s", async (_what, edit, said) => {
    const [problem = ""] = await forged(frozen, edit);
    expect(problem).toContain(said);
  });

  const withoutPayload = (json: Json) => ({
    ...json,
    type: "agent_change",
    payload: null,
    reason: "Ada approved it by phone",
    reason_salt: null,
  });

  it.each([
    ["an approval", "decisions/000000000002.json", withoutPayload],
    ["a revocation", "decisions/000000000003.json", withoutPayload],
    ["a freeze", frozen, withoutPayload],
    ["a freeze, without words", frozen, (json: Json) => ({ ...withoutPayload(json), reason: null })],
    [
      "an erased decision with a request that nothing signs",
      "decisions/000000000002.json",
      (json: Json) => ({ ...json, payload: null, human_authorization: null }),
    ],
  ])("don't hide %s: without the payload that was signed, they are refused", async (_what, name, edit) => {
    expect(await forged(name, edit)).toEqual([
      `decisions: ${name}: the payload that was signed is not in the file`,
    ]);
  });

  it("aren't whole beside a decision whose request is left out, whatever stands for it", async () => {
    const name = "decisions/000000000002.json";
    for (const request of [undefined, [], "Pay"]) {
      const files = unpack(whole);
      const bytes = encodePackJson({ ...parse(files, name), request });
      const { verdict, facts } = await check(await forge(files.set(name, bytes), true));
      expect(verdict).toBe("incomplete");
      expect(facts?.left_out[0]).toMatchObject({ why: "kept out by whoever made the pack", count: 1 });
    }
  });

  it("come with decisions whose files name no other request than the one that was decided", async () => {
    const name = "decisions/000000000002.json";
    expect(await forged(name, (json) => ({ ...json, request_id: "areq_other" }))).toEqual([
      `decisions: ${name}: request_id is another request's`,
    ]);
    const alone = { request: null, request_id: "areq_other" };
    expect(await forged(name, (json) => ({ ...json, ...alone }))).toEqual([
      `decisions: ${name}: request_id is another request's`,
    ]);
  });

  it.each([null, {}, ["finance"], [null], [{}], [{ group: 1 }]])(
    "come with decisions whose request is not the one that was decided, also if it asks for %j",
    async (required_approvers) => {
      const name = "decisions/000000000002.json";
      const asking = (json: Json) => ({ ...json, request: { ...json.request, required_approvers } });
      expect(await forged(name, asking)).toEqual([
        `decisions: ${name}: the request is not the one that was decided`,
      ]);
    },
  );

  it("name no other request than the one whose approval was taken back", async () => {
    const name = "decisions/000000000003.json";
    for (const request_id of ["areq_other", null])
      expect(await forged(name, (json) => ({ ...json, request_id }))).toEqual([
        `uses: ${name}: request_id is another request's`,
      ]);
  });

  it("show a reason, and nothing that only decisions have", async () => {
    const { request } = parse(unpack(whole), "decisions/000000000002.json");
    expect(await forged(frozen, (json) => ({ ...json, request }))).toEqual([
      `decisions: ${frozen}: it shows what no change has`,
    ]);
    expect(await forged(frozen, (json) => ({ ...json, request_id: requestId }))).toEqual([
      `decisions: ${frozen}: it shows what no change has`,
    ]);
  });

  it("come with decisions whose files name nobody else who decided than the approval does", async () => {
    const name = "decisions/000000000002.json";
    expect(await forged(name, (json) => ({ ...json, decided_by: { kind: "freeze" } }))).toEqual([
      `decisions: ${name}: decided_by is not the one that was signed`,
    ]);
  });

  it("leave a hole if one is taken out", async () => {
    const files = unpack(whole);
    files.delete(frozen);
    expect(await problems(await forge(files, true))).toContain("period: number 4 of the period is missing");
  });
});
