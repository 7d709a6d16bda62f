/** For tests only: a roster of an organization whose approvers hold software passkeys, and what they approve. */
import { p256 } from "@noble/curves/nist.js";
import { ml_dsa44 } from "@noble/post-quantum/ml-dsa.js";
import {
  type Amends,
  type ApprovalRequest,
  bindRequest,
  buildAuthorization,
  type HumanAuthorization,
  type PasskeyApproval,
  requestHash,
} from "#lib/protocol/approval/approval";
import { contextHash } from "#lib/protocol/approval/shown-content";
import {
  base64Encode,
  base64UrlEncode,
  concatBytes,
  hexDecode,
  hexEncode,
  sha256,
  utf8Encode,
} from "#lib/protocol/encoding/bytes";
import {
  approvalChallenge,
  buildList,
  type ListBranch,
  type PasskeyDecision,
  toRelyingParty,
} from "#lib/protocol/passkey/assertion";
import {
  buildRosterHead,
  entryName,
  hashGroup,
  hashName,
  orderEntries,
  proveMembership,
  type RosterEntry,
} from "#lib/protocol/passkey/roster";
import type { Reason } from "#lib/protocol/statement/reasons";
import { inclusionRanges, leafHash, rootOfLeafHashes } from "#lib/protocol/tlog/merkle";
import {
  makeTestApproval,
  signForTest,
  testFacts,
  testRequest,
  testRequestedBy,
  testShown,
} from "./human-authorization";

interface SoftKey {
  cose: Uint8Array;
  sign(bytes: Uint8Array): Uint8Array;
}

function makeMlDsaKey(number: number): SoftKey {
  const { publicKey, secretKey } = ml_dsa44.keygen(sha256(utf8Encode(`soft passkey ${number}`)));
  return {
    cose: concatBytes(hexDecode("a3010703382f20590520"), publicKey),
    sign: (bytes) => ml_dsa44.sign(bytes, secretKey, { extraEntropy: false }),
  };
}

function makeEs256Key(number: number): SoftKey {
  const secretKey = sha256(utf8Encode(`soft passkey ${number}`));
  const point = p256.getPublicKey(secretKey, false);
  const [x, y] = [point.subarray(1, 33), point.subarray(33)];
  return {
    cose: concatBytes(hexDecode("a5010203262001215820"), x, hexDecode("225820"), y),
    sign: (bytes) => p256.sign(bytes, secretKey, { format: "der" }),
  };
}

/** An authenticator of software: one credential. */
export function makeSoftPasskey(number: number, key = makeEs256Key(number)) {
  const credentialId = base64UrlEncode(sha256(utf8Encode(`credential ${number}`)));
  const publicKey = base64UrlEncode(key.cose);
  return {
    credentialId,
    publicKey,
    /** User-verified and touched. */
    sign: (origin: string, challenge: Uint8Array) => {
      const clientData = {
        type: "webauthn.get",
        challenge: base64UrlEncode(challenge),
        origin,
        crossOrigin: false,
      };
      const client_data_json = utf8Encode(JSON.stringify(clientData));
      const rpIdHash = sha256(utf8Encode(toRelyingParty(origin).rpId));
      const authenticator_data = concatBytes(rpIdHash, Uint8Array.of(0x05, 0, 0, 0, number));
      const signed = concatBytes(authenticator_data, sha256(client_data_json));
      const signature = key.sign(signed);
      return {
        authenticator_data: base64UrlEncode(authenticator_data),
        client_data_json: base64UrlEncode(client_data_json),
        signature: base64UrlEncode(signature),
      };
    },
  };
}

const idOf = (kind: number, number: number) =>
  `019a0000-0000-7000-800${kind}-${String(number).padStart(12, "0")}`;
export const groupId = (number: number) => idOf(1, number);
export const approverId = (number: number) => idOf(2, number);
const saltOf = (...numbers: number[]) => base64Encode(sha256(Uint8Array.from(numbers)).slice(0, 16));

