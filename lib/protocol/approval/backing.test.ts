/** An attestation against the authorization that it names, whose own checks are elsewhere. */
import { describe, expect, it } from "vitest";
import { base64Decode, hexDecode, hexEncode } from "#lib/protocol/encoding/bytes";
import { canonicalHash, type JsonObject } from "#lib/protocol/encoding/canonical-json";
import { emptyRecord, extendRecord, type RecordPlace } from "#lib/protocol/record/agent-record";
import type { BackedApproval, HumanApproval } from "#lib/protocol/statement/human-approval";
import { pass } from "#lib/protocol/statement/outcome";
import type { CostlyChecks } from "#lib/protocol/statement/receipt";
import { parseLogLeaf } from "#lib/protocol/tlog/log-leaf";
import { checkHumanAuthorization } from "#lib/verifier/checks/claim-checks";
import type { Subject } from "#lib/verifier/checks/record-checks";
import { makeBothAuthorization, makeEnrolledAuthorization } from "#support/enrolled-approvals";
import { addTestLogEntry, makeTestAuthorization } from "#support/human-authorization";
import type { HumanAuthorization } from "./approval";
import type { ApprovalStop } from "./approval-end";
import { describeBacking } from "./assign-groups";

interface Spent {
  registeredKey?: string | null;
  timestamp?: string;
  approval?: Partial<BackedApproval>;
  /** Place of the decision in the record; null: it is in no log. */
  decided?: RecordPlace | null;
  /** Where the decision is in the log; the attestation is at 7. */
  logged?: JsonObject;
  /** `previous` of the attestation, which is number 7. */
  previous?: string;
  frozen?: string;
  stop?: ApprovalStop;
  asked?: JsonObject;
}

const loggedAt = (index: number) => ({ origin: "log.test", index });

const placeOf = (sequence: number, agent_id = "01a21220-2240-7252-8d8a-fb77f8b462ec"): RecordPlace => ({
  agent_id,
  sequence,
  previous: "ab".repeat(32),
});

/** An attestation that fits this authorization in everything but what is given. */
function makeSubject(authorization: HumanAuthorization, spent: Spent): Subject {
  const { decided = placeOf(5), previous, frozen } = spent;
  const log = decided === null ? {} : { log: { record: decided, ...loggedAt(6), ...spent.logged } };
  const object = { ...authorization, ...log } as unknown as JsonObject;
  const { organization, agent_slug, action, inputs_hash } = authorization.request;
  const predicate = {
    organization,
    timestamp: spent.timestamp ?? authorization.approved_at,
    request: {
      ...{ agent_slug, action, inputs_hash, human_authorization_hash: canonicalHash(object) },
      ...spent.asked,
    },
    record: { ...placeOf(7), ...(previous !== undefined && { previous }) },
    ...(frozen !== undefined && { agent_frozen_at: frozen }),
    ...(spent.stop && { approval_stopped: spent.stop }),
    registered: { agent_public_key: spent.registeredKey ?? null },
    human_approval: { ...describeBacking(object), ...spent.approval },
  };
  const receipt = { humanAuthorization: object, log: loggedAt(7) };
  const trust = { logKey: { name: "log.test" } };
  return { payload: new Uint8Array(), statement: { predicate }, receipt, trust } as unknown as Subject;
}

const costly = { verifyHumanAuthorization: async () => pass("proven") } as unknown as CostlyChecks;
const check = (spent: Spent = {}, authorization = makeTestAuthorization()) =>
  checkHumanAuthorization(makeSubject(authorization, spent), costly);

