/**
 * The business facts of a receipt, a request or a decision: what, how much, to whom, who asked, who decided or which
 * rule, under which limits, when, and what isn't proven. Pages, pictures, mails, reports, exports and both verifiers take
 * their words from here. They follow from the objects given; whether those hold is checked elsewhere.
 */
import { type Amount, amountValuePattern, formatAmount } from "#lib/protocol/approval/amount";
import type { ApprovalRequest } from "#lib/protocol/approval/approval";
import { weakestLevel } from "#lib/protocol/approval/assign-groups";
import type { DecidedByGrant, DecidedByRule, Decider, GrantTerms } from "#lib/protocol/approval/decided-by";
import {
  type Decided,
  type DecidingGroup,
  type DecidingPerson,
  describeAmendment,
  describeDecided,
  labelDecided,
  toUnasked,
} from "#lib/protocol/approval/decided-words";
import { findPayee } from "#lib/protocol/approval/detail-names";
import { isJsonObject, type JsonObject, type JsonValue } from "#lib/protocol/encoding/canonical-json";
import { type BackedApproval, isBacked } from "#lib/protocol/statement/human-approval";
import { type ParentLink, readParent } from "#lib/protocol/statement/parent";
import type { ActionPredicate } from "#lib/protocol/statement/statement";
import { formatCount } from "#lib/protocol/text/display-text";
import { isTime, readableTime } from "#lib/protocol/time/time-words";

export interface Facts {
  readonly what: string | null;
  readonly tool: string | null;
  readonly amount: Amount | null;
  /** Payee from details that only the organization and its approvers see. */
  readonly payee: string | null;
  readonly agent: string | null;
  readonly requester: string | null;
  /** Change by an approver, if this is a counter-offer. */
  readonly changed: string | null;
  readonly decided: Decided;
  readonly terms: GrantTerms | null;
  readonly usableUntil: string | null;
  readonly recordedAt: string | null;
  /** Names what ran or is to run, where the action doesn't: of a call that was recorded without its arguments, or from
   * details that only the organization and its approvers see. */
  readonly title: string | null;
  /** End of such a call by its machine's clock, if it was recorded late. */
  readonly endedAt: string | null;
  readonly decidedAt: string | null;
  /** Attestation by whose authority the agent acted, by its own word. */
  readonly parent: ParentLink | null;
  /** True if a trace rather than the agent itself reported it. */
  readonly isReportedByTrace: boolean;
  /** True for anything but production. */
  readonly isTest: boolean;
}

/** The organization's own names, for its members alone; signed objects have ids. */
export interface Names {
  readonly groups: Readonly<Record<string, string>>;
  readonly approvers: Readonly<Record<string, string>>;
}
export const noNames: Names = { groups: {}, approvers: {} };

const readText = (value: JsonValue | undefined) => (typeof value === "string" ? value : null);
const readObject = (value: JsonValue | undefined) => (isJsonObject(value) ? value : {});
const objectsIn = (value: JsonValue | undefined) => (Array.isArray(value) ? value.filter(isJsonObject) : []);
const nameIn = (names: Readonly<Record<string, string>>, id: JsonValue | undefined) =>
  typeof id === "string" && Object.hasOwn(names, id) ? (names[id] ?? null) : null;

function readAmount(value: JsonValue | undefined): Amount | null {
  const { value: written, currency } = readObject(value);
  return typeof written === "string" && amountValuePattern.test(written) && typeof currency === "string"
    ? { value: written, currency }
    : null;
}

const readTerms = (value: JsonValue | undefined) =>
  isJsonObject(value) ? (value as unknown as GrantTerms) : null;

function readPeople(approvals: readonly JsonObject[], names: Names): DecidingPerson[] {
  const passkeys = approvals.filter(({ type }) => type === "passkey");
  if (passkeys.length === 0)
    return approvals.map(({ verified_at }) => ({ name: null, way: "World ID", at: readText(verified_at) }));
  return passkeys.map(({ approver_id, nullifier_hash, verified_at, deputy_for, list }) => ({
    name: nameIn(names.approvers, approver_id),
    way: nullifier_hash === undefined ? "passkey" : "World ID and passkey",
    at: readText(verified_at),
    ...(deputy_for !== undefined && { isDeputy: true }),
    ...(list !== undefined && { listSize: Number(readObject(list)["size"]) }),
  }));
}