export const testName = (person: number) => ({ name: `Approver ${person + 1}`, salt: saltOf(person, 255) });

/** Approver n is in the groups of that place. */
export function makeTestRoster(
  organization: string,
  memberships: readonly (readonly number[])[],
  makeKey = makeEs256Key,
) {
  const people = memberships.map((groups, person) => {
    const passkey = makeSoftPasskey(person, makeKey(person));
    const openings = groups.map((group) => ({ group: groupId(group), salt: saltOf(person, group) }));
    const entry: RosterEntry = {
      approver_id: approverId(person),
      credential_id: passkey.credentialId,
      public_key: passkey.publicKey,
      groups: [...openings.map(hashGroup), hashName(testName(person))].sort(),
      since: "2026-11-01T08:00:00.000Z",
      salt: saltOf(person),
    };
    return { passkey, openings, entry };
  });
  const entries = orderEntries(people.map(({ entry }) => entry));
  const head = buildRosterHead(entries, {
    organization,
    number: 1,
    previous: null,
    changed_at: "2026-11-20T08:00:00.000Z",
  });
  return { people, entries, head };
}

export type TestRoster = ReturnType<typeof makeTestRoster>;

export function makePasskeyApproval(
  request: ApprovalRequest,
  { people, entries, head }: TestRoster,
  person: number,
  decision: PasskeyDecision = "approve",
  list?: { challenge: Uint8Array; branch: ListBranch },
): PasskeyApproval {
  const { passkey, openings, entry } = people[person] ?? makeTestRoster("", [[]]).people[0] ?? fail();
  const index = entries.indexOf(entry);
  const required = request.required_approvers.map(({ group }) => group);
  return {
    type: "passkey",
    approver_id: entry.approver_id,
    credential_public_key: entry.public_key,
    ...passkey.sign(request.origin, list?.challenge ?? approvalChallenge(requestHash(request), decision)),
    verified_at: "2026-11-21T08:05:00.000Z",
    roster: { head, entry, index, proof: proveMembership(entries, index) },
    groups: openings.filter(({ group }) => required.includes(group)),
    ...(list && { list: list.branch }),
  };
}

function fail(): never {
  throw new Error("no such person");
}

/** Two of group 0 and one of group 1 are wanted; person 1 is in both, person 3 in none. */
export const testMemberships = [[0], [0, 1], [1], [], [0]];

export const enrolledRequest: ApprovalRequest = {
  ...testRequest,
  required_level: "none",
  required_approvers: [
    { group: groupId(0), count: 2 },
    { group: groupId(1), count: 1 },
  ],
  approvals_required: 3,
  requester_id: approverId(4),
};

export const testRoster = makeTestRoster(enrolledRequest.organization, testMemberships);

export function makeEnrolledAuthorization(
  people: readonly number[] = [0, 1, 2],
  request: ApprovalRequest = enrolledRequest,
): HumanAuthorization {
  const approvals = people.map((person) => makePasskeyApproval(request, testRoster, person));
  return signForTest(buildAuthorization(request, { ...testFacts, approvals }));
}

/** The same, person 0 by a passkey of ML-DSA-44; `signer`: whose key signs in its place. */
export function makeMlDsaAuthorization(signer = 0): HumanAuthorization {
  const makeKey = (person: number) => {
    if (person !== 0) return makeEs256Key(person);
    return { ...makeMlDsaKey(0), sign: makeMlDsaKey(signer).sign };
  };
  const roster = makeTestRoster(enrolledRequest.organization, testMemberships, makeKey);
  const approvals = [0, 1, 2].map((person) => makePasskeyApproval(enrolledRequest, roster, person));
  return signForTest(buildAuthorization(enrolledRequest, { ...testFacts, approvals }));
}

