/** The uses of a standing approval in a pack: what the service makes holds, and each way of passing its limits is named. */
import { describe, expect, it } from "vitest";
import { buildAuthorization, type HumanAuthorization } from "#lib/protocol/approval/approval";
import type { DecidedByGrant, GrantTerms } from "#lib/protocol/approval/decided-by";
import { utf8Decode } from "#lib/protocol/encoding/bytes";
import { canonicalHash, type JsonObject } from "#lib/protocol/encoding/canonical-json";
import { CHANGE_FILE_TYPE, readPackEntry } from "#lib/protocol/pack/pack-entries";
import { agentFolder, numberedFile } from "#lib/protocol/pack/pack-manifest";
import { buildChangeStatement } from "#lib/protocol/record/agent-heads";
import { type ActionPredicate, buildActionStatement } from "#lib/protocol/statement/statement";
import type { WorldEnvironment } from "#lib/protocol/world-id/world-id-keys";
import { makeTestApproval, signForTest, testFacts, testRequest } from "#support/human-authorization";
import { createUseList, readUse } from "./uses";

const terms: GrantTerms = {
  tools: ["pay"],
  max_calls: 3,
  max_amount: "50",
  max_budget: "100",
  currency: "EUR",
  expires_at: "2026-11-22T08:00:00.000Z",
};
const base = { ...testRequest, required_level: "orb" as const, approvals_required: 1 };
const { tool: _tool, amount: _amount, ...bare } = base;
const granting = { ...bare, grant: terms };
const grant = signForTest(
  buildAuthorization(granting, {
    ...testFacts,
    approvals: [makeTestApproval(granting, 5n)],
    approved_at: "2026-11-21T08:05:30.000Z",
  }),
);

interface Said extends Partial<DecidedByGrant> {
  amount?: string;
  environment?: WorldEnvironment;
  tool?: string;
  agent?: string;
  at?: string;
}

function makeUse(
  number: number,
  { amount = "20", environment = "production", tool = "pay", agent, at, ...by }: Said,
): HumanAuthorization {
  const decided_by: DecidedByGrant = {
    kind: "grant",
    request_hash: grant.binding.request_hash,
    authorization_hash: canonicalHash(grant as unknown as JsonObject),
    use: number,
    of: 3,
    spent: String(number * 20),
    budget: "100",
    currency: "EUR",
    ...by,
  };
  const request = {
    ...base,
    request_id: `areq_${number}`,
    tool,
    amount: { value: amount, currency: "EUR" },
    ...(agent && { agent_slug: agent }),
  };
  const facts = { ...testFacts, decided_by, approvals: [], environment, ...(at && { approved_at: at }) };
  return signForTest(buildAuthorization(request, facts));
}

/** A change that takes an approval back. */
function takeBack({ binding, request: { request_id } }: HumanAuthorization): JsonObject {
  const record = { agent_id: "019a0000-0000-7000-8000-000000000003", sequence: 1, previous: "ab".repeat(32) };
  const payload = buildChangeStatement({
    ...{ change: "authorization_revoked", changed_at: "2026-11-21T08:07:00.000Z", key_id: "k", record },
    ...{ reason_hash: null, request_hash: binding.request_hash },
  });
  return { type: CHANGE_FILE_TYPE, request_id, payload: new TextDecoder().decode(payload) };
}

const attesting: ActionPredicate = {
  attestation_id: "019a0000-0000-7000-8000-000000000009",
  timestamp: "2026-11-21T08:30:00.000Z",
  ...{ key_id: "k", organization: "o", is_public: true, salt: "s" },
  record: { agent_id: "019a0000-0000-7000-8000-000000000003", sequence: 100, previous: "ab".repeat(32) },
  request: { agent_slug: "bot", action: "a", inputs_hash: "b" },
  registered: { agent_public_key: null, code_hash: null, tool_manifest_hash: null },
  verdicts: { agent_authenticated: null, code_hash_verified: null, tools_authorized: null },
  human_approval: {
    ...{ method: "standing_approval", level: "none", request_hash: "ab", authorization_hash: "ab" },
    ...{ nullifier_hashes: [], approver_ids: [], environment: "production", inputs_bound: false },
  },
};