const readGroups = (required: JsonValue | undefined, names: Names): DecidingGroup[] =>
  objectsIn(required).map(({ group, count }) => ({
    name: nameIn(names.groups, group),
    count: Number(count),
  }));

function readDecided(object: JsonObject, names: Names): Decided {
  const { request, decided_by, approvals, environment } = object;
  const { required_approvers } = readObject(request);
  const given = objectsIn(approvals);
  const decider = readObject(decided_by);
  if (decider["kind"] === "rule" || decider["kind"] === "grant")
    return toUnasked(decider as unknown as DecidedByGrant | DecidedByRule, "approved");
  return {
    kind: "people",
    decision: "approved",
    groups: readGroups(required_approvers, names),
    people: readPeople(given, names),
    level: weakestLevel(given.filter(({ type }) => type === "world_id").map(({ level }) => level)),
    isTest: environment !== "production",
  };
}

function readChange({ request, original_request: before }: JsonObject, names: Names): string | null {
  const now = readObject(request) as unknown as ApprovalRequest;
  if (now.amends === undefined || !isJsonObject(before)) return null;
  const chain = { amends: now.amends, before: before as unknown as ApprovalRequest, now };
  return describeAmendment(chain, nameIn(names.approvers, now.amends.by));
}

export function factsOfApproval(object: JsonObject, names: Names = noNames): Facts {
  const request = readObject(object["request"]);
  return {
    what: readText(request["action"]),
    tool: readText(request["tool"]),
    amount: readAmount(request["amount"]),
    payee: null,
    agent: readText(request["agent_slug"]),
    requester: null,
    changed: readChange(object, names),
    decided: readDecided(object, names),
    terms: readTerms(request["grant"]),
    usableUntil: readText(object["usable_until"]),
    recordedAt: null,
    title: null,
    endedAt: null,
    decidedAt: readText(object["approved_at"]),
    parent: null,
    isReportedByTrace: false,
    isTest: object["environment"] !== "production",
  };
}

export const hiddenFacts: Facts = {
  what: null,
  tool: null,
  amount: null,
  payee: null,
  agent: null,
  requester: null,
  changed: null,
  decided: { kind: "hidden" },
  terms: null,
  usableUntil: null,
  recordedAt: null,
  title: null,
  endedAt: null,
  decidedAt: null,
  parent: null,
  isReportedByTrace: false,
  isTest: false,
};

/** Reads the deciders by the receipt's own words, where the object itself is not shown. */
function readBacking({
  method,
  level,
  nullifier_hashes,
  approver_ids,
  environment,
}: BackedApproval): Decided {
  if (method === "rule") return { kind: "rule", decision: "approved", policyIds: [] };
  if (method === "standing_approval") return { kind: "grant", use: null };
  const isEnrolled = method !== "proof_of_personhood";
  const way = method === "enrolled_approver" ? "passkey" : isEnrolled ? "World ID and passkey" : "World ID";
  const people = (isEnrolled ? approver_ids : nullifier_hashes).map(
    () => ({ name: null, way, at: null }) as const,
  );
  const isTest = environment !== "production";
  return { kind: "people", decision: "approved", groups: [], people, level, isTest };
}

export const factsOfSignedRequest = (request: JsonObject): Facts => ({
  ...hiddenFacts,
  what: readText(request["action"]),
  tool: readText(request["tool"]),
  amount: readAmount(request["amount"]),
  agent: readText(request["agent_slug"]),
  terms: readTerms(request["grant"]),
});

/** Calls are recorded within a minute, unless the service was away. */
const lateMs = 60_000;

/**
 * A hook or gate numbers what it records, and the service marks what it reads in a trace; other metadata may be anything. Beside an
 * approval there is no such title: people approved the action, and metadata could say another.
 */
