/** Proof that a `human_authorization` of enrolled approvers carries, and each way in which it could prove less. */
import { describe, expect, it, vi } from "vitest";
import {
  base64Encode,
  base64UrlDecode,
  base64UrlEncode,
  hexDecode,
  utf8Decode,
  utf8Encode,
} from "#lib/protocol/encoding/bytes";
import type { JsonObject, JsonValue } from "#lib/protocol/encoding/canonical-json";
import { buildList } from "#lib/protocol/passkey/assertion";
import { factsOfApproval } from "#lib/protocol/record/facts";
import type { Reason } from "#lib/protocol/statement/reasons";
import { leafHash } from "#lib/protocol/tlog/merkle";
import {
  type AuthorizationCheckName,
  verifyHumanAuthorization,
} from "#lib/verifier/checks/verify-human-authorization";
import {
  amendedShown,
  approverId,
  enrolledRequest,
  groupId,
  listBadAmendments,
  listBadDeputies,
  listBadLists,
  listForgeries,
  makeAmendedAuthorization,
  makeBothAuthorization,
  makeDeputyAuthorization,
  makeDeputyRoster,
  makeEnrolledAuthorization,
  makeListedAuthorization,
  makeListOf,
  makePasskeyApproval,
  makeTestRoster,
  otherHashes,
  testMemberships,
  testRoster,
} from "#support/enrolled-approvals";
import {
  addTestLogEntry,
  makeTestApproval,
  signForTest,
  testFacts,
  testPublicKey,
  testShown,
  testVerifyOptions,
} from "#support/human-authorization";
import { hashQuestions } from "./amendment";
import {
  type ApprovalRequest,
  buildAuthorization,
  type HumanAuthorization,
  type PasskeyApproval,
  requestHash,
} from "./approval";
import { isEntryOfApproval } from "./approval-decision";
import { parseHumanAuthorization } from "./human-authorization-shape";
import type { ShownContent } from "./shown-content";

vi.mock("#lib/protocol/passkey/assertion", async (load) => {
  const { rememberIn } = await import("#support/remember");
  return rememberIn(load<typeof import("#lib/protocol/passkey/assertion")>, "checkAssertion");
});
vi.mock("#lib/protocol/world-id/groth16", async (load) => {
  const { rememberIn } = await import("#support/remember");
  return rememberIn(load<typeof import("#lib/protocol/world-id/groth16")>, "verifyGroth16");
});

const verify = (authorization: HumanAuthorization) =>
  verifyHumanAuthorization(authorization, testVerifyOptions);
const failures = (authorization: HumanAuthorization): [AuthorizationCheckName, Reason | undefined][] =>
  verify(authorization)
    .checks.filter(({ status }) => status === "fail")
    .map(({ name, reason }) => [name, reason]);

/** Signed again by the service: what is caught is caught although the service says so. */
function resign(change: (copy: HumanAuthorization, passkeys: PasskeyApproval[]) => void, of = enrolled) {
  const copy = structuredClone(of);
  const passkeys = copy.approvals.filter((one): one is PasskeyApproval => one.type === "passkey");
  change(copy, passkeys);
  return signForTest(copy);
}

const passkeyOf = (change: (approval: PasskeyApproval) => void) =>
  resign((_, passkeys) => passkeys.slice(0, 1).forEach(change));

const enrolled = makeEnrolledAuthorization();
const amendedWhole = makeAmendedAuthorization();
const both = makeBothAuthorization();
const listed = makeListedAuthorization();
const deputized = makeDeputyAuthorization();
const rebuild = (request: ApprovalRequest, approvals: HumanAuthorization["approvals"]) =>
  signForTest(buildAuthorization(request, { ...testFacts, approvals }));