/** Judges decisions in their order (null: without content), and attestations backed by `attested`. */
function judge(
  decisions: (HumanAuthorization | JsonObject | null)[],
  attested: HumanAuthorization[] = [],
  said: Pick<ActionPredicate, "timestamp" | "approval_stopped"> | null = null,
) {
  const { status, reason, detail } = check(decisions, attested, said);
  expect(detail).not.toMatch(/\{|undefined/);
  return reason ?? status;
}

type CheckGiven = [
  decisions: (HumanAuthorization | JsonObject | null)[],
  attested: HumanAuthorization[],
  said: Pick<ActionPredicate, "timestamp" | "approval_stopped"> | null,
];

/** The same in a pack of one agent and in one of several. `said`: by every attestation. */
function check(...given: CheckGiven) {
  const found = checkIn("", ...given);
  expect(checkIn(agentFolder(2), ...given).status).toBe(found.status);
  return found;
}

function checkIn(folder: string, ...[decisions, attested, said]: CheckGiven) {
  const list = createUseList();
  for (const [index, human_authorization] of decisions.entries()) {
    const file = `${folder}${numberedFile("decisions", index + 1)}`;
    if (human_authorization?.type === CHANGE_FILE_TYPE) {
      const change = { ...human_authorization, sequence: index + 1 } as JsonObject;
      list.add(readUse(readPackEntry(file, change), change));
      continue;
    }
    const json = { type: "authorization_decision", sequence: index + 1, payload: null, human_authorization };
    const entry = readPackEntry(file, json as unknown as JsonObject);
    list.add(
      readUse({ ...entry, state: human_authorization ? "private" : "erased" }, json as unknown as JsonObject),
    );
  }
  for (const [index, human_authorization] of attested.entries()) {
    const payload = said && utf8Decode(buildActionStatement({ ...attesting, ...said }));
    const json = { record: { sequence: 100 + index }, human_authorization, payload } as unknown as JsonObject;
    const entry = readPackEntry(`${folder}${numberedFile("attestations", 100 + index)}`, json);
    list.add(readUse({ ...entry, state: "private" }, json));
  }
  return list.judge();
}

describe("the uses of a standing approval", () => {
  const [one, two, three] = [makeUse(1, {}), makeUse(2, {}), makeUse(3, {})];

  it("hold in their order, whether attested or not", () => {
    expect(judge([grant, one, two, three], [one, three])).toBe("pass");
    expect(judge([grant])).toBe("pass");
  });

  it("may have a number again that a lapsed use gave back, and never one that was attested", () => {
    const again = makeUse(2, { request_hash: grant.binding.request_hash });
    expect(judge([grant, one, two, again], [one])).toBe("pass");
    expect(judge([grant, one, two, again], [one, two])).toBe("use_repeated");
    expect(judge([grant, one, makeUse(1, { amount: "20.5", spent: "20.5" })], [one])).toBe("use_repeated");
  });

  it("back one attestation each, and so do people's approvals", () => {
    const people = signForTest(
      buildAuthorization(base, { ...testFacts, approvals: [makeTestApproval(base, 5n)] }),
    );
    expect(judge([grant, people, one], [people, one])).toBe("pass");
    expect(judge([grant, one], [one, one])).toBe("approval_reused");
    expect(judge([people, one], [people, one, people])).toBe("approval_reused");
  });

  it("can't begin later than with the first, or leave one out", () => {
    expect(judge([grant, two])).toBe("use_missing");
    expect(judge([grant, one, three])).toBe("use_missing");
    expect(judge([grant, one, makeUse(2, { spent: "60" })]), "an amount that nothing spent").toBe(
      "use_missing",
    );
  });

  it("can't have spent less than what is attested", () => {
    expect(judge([grant, one, makeUse(2, { spent: "30" })], [one])).toBe("use_repeated");
  });

  it.each<[string, Said]>([
    ["another tool", { tool: "rm" }],
    ["a larger amount", { amount: "51", spent: "51" }],
    ["more uses than were approved", { of: 4 }],
    ["a larger budget", { budget: "1000" }],
    ["another agent", { agent: "somebody-else" }],
    ["a time before it", { at: "2026-11-21T08:05:00.000Z" }],
    ["a time after its end", { at: "2026-11-23T08:05:00.000Z" }],
    ["another request's approval", { request_hash: "ab".repeat(32) }],
    ["another approval of the request", { authorization_hash: "ab".repeat(32) }],
  ])("are not for %s", (_what, said) => {
    expect(judge([grant, makeUse(1, said)])).toBe("use_out_of_terms");
  });

  it("are of one standing approval, and of no other approval, also if it is from before the period", () => {
    const [hash, other] = ["ab".repeat(32), "cd".repeat(32)];
    expect(judge([makeUse(1, { authorization_hash: hash }), makeUse(2, { authorization_hash: hash })])).toBe(
      "use_terms_absent",
    );
    expect(judge([makeUse(1, { authorization_hash: hash }), makeUse(2, { authorization_hash: other })])).toBe(
      "use_out_of_terms",
    );
    const { request_hash } = one.binding;
    const authorization_hash = canonicalHash(one as unknown as JsonObject);
    expect(judge([grant, one, makeUse(1, { request_hash, authorization_hash })])).toBe("use_out_of_terms");
  });

  it("are a TEST if what covers them is one", () => {
    const test = signForTest({ ...grant, environment: "staging" });
    const authorization_hash = canonicalHash(test as unknown as JsonObject);
    const judgeIn = (environment: WorldEnvironment) =>
      judge([test, makeUse(1, { authorization_hash, environment })]);
    expect(judgeIn("staging")).toBe("pass");
    expect(judgeIn("production")).toBe("use_out_of_terms");
    expect(judge([grant, makeUse(1, { environment: "staging" })]), "more of a TEST").toBe("pass");
  });

  it("end where their standing approval, or they themselves, were taken back", () => {
    expect(judge([grant, one, takeBack(grant)], [one])).toBe("pass");
    expect(judge([grant, takeBack(grant), one])).toBe("approval_taken_back");
    expect(judge([takeBack(grant), one]), "without its terms").toBe("approval_taken_back");
    expect(judge([grant, one, takeBack(one), two], [two])).toBe("pass");
    expect(judge([grant, one, takeBack(one)], [one])).toBe("approval_taken_back");
    const people = signForTest(
      buildAuthorization(base, { ...testFacts, approvals: [makeTestApproval(base, 5n)] }),
    );
    expect(judge([people, takeBack(people)])).toBe("pass");
    expect(judge([people, takeBack(people)], [people])).toBe("approval_taken_back");
  });

  it("may be attested after their standing approval ended, with a warning, unless they were claimed after", () => {
    const claimedAt = (claimed_at: string, timestamp = "2026-11-21T08:30:00.000Z") => ({
      timestamp,
      approval_stopped: { reason: "grant_revoked", claimed_at } as const,
    });
    const revoked = [grant, one, takeBack(grant)];
    const warning = "number 100 was attested after number 3 took back its standing approval";
    expect(check(revoked, [one], null).warnings, "of 1.0.0").toEqual([warning]);
    expect(check(revoked, [one], claimedAt("2026-11-21T08:06:59.000Z"))).toMatchObject({
      status: "pass",
      warnings: [warning],
    });
    expect(judge(revoked, [one], claimedAt("2026-11-21T08:07:00.001Z"))).toBe("claimed_late");
    expect(check([grant, one], [one], { timestamp: "2026-11-21T08:30:00.000Z" })).not.toHaveProperty(
      "warnings",
    );
    const late = "2026-11-21T09:10:00.000Z";
    expect(check([grant, one], [one], { timestamp: late }).warnings).toEqual([
      `number 100 was attested after its standing approval ended at ${grant.usable_until}`,
    ]);
    expect(judge([grant, one], [one], claimedAt("2026-11-21T09:05:00.000Z", late))).toBe("pass");
    expect(judge([grant, one], [one], claimedAt("2026-11-21T09:05:33.000Z", late))).toBe("claimed_late");
  });

  it("end with their approval, if that is earlier than their terms", () => {
    const request = { ...granting, usable_for_seconds: 60 };
    const facts = {
      ...testFacts,
      approvals: [makeTestApproval(request, 5n)],
      approved_at: grant.approved_at,
    };
    const short = signForTest(buildAuthorization(request, facts));
    const authorization_hash = canonicalHash(short as unknown as JsonObject);
    const { request_hash } = short.binding;
    const judgeAt = (at: string) => judge([short, makeUse(1, { request_hash, authorization_hash, at })]);
    expect(judgeAt("2026-11-21T08:06:29.999Z")).toBe("pass");
    expect(judgeAt("2026-11-21T08:06:30.000Z")).toBe("use_out_of_terms");
  });

  it("are of the agent in any spelling of its slug", () => {
    expect(judge([grant, makeUse(1, { agent: base.agent_slug.toUpperCase() })])).toBe("pass");
  });

  it("may be among decisions without content, which are never said to be none", () => {
    expect(judge([null])).toBe("use_content_absent");
    expect(judge([grant, null, two, three])).toBe("use_content_absent");
    expect(judge([grant, one, null, makeUse(2, { spent: "60" })])).toBe("use_content_absent");
    expect(judge([null, grant, two]), "that one came before the terms").toBe("use_missing");
    expect(judge([grant, null, three]), "one decision can't be two uses").toBe("use_missing");
    expect(judge([grant, one, null, makeUse(1, {})], [one])).toBe("use_repeated");
    expect(judge([grant, null, makeUse(1, { of: 4 })])).toBe("use_out_of_terms");
  });

  it("of before the period are said to be without their terms, and are numbered all the same", () => {
    expect(judge([two, three])).toBe("use_terms_absent");
    expect(judge([one, three])).toBe("use_missing");
  });
});