function readRecordedCall({
  request: { metadata, client },
  timestamp,
  trace,
  human_approval: approval,
}: Attested) {
  const { title, at } = readObject(metadata);
  if (!isJsonObject(client) && trace === undefined) return {};
  const isLate = isTime(at) && Date.parse(timestamp) - Date.parse(at) > lateMs;
  return { ...(!isBacked(approval) && { title: readText(title) }), endedAt: isLate ? at : null };
}

type Attested = Pick<ActionPredicate, "request" | "human_approval" | "timestamp" | "trace">;

/** Facts of a receipt: `predicate` is null if its content is hidden, `object` is the approval that backs it. */
export function factsOfReceipt(
  predicate: Attested | null,
  object: JsonObject | null,
  names: Names = noNames,
): Facts {
  if (predicate === null) return hiddenFacts;
  const { request, human_approval: approval, timestamp, trace } = predicate;
  const own: Partial<Facts> = {
    what: readText(request["action"]),
    agent: readText(request["agent_slug"]),
    recordedAt: timestamp,
    ...readRecordedCall(predicate),
    parent: readParent(request),
    isReportedByTrace: trace !== undefined,
  };
  if (!isBacked(approval)) {
    const kind = approval.method === "none" ? "nobody" : "asserted";
    return { ...hiddenFacts, ...own, decided: { kind } };
  }
  const backing =
    object === null ? { ...hiddenFacts, decided: readBacking(approval) } : factsOfApproval(object, names);
  return { ...backing, ...own, isTest: approval.environment !== "production" };
}

export interface ShownRequest {
  readonly action: string;
  readonly title?: string | null | undefined;
  readonly tool?: string | null | undefined;
  readonly amount?: Amount | null | undefined;
  readonly agent_slug: string;
  readonly grant?: GrantTerms | null | undefined;
  readonly changed?: string | null | undefined;
  readonly context?: Readonly<Record<string, string>> | null | undefined;
  readonly requester?: string | null | undefined;
  readonly status: string;
  /** The request that took its place. */
  readonly amended_by?: string | null | undefined;
  readonly decided_by?: Decider | null | undefined;
  readonly decided_at?: string | null | undefined;
  readonly usable_until?: string | null | undefined;
  readonly approvals: { readonly given: number; readonly required: number };
  readonly groups: readonly DecidingGroup[];
  readonly people: readonly DecidingPerson[];
  readonly required_level: string;
  readonly environment: string;
}

function describeDecision(asked: ShownRequest): Decided {
  const { status, decided_by, approvals, groups, people, required_level, environment } = asked;
  if (status === "pending") return { kind: "waiting", ...approvals };
  if (asked.amended_by) return { kind: "ended", how: "changed" };
  if (status === "expired" || status === "cancelled") return { kind: "ended", how: status };
  if (decided_by && decided_by.kind !== "people") return toUnasked(decided_by, status);
  const decision = status === "denied" ? "denied" : "approved";
  return {
    kind: "people",
    decision,
    groups,
    people,
    level: decision === "denied" ? "none" : required_level,
    isTest: environment !== "production",
  };
}

export function factsOfRequest(asked: ShownRequest): Facts {
  return {
    // Erased requests have an empty one.
    what: asked.action === "" ? null : asked.action,
    tool: asked.tool ?? null,
    amount: asked.amount ?? null,
    payee: asked.context ? findPayee(asked.context) : null,
    title: asked.title ?? null,
    agent: asked.agent_slug,
    requester: asked.requester ?? null,
    changed: asked.changed ?? null,
    decided: describeDecision(asked),
    terms: asked.grant ?? null,
    usableUntil: asked.usable_until ?? null,
    recordedAt: null,
    endedAt: null,
    decidedAt: asked.decided_at ?? null,
    parent: null,
    isReportedByTrace: false,
    isTest: asked.environment !== "production",
  };
}

/** "at most 500 uses, 50.00 EUR each, 5,000.00 EUR in all, until 2026-12-01 00:00:00 UTC" */
export function describeTerms({
  max_calls,
  max_amount,
  max_budget,
  currency = "",
  expires_at,
}: GrantTerms): string {
  return [
    `at most ${formatCount(max_calls, "use")}`,
    ...(max_amount === undefined ? [] : [`${formatAmount({ value: max_amount, currency })} each`]),
    ...(max_budget === undefined ? [] : [`${formatAmount({ value: max_budget, currency })} in all`]),
    `until ${readableTime(expires_at)}`,
  ].join(", ");
}