describe("an authorization by enrolled approvers", () => {
  it("verifies: two of one group and one of another, by passkey alone", () => {
    expect(parseHumanAuthorization(enrolled)).toBe(enrolled);
    expect(verify(enrolled)).toMatchObject({
      ok: true,
      grade: "enrolled_approver",
      grade_text: "Enrolled approvers, by passkey",
    });
    expect(verify(both)).toMatchObject({ ok: true, grade: "enrolled_proof_of_personhood" });
  });

  it("is a TEST on a loopback address, and says so", () => {
    const request = { ...enrolledRequest, origin: "http://localhost:3000" };
    const local = makeEnrolledAuthorization([0, 1, 2], request);
    expect(failures(local)).toEqual([["environment", "environment_mismatch"]]);
    expect(verify(resign((copy) => (copy.environment = "local"), local))).toMatchObject({
      ok: true,
      grade: "test",
    });
  });

  it("fails when any single field is changed, signed again and bound again by a lying service", () => {
    const vouched = new Set<string>();
    for (const whole of [enrolled, both, amendedWhole, listed, deputized])
      for (const { place, forged } of listForgeries(whole)) {
        if (parseHumanAuthorization(forged) === null) continue;
        if (verify(forged).ok) vouched.add(place.replace(/^(approvals)\.\d+/, "$1.n"));
      }
    // Times between those beside them, and where the root was read: anybody can look that up on World's chain.
    expect([...vouched].sort()).toEqual([
      "approvals.n.anchor.block_hash",
      "approvals.n.anchor.block_number",
      "approvals.n.anchor.chain_id",
      "approvals.n.anchor.registry",
      "approvals.n.roster.head.changed_at",
      "approvals.n.verified_at",
    ]);
  });

  it.each<[string, Reason, HumanAuthorization]>([
    [
      "another request",
      "passkey_challenge_mismatch",
      passkeyOf((a) => Object.assign(a, otherRequest("approve"))),
    ],
    ["a denial", "passkey_challenge_mismatch", passkeyOf((a) => Object.assign(a, denial()))],
    [
      "another site",
      "passkey_origin_mismatch",
      passkeyOf((a) => editClient(a, { origin: "https://evil.example" })),
    ],
    [
      "a frame of another site",
      "passkey_cross_origin",
      passkeyOf((a) => editClient(a, { crossOrigin: true })),
    ],
    ["a locked device", "passkey_user_unverified", passkeyOf((a) => editFlags(a, 0x01))],
    [
      "another key's signature",
      "passkey_signature_invalid",
      resign((_, [one, two]) => swap(one, two, "signature")),
    ],
  ])("fails for a passkey's answer of %s", (_what, reason, changed) => {
    expect(failures(changed)).toEqual([["passkeys", reason]]);
  });

  it.each<[string, Reason, HumanAuthorization]>([
    [
      "another organization",
      "roster_of_another",
      makeWith(makeTestRoster("0198c0de-0000-7000-8000-00000000000f", testMemberships)),
    ],
    ["another person's entry", "roster_entry_mismatch", resign((_, [one, two]) => swap(one, two, "roster"))],
    ["an entry that is not in it", "roster_proof_invalid", passkeyOf(({ roster }) => (roster.index += 1))],
    ["a roster of later", "roster_time_mismatch", makeWith(testRoster, "2026-11-19T08:00:00.000Z")],
    [
      "a group that the person is not in",
      "roster_group_mismatch",
      passkeyOf(({ groups }) => groups.push({ group: groupId(1), salt: groups[0]?.salt ?? "" })),
    ],
  ])("fails for %s", (_what, reason, changed) => {
    expect(failures(changed)).toContainEqual(["roster", reason]);
  });

  it("fails with fewer people, or people of other groups, and never counts one for two", () => {
    const reasonsOf = (people: number[]) =>
      failures(makeEnrolledAuthorization(people)).map(([, reason]) => reason);
    expect(reasonsOf([0, 1])).toEqual(["approval_count_mismatch", "group_not_enough"]);
    // 0 and 4 are of finance alone, and 4 asked.
    expect(reasonsOf([0, 4, 2])).toEqual(["requester_counted"]);
    expect(reasonsOf([0, 0, 2])).toEqual(["approver_repeated"]);
    const twoOfOne = {
      ...enrolledRequest,
      approvals_required: 2,
      required_approvers: [
        { group: groupId(0), count: 1 },
        { group: groupId(1), count: 1 },
      ],
    };
    expect(verify(makeEnrolledAuthorization([0, 1], twoOfOne)).ok).toBe(true);
    expect(verify(makeEnrolledAuthorization([1, 0], twoOfOne)).ok).toBe(true);
    expect(failures(makeEnrolledAuthorization([1], twoOfOne)).map(([, reason]) => reason)).toEqual([
      "approval_count_mismatch",
      "group_not_enough",
    ]);
    expect(failures(makeEnrolledAuthorization([0, 4], { ...twoOfOne, requester_may_approve: true }))).toEqual(
      [["quorum", "group_not_enough"]],
    );
  });

  it("lets who asked count where that was allowed, which the object says", () => {
    const request = { ...enrolledRequest, requester_may_approve: true };
    expect(verify(makeEnrolledAuthorization([0, 4, 2], request)).ok).toBe(true);
  });

  it("pairs each passkey with a World ID proof if a level is required, and with none if not", () => {
    const unpaired = resign((_, passkeys) => {
      for (const one of passkeys) Reflect.deleteProperty(one, "nullifier_hash");
    }, both);
    expect(failures(unpaired)).toEqual([["distinct_humans", "nullifier_unpaired"]]);
    const sameHuman = resign((copy) => (copy.approvals = copy.approvals.slice(0, 5)), both);
    expect(failures(sameHuman).map(([, reason]) => reason)).toContain("approval_count_mismatch");
    const withoutProof = resign((copy) => copy.approvals.splice(0, 1), both);
    expect(failures(withoutProof)).toContainEqual(["approval_count", "nullifier_unpaired"]);
    const added = rebuild(enrolledRequest, [...enrolled.approvals, makeTestApproval(enrolledRequest, 9n)]);
    expect(failures(added)).toContainEqual(["approval_count", "nullifier_unpaired"]);
    const oneHuman = makeBothOfOneHuman();
    expect(failures(oneHuman)).toEqual([["distinct_humans", "human_repeated"]]);
  });

  it("takes no passkey where no group was required, and no level of none without a group", () => {
    const request = { ...enrolledRequest, required_approvers: [], approvals_required: 3 };
    const found = failures(makeEnrolledAuthorizationOf(request)).map(([, reason]) => reason);
    expect(found).toEqual(expect.arrayContaining(["passkey_unexpected", "level_too_low"]));
  });
});