/** The same, each with a World ID proof of their own. */
export function makeBothAuthorization(): HumanAuthorization {
  const request = { ...enrolledRequest, required_level: "orb" as const };
  const approvals = [0, 1, 2].flatMap((person) => {
    const proof = makeTestApproval(request, BigInt(person) + 21n);
    const passkey = makePasskeyApproval(request, testRoster, person);
    return [proof, { ...passkey, nullifier_hash: proof.nullifier_hash }];
  });
  return signForTest(buildAuthorization(request, { ...testFacts, approvals }));
}

const amendableRequest: ApprovalRequest = { ...enrolledRequest, amendable: ["amount", "context.invoice"] };

/** Content that the page of a counter-offer showed: another invoice, under a salt of its own. */
export const amendedShown = {
  ...testShown,
  context: { invoice: "2026-115" },
  context_salt: "bmV3IHNhbHQ=",
  before: { context_salt: testShown.context_salt, context: testShown.context },
};

/** Person 0 has lowered the amount and changed the invoice; `before` and `now` say what is otherwise. */
export function makeAmendedAuthorization(
  { before = {}, now = {} }: { before?: Partial<ApprovalRequest>; now?: Partial<ApprovalRequest> } = {},
  people: readonly number[] = [0, 1, 2],
): HumanAuthorization {
  const original_request = { ...amendableRequest, ...before };
  const { amendable: fields = [], ...kept } = original_request;
  const { context, context_salt, agent_name, organization_name, group_names } = amendedShown;
  const names = { agent_name, organization_name, group_names };
  const request: ApprovalRequest = {
    ...kept,
    request_id: "areq_amended",
    amount: { value: "9000", currency: "EUR" },
    context_hash: contextHash(context_salt, context, names, testRequestedBy),
    amends: { request_hash: requestHash(original_request), fields, by: approverId(0) },
    created_at: "2026-11-21T08:03:00.000Z",
    salt: "AQAAAAAAAAAAAAAAAAAAAA==",
    ...now,
  };
  const approvals = people.map((person) => makePasskeyApproval(request, testRoster, person));
  return signForTest(buildAuthorization(request, { ...testFacts, approvals, original_request }));
}

/** Chains that a careless or lying service signs, and its approvers too; with the reason that each is refused for. */
export function listBadAmendments(): [what: string, reason: Reason, forged: HumanAuthorization][] {
  const amends = (more: Partial<Amends>, before: Partial<ApprovalRequest> = {}) => {
    const { fields, ...found } = makeAmendedAuthorization({ before }).request.amends ?? fail();
    return { amends: { fields, ...found, ...more } };
  };
  const { by: _by, ...byNobody } = amends({}).amends;
  const amount = (value: string, currency = "EUR") => ({ amount: { value, currency } });
  const each = (now: Partial<ApprovalRequest>) => makeAmendedAuthorization({ now });
  const onlyAmount = { amendable: ["amount"] };
  const fields = ["amount", "context.invoice"];
  const fewer = [0, 1].map((group) => ({ group: groupId(group), count: 1 }));
  const elsewhere: Partial<ApprovalRequest>[] = [
    { origin: "https://other.example" },
    { organization: "another organization" },
    { grant: { tools: ["bank.pay"], max_calls: 2, expires_at: testRequest.expires_at } },
    { agent_slug: "other" },
    { agent_public_key: "AAAA" },
    { action: "Pay" },
    { tool: "other" },
    { expires_at: "2026-11-21T09:30:00.000Z" },
    { usable_for_seconds: 7200 },
    { details: { complete: true, types: "s" } },
    { entries_hash: "ab".repeat(32) },
    { requester_may_approve: true },
    { requester_id: approverId(3) },
  ];
  return [
    ["another request", "amendment_of_another", each(amends({ request_hash: "ab".repeat(32) }))],
    ["a later request", "amendment_of_another", each({ created_at: "2026-11-21T07:59:00.000Z" })],
    ["the request itself", "amendment_of_another", each({ request_id: testRequest.request_id })],
    [
      "a detail that wasn't named",
      "amendment_not_allowed",
      makeAmendedAuthorization({ before: onlyAmount, now: amends({ fields }, onlyAmount) }),
    ],
    [
      "an amount that wasn't named",
      "amendment_not_allowed",
      makeAmendedAuthorization({ before: { amendable: ["context.invoice"] } }),
    ],
    ["more money", "amendment_widens", each(amount("12000.01"))],
    ["as much money", "amendment_widens", each(amount("12000"))],
    ["another currency", "amendment_widens", each(amount("9", "USD"))],
    ...elsewhere.map((now): [string, Reason, HumanAuthorization] => [
      `another ${Object.keys(now).join()}`,
      "amendment_not_allowed",
      each(now),
    ]),
    [
      "fewer people",
      "amendment_widens",
      makeAmendedAuthorization({ now: { approvals_required: 2, required_approvers: fewer } }, [0, 2]),
    ],
    [
      "other groups",
      "amendment_widens",
      each({ required_approvers: enrolledRequest.required_approvers.toReversed() }),
    ],
    [
      "a lower level",
      "amendment_widens",
      makeAmendedAuthorization({ before: { required_level: "orb" }, now: { required_level: "none" } }),
    ],
    ["somebody who didn't sign it", "amender_absent", each(amends({ by: approverId(3) }))],
    ["nobody", "amender_absent", each({ amends: byNobody })],
    [
      "an approver where none was asked",
      "amender_absent",
      makeAmendedAuthorization({
        before: { required_approvers: [], approvals_required: 1 },
        now: { required_approvers: enrolledRequest.required_approvers, approvals_required: 3 },
      }),
    ],
  ];
}