/** "Ada Example, by passkey, 2026-11-29 08:00:00 UTC" */
const describePerson = (
  { name, way, at, isDeputy, listSize }: DecidingPerson,
  index: number,
  isTest: boolean,
) =>
  [
    `${name ?? `${isTest && way === "World ID" ? "Test wallet" : "Person"} ${index + 1}`}${isDeputy ? " as a deputy" : ""}`,
    `by ${way}${listSize === undefined ? "" : ` in a list of ${listSize}`}`,
    ...(at === null ? [] : [readableTime(at)]),
  ].join(", ");

export function listPeople({ decided }: Facts): string[] {
  if (decided.kind !== "people" || decided.people.every(({ name, at }) => name === null && at === null))
    return [];
  return decided.people.map((one, index) => describePerson(one, index, decided.isTest));
}

const describeLimits = ({ terms, usableUntil }: Facts) =>
  [
    ...(terms === null ? [] : [`Standing approval: ${describeTerms(terms)}`]),
    ...(usableUntil === null ? [] : [`Usable until ${readableTime(usableUntil)}`]),
  ].join("; ");

function listNotProven({ decided, isTest, recordedAt, amount, payee, isReportedByTrace }: Facts): string[] {
  const isReceipt = recordedAt !== null;
  return [
    ...(isReceipt ? ["that the action happened as reported"] : []),
    ...(isReportedByTrace ? ["that the agent itself reported it, and when it happened"] : []),
    ...(isReceipt && amount !== null && payee === null
      ? ["to whom (only a hash of the details is signed)"]
      : []),
    ...(decided.kind === "asserted" ? ["that a human approved it"] : []),
    ...(isTest && decided.kind === "people" ? ["that a real person approved it (TEST)"] : []),
    ...(isTest && decided.kind !== "people" ? ["what a live instance would decide (TEST)"] : []),
  ];
}

export type FactId =
  | "amount"
  | "payee"
  | "title"
  | "what"
  | "tool"
  | "agent"
  | "source"
  | "parent"
  | "requester"
  | "changed"
  | "decided"
  | "people"
  | "limits"
  | "decided_at"
  | "recorded_at"
  | "ended_at"
  | "not_proven";

export interface Fact {
  readonly id: FactId;
  readonly label: string;
  /** Holds other people's text: show it as such. */
  readonly text: string;
}

export function listFacts(facts: Facts): Fact[] {
  const { amount, payee, title, what, tool, agent, parent, requester, changed, decided } = facts;
  const { decidedAt, recordedAt, endedAt } = facts;
  const people = listPeople(facts);
  const rows: (readonly [FactId, string, string | null])[] = [
    ["amount", "Amount", amount && formatAmount(amount)],
    ["payee", "To", payee],
    ["title", "Call", title],
    ["what", "Action", what],
    ["tool", "Tool", tool],
    ["agent", "Agent", agent],
    ["source", "Source", facts.isReportedByTrace ? "Reported by a trace" : null],
    ["parent", "Follows from", parent && `Attestation ${parent.id} in the log ${parent.origin}`],
    ["requester", "Requested by", requester],
    ["changed", "Changed", changed],
    ["decided", labelDecided(decided), describeDecided(decided)],
    ["people", "People", people.length === 0 ? null : people.join("; ")],
    ["limits", "Limits", describeLimits(facts) || null],
    ["decided_at", "Decided", decidedAt && readableTime(decidedAt)],
    ["recorded_at", "Recorded", recordedAt && readableTime(recordedAt)],
    ["ended_at", "Recorded late", endedAt && `It ended at ${readableTime(endedAt)} by its machine's clock`],
    ["not_proven", "Not proven", listNotProven(facts).join("; ") || null],
  ];
  return rows.flatMap(([id, label, text]) => (text === null ? [] : [{ id, label, text }]));
}