describe("a counter-offer", () => {
  const { amendable, ...old } = makeAmendedAuthorization().original_request ?? enrolledRequest;

  it("verifies as a chain of two requests, and its facts say what was changed by whom", () => {
    const amended = makeAmendedAuthorization();
    expect(parseHumanAuthorization(amended)).toBe(amended);
    expect(amended.version).toBe(2);
    const report = verify(amended);
    expect(report).toMatchObject({ ok: true, grade: "enrolled_approver" });
    expect(report.checks.find(({ name }) => name === "amendment")?.detail).toContain(
      `amount from 12,000.00 EUR to 9,000.00 EUR, invoice, by approver ${approverId(0)}`,
    );
    const object = amended as unknown as JsonObject;
    const names = { groups: {}, approvers: { [approverId(0)]: "Ada" } };
    expect(factsOfApproval(object, names).changed).toBe(
      "amount from 12,000.00 EUR to 9,000.00 EUR, invoice, by Ada",
    );
  });

  it("is refused without the request that it changes, and in a chain of three", () => {
    const amended = makeAmendedAuthorization();
    const { original_request: _gone, ...without } = amended;
    const shapes = [
      without,
      { ...amended, version: 1 },
      { ...amended, request: { ...amended.request, amendable } },
      { ...amended, original_request: old },
      { ...amended, original_request: { ...old, amendable, amends: amended.request.amends } },
      { ...enrolled, original_request: { ...old, amendable }, version: 2 },
      ...[[], ["amount", "amount"], ["context.x", "amount"], ["context."], ["action"]].map((fields) => ({
        ...amended,
        original_request: { ...old, amendable: fields },
      })),
    ];
    expect(shapes.filter((shape) => parseHumanAuthorization(shape) !== null)).toEqual([]);
  });

  it.each(listBadAmendments())("fails for %s", (_what, reason, changed) => {
    expect(failures(changed)).toContainEqual(["amendment", reason]);
  });

  it("shows both pages' content, which may differ in the named details alone", () => {
    const amended = makeAmendedAuthorization();
    const statusOf = (shown: ShownContent) =>
      verifyHumanAuthorization(amended, { ...testVerifyOptions, shown }).checks.find(
        ({ name }) => name === "shown_content",
      )?.status;
    expect(statusOf(amendedShown)).toBe("pass");
    const { before, ...now } = amendedShown;
    const others: ShownContent[] = [
      now,
      { ...now, before: { ...before, context: { invoice: "2026-113" } } },
      { ...now, before: { ...before, context: {} } },
      { ...now, before: { ...before, context: { ...before.context, more: "" } } },
      { ...now, before: { ...before, context_salt: now.context_salt } },
      { ...amendedShown, questions: [{ question: "?" }] },
    ];
    expect(others.map(statusOf)).toEqual(others.map(() => "fail"));
  });
});