/** Hashes of other requests in a list. */
export const otherHashes = (count: number): string[] =>
  Array.from({ length: count }, (_, i) => hexEncode(sha256(utf8Encode(`another request ${i}`))));

/** The first person approved it in a list of five, as its fourth; the others by itself. */
export function makeListedAuthorization(request: ApprovalRequest = enrolledRequest): HumanAuthorization {
  const [one = "", two = "", three = "", four = ""] = otherHashes(4);
  const { challenge, branches } = buildList([one, two, three, requestHash(request), four]);
  const branch = branches[3] ?? fail();
  const approvals = [0, 1, 2].map((person) =>
    makePasskeyApproval(
      request,
      testRoster,
      person,
      "approve",
      person === 0 ? { challenge, branch } : undefined,
    ),
  );
  return signForTest(buildAuthorization(request, { ...testFacts, approvals }));
}

/**
 * Approves this list of `hashes` as everybody; with a branch or a challenge of another list where `claim` or `signed` say so.
 */
export function makeListOf(
  hashes: readonly string[],
  claim: Partial<ListBranch> = {},
  signed = hashes,
): HumanAuthorization {
  const leaves = hashes.map((leaf) => leafHash(hexDecode(leaf)));
  const index = hashes.indexOf(requestHash(enrolledRequest));
  const proof = inclusionRanges(index, hashes.length).map(([from, to]) =>
    base64Encode(rootOfLeafHashes(leaves.slice(from, to))),
  );
  const branch = { index, size: hashes.length, proof, ...claim };
  const { challenge } = buildList(signed);
  const approvals = [0, 1, 2].map((person) =>
    makePasskeyApproval(enrolledRequest, testRoster, person, "approve", { challenge, branch }),
  );
  return rebuild(enrolledRequest, approvals);
}

const rebuild = (request: ApprovalRequest, approvals: HumanAuthorization["approvals"]) =>
  signForTest(buildAuthorization(request, { ...testFacts, approvals }));

/** The assertions of the one with the branches of the other. */
function exchangeAssertions(signed: HumanAuthorization, placed: HumanAuthorization) {
  const approvals = placed.approvals.map((approval, i) => {
    const { authenticator_data, client_data_json, signature } = signed.approvals[i] as PasskeyApproval;
    return { ...(approval as PasskeyApproval), authenticator_data, client_data_json, signature };
  });
  return rebuild(placed.request, approvals);
}