describe("the verifier's check human_authorization", () => {
  it("fails under another key than the one that was approved", async () => {
    expect(await check()).toMatchObject({ status: "pass" });
    expect(await check({ registeredKey: "K2" })).toMatchObject({
      status: "fail",
      reason: "authorization_mismatch",
      detail: "the authorization does not fit the attestation: agent's key",
    });
  });

  it("fails if the approval had ended when it was used", async () => {
    expect(await check({ timestamp: "2026-11-21T09:06:00.000Z" })).toMatchObject({ status: "pass" });
    expect(await check({ timestamp: "2026-11-21T09:06:00.001Z" })).toMatchObject({
      reason: "approval_ended",
    });
  });

  it("fails if it was claimed after its end, or stopped by what it doesn't rest on", async () => {
    const stopped = (reason: ApprovalStop["reason"], claimed_at: string) =>
      check({ timestamp: "2026-11-21T09:06:00.000Z", stop: { reason, claimed_at } });
    expect(await stopped("rule_forbids", "2026-11-21T09:06:00.000Z")).toMatchObject({ status: "pass" });
    expect(await stopped("rule_forbids", "2026-11-21T09:06:00.001Z")).toMatchObject({
      reason: "approval_ended",
    });
    expect(await stopped("grant_revoked", "2026-11-21T09:06:00.000Z")).toMatchObject({
      detail: "the authorization does not fit the attestation: stop",
    });
  });

  it("fails unless the decision is in the log, and before it in the same record", async () => {
    const elsewhere = placeOf(6, "01a21220-2240-7252-8d8a-fb77f8b462ed");
    for (const decided of [null, placeOf(7), placeOf(8), elsewhere])
      expect(await check({ decided })).toMatchObject({
        detail: "the authorization does not fit the attestation: record",
      });
    for (const logged of [loggedAt(7), loggedAt(8), { index: null }, { index: "6" }])
      expect(await check({ logged })).toMatchObject({
        detail: "the authorization does not fit the attestation: record",
      });
    expect(await check({ logged: { origin: "old.test", index: 8 } })).toMatchObject({ status: "pass" });
  });

  it("fails unless the links of the record lead from its beginning to the decision, and from there to it", async () => {
    const mismatch = { detail: "the authorization does not fit the attestation: record" };
    const begin = hexEncode(emptyRecord(placeOf(1).agent_id).link);
    expect(await check({ decided: placeOf(1) })).toMatchObject(mismatch);
    expect(await check({ decided: { ...placeOf(1), previous: begin } })).toMatchObject({ status: "pass" });
    const entry = String(addTestLogEntry(makeTestAuthorization()).log?.["entry"]);
    const { payloadHash } = parseLogLeaf(base64Decode(entry));
    const decided = placeOf(6);
    const head = extendRecord({ sequence: 5, link: hexDecode(decided.previous) }, payloadHash);
    const next = { decided, logged: { entry }, previous: hexEncode(head.link) };
    expect(await check(next)).toMatchObject({ status: "pass" });
    const { previous: _own, ...astray } = next;
    expect(await check(astray)).toMatchObject(mismatch);
    for (const other of ["", "AAAA", 5])
      expect(await check({ ...next, logged: { entry: other } })).toMatchObject(mismatch);
  });

  it("fails if the agent was frozen: nothing could be used then", async () => {
    expect(await check({ frozen: "2026-11-21T08:00:00.000Z" })).toMatchObject({
      detail: "the authorization does not fit the attestation: freeze",
    });
  });

  it("fails for what people gave as a standing approval: only its uses back something", async () => {
    const whole = makeTestAuthorization();
    const grant = { actions: [whole.request.action], max_calls: 1, expires_at: whole.request.expires_at };
    const standing = { ...whole, request: { ...whole.request, grant } };
    expect(await check({}, standing)).toMatchObject({
      detail: "the authorization does not fit the attestation: standing approval",
    });
  });

  it("fails if the request itself says something else of an approval", async () => {
    const none = { method: "none" as const };
    const hash = (approver_hash: string | null) => ({ method: "hash" as const, approver_hash });
    const judge = async (human_approval: HumanApproval, request: JsonObject) => {
      const subject = { payload: new Uint8Array(), statement: { predicate: { request, human_approval } } };
      const receipt = { humanAuthorization: null };
      return (await checkHumanAuthorization({ ...subject, receipt } as unknown as Subject, costly)).reason;
    };
    for (const [human_approval, request] of [
      [none, { human_approved: true }],
      [none, { human_authorization_hash: "ab" }],
      [hash(null), {}],
      [hash(null), { human_approved: false }],
      [hash(null), { human_approved: true, human_approver_hash: "ada" }],
      [hash("ada"), { human_approved: true }],
      [hash(null), { human_approved: true, human_authorization_hash: "ab" }],
    ] as const)
      expect([request, await judge(human_approval, request)]).toEqual([request, "field_contradicted"]);
    expect(await judge(none, { human_approved: false })).toBe("approval_not_recorded");
    expect(await judge(hash("ada"), { human_approved: true, human_approver_hash: "ada" })).toBe(
      "approval_asserted_only",
    );
    expect(await check({ asked: { human_approved: true } })).toMatchObject({ status: "pass" });
    expect(await check({ asked: { human_approved: false } })).toMatchObject({ reason: "field_contradicted" });
  });

  it("takes no grade, nobody and no place but the object's own", async () => {
    const whole = describeBacking(makeTestAuthorization() as unknown as JsonObject);
    expect(whole).toMatchObject({ method: "proof_of_personhood", level: "orb", approver_ids: [] });
    const changes: Partial<BackedApproval>[] = [
      { method: "enrolled_approver" },
      { method: "rule" },
      { level: "device" },
      { environment: "staging" },
      { inputs_bound: false },
      { nullifier_hashes: [] },
      { approver_ids: ["somebody"] },
      { request_hash: "0".repeat(64) },
      { authorization_hash: "0".repeat(64) },
    ];
    for (const approval of changes)
      expect([approval, (await check({ approval })).reason]).toEqual([approval, "authorization_mismatch"]);
  });

  it("names the grade by who decided", async () => {
    const methodOf = (authorization: HumanAuthorization) =>
      describeBacking(authorization as unknown as JsonObject);
    expect(methodOf(makeEnrolledAuthorization())).toMatchObject({
      method: "enrolled_approver",
      level: "none",
    });
    expect(methodOf(makeBothAuthorization())).toMatchObject({
      method: "enrolled_proof_of_personhood",
      level: "orb",
      approver_ids: expect.objectContaining({ length: 3 }),
    });
    const dressedUp = check({ approval: { method: "proof_of_personhood" } }, makeEnrolledAuthorization());
    expect((await dressedUp).reason).toBe("authorization_mismatch");
  });
});