describe("questions", () => {
  const asked = [
    {
      question: "What for?",
      asked_at: testFacts.approved_at,
      answer: "Paper",
      answered_at: testFacts.approved_at,
    },
  ];
  const authorization = signForTest(
    buildAuthorization(enrolledRequest, {
      ...testFacts,
      approvals: enrolled.approvals,
      questions_hash: hashQuestions(testShown.context_salt, asked),
    }),
  );

  it("are hashed into the decision, which is of version 2, and an answer that was changed fails", () => {
    expect(authorization.version).toBe(2);
    expect(parseHumanAuthorization(authorization)).toBe(authorization);
    expect(
      isEntryOfApproval(addTestLogEntry(authorization), testPublicKey, testVerifyOptions.verifySignature),
    ).toBe(true);
    const statusOf = (questions: JsonValue | undefined) =>
      verifyHumanAuthorization(authorization, {
        ...testVerifyOptions,
        shown: { ...testShown, ...(questions !== undefined && { questions }) },
      }).checks.find(({ name }) => name === "shown_content")?.status;
    expect(statusOf(asked)).toBe("pass");
    expect([undefined, [], [{ ...asked[0], answer: "Ink" }], [...asked, ...asked]].map(statusOf)).toEqual(
      Array(4).fill("fail"),
    );
  });
});

describe("an authorization that one person gave in a list", () => {
  const hash = requestHash(enrolledRequest);

  it("verifies, and is version 2", () => {
    expect(parseHumanAuthorization(listed)).toBe(listed);
    expect(listed.version).toBe(2);
    expect(verify(listed)).toMatchObject({ ok: true, grade: "enrolled_approver" });
    for (const count of [1, 2, 6, 19])
      expect(verify(makeListOf([...otherHashes(count), hash])).ok, `${count}`).toBe(true);
    expect(parseHumanAuthorization(resign((copy) => (copy.version = 1), listed))).toBeNull();
    const { list: _list, ...alone } = listed.approvals[0] as PasskeyApproval;
    expect(parseHumanAuthorization(rebuild(enrolledRequest, [alone]))).toMatchObject({ version: 1 });
  });

  it.each(listBadLists())("fails for %s", (_what, reason, made) => {
    expect(parseHumanAuthorization(made)).toBe(made);
    expect(failures(made)).toEqual([["passkeys", reason]]);
  });

  it("fails for a request twice, which no honest page signs", () => {
    expect(() => buildList([hash, hash])).toThrow(RangeError);
    for (const size of [1, 21]) expect(() => buildList(otherHashes(size))).toThrow(RangeError);
    const leaf = base64Encode(leafHash(hexDecode(hash)));
    expect(failures(makeListOf([hash, ...otherHashes(1)], { proof: [leaf] }))).toEqual([
      ["passkeys", "list_repeated"],
    ]);
  });

  it.each<[string, Partial<ApprovalRequest>]>([
    ["World ID", { required_level: "orb" }],
    [
      "a standing approval",
      { grant: { tools: ["pay"], max_calls: 2, expires_at: enrolledRequest.expires_at } },
    ],
    ["a counter-offer", { amends: { request_hash: hash, fields: ["amount"] } }],
  ])("fails for a request of %s", (_what, more) => {
    const made = makeListedAuthorization({ ...enrolledRequest, ...more });
    expect(failures(made)).toContainEqual(["passkeys", "list_not_allowed"]);
  });
});