/** Lists that a lying service signs for; with the reason that each is refused for. */
export function listBadLists(): [what: string, reason: Reason, forged: HumanAuthorization][] {
  const hash = requestHash(enrolledRequest);
  const [one = "", two = "", three = ""] = otherHashes(3);
  const [enrolled, listed] = [makeEnrolledAuthorization(), makeListedAuthorization()];
  const another = "passkey_challenge_mismatch";
  return [
    ["a row that was not signed", another, makeListOf([one, hash, two], {}, [one, two])],
    ["a row that the page didn't show", another, makeListOf([one, hash, two, three], {}, [one, hash, two])],
    ["a branch of another list", another, makeListOf([two, hash], {}, [one, hash])],
    ["a smaller list than was signed", another, makeListOf([one, two, hash], { index: 1, size: 2 })],
    ["a longer branch", "list_malformed", makeListOf([one, hash, two], { size: 2 })],
    ["a place outside", "list_malformed", makeListOf([one, hash], { index: 2 })],
    ["the answer for the request alone", another, exchangeAssertions(enrolled, listed)],
    ["a list's answer as one for the request alone", another, exchangeAssertions(listed, enrolled)],
  ];
}

const deputyFrom = "2026-11-20T09:00:00.000Z";
const deputyUntil = "2026-11-28T09:00:00.000Z";

/** Person `deputy` decides in the place of person `absent`, whose groups their entry has. */
export function makeDeputyRoster(deputy: number, absent: number) {
  const roster = makeTestRoster(enrolledRequest.organization, testMemberships);
  const person = roster.people[deputy] ?? fail();
  const replaced = roster.people[absent] ?? fail();
  const entry: RosterEntry = {
    ...person.entry,
    groups: replaced.entry.groups,
    salt: saltOf(deputy, absent, 9),
    deputy_for: { approver_id: replaced.entry.approver_id, from: deputyFrom, until: deputyUntil },
  };
  const people = [...roster.people];
  people[deputy] = { ...person, entry, openings: replaced.openings };
  const entries = orderEntries([...roster.entries, entry]);
  return { people, own: roster.people, entries, head: buildRosterHead(entries, roster.head) };
}

/** Person 3, who is in no group, decides as the deputy of person 0. */
export function makeDeputyAuthorization(
  people: readonly number[] = [3, 1, 2],
  request: ApprovalRequest = enrolledRequest,
  roster: TestRoster = makeDeputyRoster(3, 0),
): HumanAuthorization {
  const approvals = people.map((person) => {
    const made = makePasskeyApproval(request, roster, person);
    const { deputy_for: deputyship } = made.roster.entry;
    return deputyship === undefined ? made : { ...made, deputy_for: deputyship.approver_id };
  });
  return signForTest(buildAuthorization(request, { ...testFacts, approvals }));
}

/** Signed again by the service, with something otherwise in the first approval. */
function changeFirst(whole: HumanAuthorization, version: 1 | 2, change: (approval: PasskeyApproval) => void) {
  const copy = { ...structuredClone(whole), version };
  change(copy.approvals[0] as PasskeyApproval);
  return signForTest(copy);
}

/** Deputies that a lying service counts; with the check and the reason that each is refused for. */
export function listBadDeputies(): [
  what: string,
  check: "quorum" | "roster",
  reason: Reason,
  forged: HumanAuthorization,
][] {
  const deputized = makeDeputyAuthorization();
  const decide = (deputy: number, absent: number, more: Partial<ApprovalRequest> = {}) =>
    makeDeputyAuthorization(
      [deputy, 1, 2],
      { ...enrolledRequest, ...more },
      makeDeputyRoster(deputy, absent),
    );
  const inBothRights = () => {
    const roster = makeDeputyRoster(1, 0);
    const own = makePasskeyApproval(enrolledRequest, { ...roster, people: roster.own }, 1);
    const [deputy = fail(), other = fail()] = makeDeputyAuthorization(
      [1, 2],
      enrolledRequest,
      roster,
    ).approvals;
    return rebuild(enrolledRequest, [deputy, own, other]);
  };
  const during = (time: { from?: string; until?: string }) => {
    const { people, entries, head } = makeDeputyRoster(3, 0);
    const change = (entry: RosterEntry): RosterEntry =>
      entry.deputy_for === undefined ? entry : { ...entry, deputy_for: { ...entry.deputy_for, ...time } };
    const changed = entries.map(change);
    const named = people.map((person) => ({
      ...person,
      entry: changed.find((entry) => entryName(entry) === entryName(person.entry)) ?? person.entry,
    }));
    const roster = { people: named, entries: changed, head: buildRosterHead(changed, head) };
    return makeDeputyAuthorization([3, 1, 2], enrolledRequest, roster);
  };
  const other = "roster_entry_mismatch";
  return [
    ["who is replaced counts too", "quorum", "approver_repeated", makeDeputyAuthorization([3, 0, 2])],
    ["the deputy counts in their own right too", "quorum", "approver_repeated", inBothRights()],
    ["the requester is the deputy", "quorum", "deputy_of_requester", decide(4, 0)],
    [
      "the requester is the deputy, where who asks may approve",
      "quorum",
      "deputy_of_requester",
      decide(4, 0, { requester_may_approve: true }),
    ],
    ["the requester is replaced", "quorum", "deputy_of_requester", decide(3, 4)],
    [
      "it isn't said",
      "roster",
      other,
      changeFirst(deputized, 1, (one) => Reflect.deleteProperty(one, "deputy_for")),
    ],
    [
      "another is named",
      "roster",
      other,
      changeFirst(deputized, 2, (one) => Object.assign(one, { deputy_for: approverId(9) })),
    ],
    [
      "it is made up for a person by their own right",
      "roster",
      other,
      changeFirst(makeEnrolledAuthorization(), 2, (one) => Object.assign(one, { deputy_for: approverId(9) })),
    ],
    ["the time is over", "roster", "deputy_out_of_time", during({ until: "2026-11-21T08:05:00.000Z" })],
    ["the time hasn't begun", "roster", "deputy_out_of_time", during({ from: "2026-11-21T08:05:00.001Z" })],
    [
      "the roster doesn't have it so",
      "roster",
      "roster_proof_invalid",
      changeFirst(deputized, 2, ({ roster: { entry } }) => {
        Object.assign(entry.deputy_for ?? fail(), { until: "2027-11-28T09:00:00.000Z" });
      }),
    ],
  ];
}

type Path = (string | number)[];

export function leavesOf(value: unknown, path: Path = []): Path[] {
  if (typeof value !== "object" || value === null) return [path];
  return Object.entries(value).flatMap(([name, inner]) => leavesOf(inner, [...path, name]));
}

/** Replaces a value by another of the same type, mostly of the same shape. */
export function alter(root: object, path: Path): void {
  // biome-ignore lint/suspicious/noExplicitAny: any JSON
  const parent = path.slice(0, -1).reduce<any>((node, step) => node[step], root);
  const name = String(path.at(-1));
  const value = parent[name];
  if (typeof value === "number") parent[name] = value + 1;
  else if (typeof value === "boolean") parent[name] = !value;
  else if (value === null) parent[name] = "x";
  else
    parent[name] = String(value).replace(
      /.(Z?)$/,
      (_, end: string) =>
        `${
          String(value)
            .slice(0, -end.length || undefined)
            .endsWith("0")
            ? "1"
            : "0"
        }${end}`,
    );
}

/** Lists forgeries: each field changed, and then everything bound and signed again by a service that lies. */
export function* listForgeries(
  whole: HumanAuthorization,
): Generator<{ place: string; forged: HumanAuthorization }> {
  for (const path of leavesOf(whole)) {
    if (path[0] === "signature" || path[0] === "binding") continue;
    const copy = structuredClone(whole);
    alter(copy, path);
    copy.binding = bindRequest(copy.request);
    yield { place: path.join("."), forged: signForTest(copy) };
  }
}