describe("an authorization that a deputy gave in another's place", () => {
  it("verifies, says so, and is version 2", () => {
    expect(parseHumanAuthorization(deputized)).toBe(deputized);
    expect(deputized).toMatchObject({
      version: 2,
      approvals: [{ approver_id: approverId(3), deputy_for: approverId(0) }, {}, {}],
    });
    expect(verify(deputized)).toMatchObject({ ok: true, grade: "enrolled_approver" });
    expect(parseHumanAuthorization(resign((copy) => (copy.version = 1), deputized))).toBeNull();
  });

  it("leaves what the deputy approves by their own right as it was, byte for byte", () => {
    const { own: people, ...roster } = makeDeputyRoster(2, 0);
    const made = makeDeputyAuthorization([0, 1, 2], enrolledRequest, { ...roster, people });
    expect(made.version).toBe(1);
    expect(verify(made).ok).toBe(true);
  });

  it.each(listBadDeputies())("fails if %s", (_what, check, reason, made) => {
    expect(parseHumanAuthorization(made)).toBe(made);
    expect(failures(made)).toEqual([[check, reason]]);
  });
});

describe("an authorization by a standing approval or a rule", () => {
  const request = {
    ...both.request,
    required_approvers: [],
    approvals_required: 1,
    required_level: "device" as const,
  };
  const hash = "ab".repeat(32);
  const use = {
    kind: "grant" as const,
    request_hash: hash,
    authorization_hash: hash,
    use: 3,
    of: 20,
    spent: "36000",
    budget: "100000",
    currency: "EUR",
  };
  const rule = { kind: "rule" as const, ruleset_hash: hash, policy_ids: ["small"], context_hash: hash };
  const decided = (decided_by: HumanAuthorization["decided_by"], of: ApprovalRequest = request) =>
    signForTest(buildAuthorization(of, { ...testFacts, decided_by, approvals: [] }));

  it("is authentic, says what it can't show, and is never called human", () => {
    for (const [decidedBy, grade, reason] of [
      [use, "standing_approval", "grant_absent"],
      [rule, "rule", "rules_absent"],
    ] as const) {
      const made = decided(decidedBy);
      expect(parseHumanAuthorization(made)).toBe(made);
      const report = verify(made);
      expect(report).toMatchObject({ ok: true, grade });
      expect(report.grade_text).toContain("no human was asked");
      expect(report.checks.find(({ name }) => name === "decided_by")).toMatchObject({
        status: "not_applicable",
        reason,
      });
      expect(report.checks.find(({ name }) => name === "approval_count")?.reason).toBe("nobody_asked");
      expect(made.usable_until).toBe("2026-11-21T09:06:00.000Z");
    }
  });

  it.each<[string, [AuthorizationCheckName, Reason][], HumanAuthorization]>([
    [
      "people's approvals",
      [["decided_by", "approvals_unexpected"]],
      resign((copy) => (copy.approvals = [makeTestApproval(request, 9n)]), decided(rule)),
    ],
    ["a use beyond the last", [["decided_by", "grant_exceeded"]], decided({ ...use, use: 21 })],
    ["more than the budget", [["decided_by", "grant_exceeded"]], decided({ ...use, spent: "100000.0001" })],
    [
      "an amount that was not counted",
      [["decided_by", "grant_amounts_mismatch"]],
      decided({ ...use, spent: "11999" }),
    ],
    ["another currency", [["decided_by", "grant_amounts_mismatch"]], decided({ ...use, currency: "USD" })],
    [
      "an amount without limits",
      [["decided_by", "grant_amounts_mismatch"]],
      decided({ ...use, spent: null, budget: null, currency: null }),
    ],
    [
      "a standing approval that covers itself",
      [["decided_by", "grant_needs_people"]],
      decided(use, {
        ...request,
        grant: { tools: ["bank.pay"], max_calls: 2, expires_at: request.expires_at },
      }),
    ],
    [
      "a longer end than an hour",
      [["usable", "usable_until_mismatch"]],
      resign((copy) => (copy.usable_until = null), decided(rule)),
    ],
  ])("fails with %s", (_what, expected, made) => {
    expect(failures(made)).toEqual(expected);
  });

  it("ends sooner if the request says so, and never later than after an hour", () => {
    expect(decided(rule, { ...request, usable_for_seconds: 60 }).usable_until).toBe(
      "2026-11-21T08:07:00.000Z",
    );
    expect(decided(rule, { ...request, usable_for_seconds: 2_592_000 }).usable_until).toBe(
      "2026-11-21T09:06:00.000Z",
    );
  });
});

function otherRequest(decision: "approve" | "deny") {
  const request = { ...enrolledRequest, salt: "AAAAAAAAAAAAAAAAAAAAAQ==" };
  const { authenticator_data, client_data_json, signature } = makePasskeyApproval(
    request,
    testRoster,
    0,
    decision,
  );
  return { authenticator_data, client_data_json, signature };
}

function denial() {
  const made = makePasskeyApproval(enrolledRequest, testRoster, 0, "deny");
  return {
    authenticator_data: made.authenticator_data,
    client_data_json: made.client_data_json,
    signature: made.signature,
  };
}

function editClient(approval: PasskeyApproval, change: object) {
  const data = JSON.parse(utf8Decode(base64UrlDecode(approval.client_data_json)));
  approval.client_data_json = base64UrlEncode(utf8Encode(JSON.stringify({ ...data, ...change })));
}

function editFlags(approval: PasskeyApproval, flags: number) {
  const data = base64UrlDecode(approval.authenticator_data);
  data[32] = flags;
  approval.authenticator_data = base64UrlEncode(data);
}

function swap(
  one: PasskeyApproval | undefined,
  other: PasskeyApproval | undefined,
  field: keyof PasskeyApproval,
) {
  if (!one || !other) throw new Error("two passkeys are needed");
  const [mine, theirs] = [one[field], other[field]];
  Object.assign(one, { [field]: theirs });
  Object.assign(other, { [field]: mine });
}

function makeWith(roster: typeof testRoster, verified_at = "2026-11-21T08:05:00.000Z") {
  const approvals = [0, 1, 2].map((person) => ({
    ...makePasskeyApproval(enrolledRequest, roster, person),
    verified_at,
  }));
  return rebuild(enrolledRequest, approvals);
}

function makeEnrolledAuthorizationOf(request: ApprovalRequest) {
  const approvals = [0, 1, 2].map((person) => ({
    ...makePasskeyApproval(request, testRoster, person),
    groups: testRoster.people[person]?.openings ?? [],
  }));
  return rebuild(request, approvals);
}

function makeBothOfOneHuman() {
  const { request } = both;
  const proof = makeTestApproval(request, 21n);
  const approvals = [0, 1, 2].flatMap((person) => [
    { ...proof },
    { ...makePasskeyApproval(request, testRoster, person), nullifier_hash: proof.nullifier_hash },
  ]);
  return rebuild(request, approvals);
}

it("has approvers by the ids that the roster gives them", () => {
  expect(enrolled.approvals.map((one) => one.type === "passkey" && one.approver_id)).toEqual(
    [0, 1, 2].map(approverId),
  );
});
