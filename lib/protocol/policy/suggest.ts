/**
 * Rules that an organization's own decisions suggest, and the derivation that lets anybody check one later. A suggestion
 * is never wider than what people approved:
 *
 * 1. Approvals are equal if agent, tool, currency and the names of the context are the same, and so is every value but
 *    those of names that had another value each time (an invoice's number): those stay open.
 * 2. Of each set of equal approvals (at least `approvals` on at least `days` days) a rule is made: what was the same must
 *    be the same, with no other names, an amount at most the highest, an hour within those that were seen.
 * 3. If it would have let a refusal through, its amount goes below the lowest one that was refused. If that doesn't help,
 *    or the set is too small then, there is no suggestion. A request that rules held back counts as refused.
 * 4. The largest sets come first.
 *
 * Nothing depends on an order, a clock or chance.
 */
import { amountUnits, amountValue, amountValuePattern } from "#lib/protocol/approval/amount";
import type { ApprovalRequest } from "#lib/protocol/approval/approval";
import type { GrantTerms } from "#lib/protocol/approval/decided-by";
import { hexEncode, sha256 } from "#lib/protocol/encoding/bytes";
import {
  canonicalBytes,
  canonicalHash,
  isJsonObject,
  type JsonObject,
} from "#lib/protocol/encoding/canonical-json";
import { textAsRead } from "#lib/protocol/text/display-text";
import { dayMs, isTime } from "#lib/protocol/time/time-words";

/** A request that was decided, as far as suggestions look at it. */
export interface PastRequest {
  /** Hex, of the request. */
  hash: string;
  agent: string;
  action: string;
  tool: string | null;
  /** Canonical. */
  amount: { value: string; currency: string } | null;
  context: Record<string, string>;
  /** True if the context is all of what is done. */
  isComplete: boolean;
  /** RFC 3339 in UTC, as the next. */
  created_at: string;
  decided_at: string;
  /** `refused`: denied, or changed by an approver. */
  outcome: "approved" | "refused";
  /** Rules asked people for it, or denied it. */
  isHeld: boolean;
  isTest: boolean;
}

/** Requests that a suggested rule lets through. */
export interface SuggestedBounds {
  agent: string;
  tool: string | null;
  /** Names and values, sorted; `null` is the request's action, any text a name of the context. */
  equal: { action: string | null; context: [name: string, value: string][] };
  /** Names whose value may be any, sorted. */
  open: string[];
  amount: { currency: string; max: string } | null;
  /** UTC, both included. */
  hours: { from: number; to: number };
}

export interface SuggestOptions {
  approvals: number;
  days: number;
  /** Set to cover requests with an amount too. */
  withMoney: boolean;
}

export const suggestDefaults: SuggestOptions = { approvals: 5, days: 2, withMoney: false };

export interface Suggestion {
  policyId: string;
  bounds: SuggestedBounds;
  text: string;
  /** Hashes of the requests that it rests on, sorted. */
  covers: string[];
}

/** Longer ones are no names of things; and rules have a limit. */
const maxValueLength = 200;
const maxSuggestions = 50;

const readHour = ({ created_at }: PastRequest) => Number(created_at.slice(11, 13));
const readDay = ({ created_at }: PastRequest) => created_at.slice(0, 10);
const readUnits = ({ amount }: PastRequest) => (amount === null ? 0n : amountUnits(amount.value));

/** True if the rule lets the request through; texts that read alike count as equal. */
export function isWithin(bounds: SuggestedBounds, request: PastRequest): boolean {
  const { equal, amount, hours } = bounds;
  const isSame = (one: string, other: string) => textAsRead(one) === textAsRead(other);
  const { action, context } = request;
  const names = [...equal.context.map(([name]) => name), ...bounds.open];
  const currency = request.amount?.currency ?? null;
  const hour = readHour(request);
  return (
    request.isComplete &&
    request.agent === bounds.agent &&
    textAsRead(request.tool ?? "") === textAsRead(bounds.tool ?? "") &&
    currency === (amount?.currency ?? null) &&
    (amount === null || readUnits(request) <= amountUnits(amount.max)) &&
    (equal.action === null || isSame(action, equal.action)) &&
    names.length === Object.keys(context).length &&
    names.every((name) => Object.hasOwn(context, name)) &&
    equal.context.every(([name, value]) => isSame(context[name] ?? "", value)) &&
    hour >= hours.from &&
    hour <= hours.to
  );
}

/** Encodes in Cedar's escapes, which are Rust's. */
const quote = (text: string) =>
  `"${[...text].map((one) => (/["\\]/.test(one) ? `\\${one}` : /[\p{C}\p{Zl}\p{Zp}]/u.test(one) ? `\\u{${(one.codePointAt(0) ?? 0).toString(16)}}` : one)).join("")}"`;

const decimal = (value: string) => `decimal("${value.includes(".") ? value : `${value}.0`}")`;

/** Writes one policy, which these bounds give word for word. */
function writeSuggestion(policyId: string, bounds: SuggestedBounds): string {
  const { agent, tool, equal, open, amount, hours } = bounds;
  const conditions = [
    "context.details_complete",
    ...(equal.action === null ? [] : [`context.action == ${quote(equal.action)}`]),
    ...equal.context.map(
      ([name, value]) =>
        `context.details.hasTag(${quote(name)}) && context.details.getTag(${quote(name)}) == ${quote(value)}`,
    ),
    ...open.map((name) => `context.details.hasTag(${quote(name)})`),
    `context.details_count == ${equal.context.length + open.length}`,
    ...(amount === null
      ? ["!(context has amount)"]
      : [
          `context has amount && context.amount.currency == ${quote(amount.currency)} && context.amount.value.lessThanOrEqual(${decimal(amount.max)})`,
        ]),
    `context.hour_utc >= ${hours.from} && context.hour_utc <= ${hours.to}`,
  ];
  return `@id(${quote(policyId)})
permit (principal == Agent::${quote(agent)}, action == Action::"act", resource == Tool::${quote(tool ?? "")})
when {
  ${conditions.join(" &&\n  ")}
};
`;
}

const suggestionId = (bounds: SuggestedBounds): string =>
  `learned-${hexEncode(sha256(canonicalBytes(bounds as unknown as JsonObject))).slice(0, 12)}`;

/** Bounds of what all of these have in common; `open`: names whose values are not compared. */
function boundsFor(requests: readonly PastRequest[], open: readonly string[]): SuggestedBounds | null {
  const [first] = requests;
  if (first === undefined) return null;
  const hours = requests.map(readHour);
  const context = Object.entries(first.context).filter(([name]) => !open.includes(name));
  const highest = requests.reduce(
    (most, one) => (readUnits(one) > readUnits(most) ? one : most),
    first,
  ).amount;
  return {
    agent: first.agent,
    tool: first.tool,
    equal: {
      action: open.includes("") ? null : first.action,
      context: context.sort(([a], [b]) => (a < b ? -1 : 1)),
    },
    open: open.filter((name) => name !== "").sort(),
    amount: highest && { currency: highest.currency, max: highest.value },
    hours: { from: Math.min(...hours), to: Math.max(...hours) },
  };
}

function groupBy<T>(all: readonly T[], keyOf: (one: T) => string): T[][] {
  const groups = new Map<string, T[]>();
  for (const one of all) {
    const key = keyOf(one);
    const known = groups.get(key);
    if (known) known.push(one);
    else groups.set(key, [one]);
  }
  return [...groups.values()];
}

const describeKind = ({ agent, tool, amount, context }: PastRequest) =>
  JSON.stringify([agent, tool, amount?.currency ?? null, Object.keys(context).sort()]);

/** The action goes by the empty name, which no detail has. */
const readValue = ({ action, context }: PastRequest, name: string) => (name === "" ? action : context[name]);

/** Names with another value each time. */
function findOpen(requests: readonly PastRequest[]): string[] {
  const names = ["", ...Object.keys(requests[0]?.context ?? {})];
  return names.filter(
    (name) => new Set(requests.map((one) => readValue(one, name))).size === requests.length,
  );
}

/** Cedar refuses rules with a pictograph, wherever it stands. */
const isPlain = ({ action, tool, context }: PastRequest) =>
  [action, tool ?? "", ...Object.entries(context).flat()].every(
    (text) =>
      !/\p{Extended_Pictographic}/u.test(text) &&
      text.length <= maxValueLength &&
      text === textAsRead(text) &&
      text === text.normalize("NFC").trim(),
  );

const isCounted = ({ outcome, isHeld, isTest }: PastRequest) => outcome === "approved" && !isHeld && !isTest;
const isUsable = (one: PastRequest) => isCounted(one) && one.isComplete && isPlain(one);

const isEnough = (requests: readonly PastRequest[], { approvals, days }: SuggestOptions) =>
  requests.length >= approvals && new Set(requests.map(readDay)).size >= days;

/** Null if nothing that these suggest keeps out what was refused. */
function narrow(
  equal: readonly PastRequest[],
  refused: readonly PastRequest[],
  open: readonly string[],
  options: SuggestOptions,
): { bounds: SuggestedBounds; covers: PastRequest[] } | null {
  let covers = [...equal];
  for (;;) {
    const bounds = isEnough(covers, options) ? boundsFor(covers, open) : null;
    if (bounds === null) return null;
    const met = refused.filter((one) => isWithin(bounds, one));
    if (met.length === 0) return { bounds, covers };
    const [lowest = 0n] = met.map(readUnits).sort((a, b) => (a < b ? -1 : 1));
    const below = covers.filter((one) => readUnits(one) < lowest);
    if (below.length === covers.length) return null;
    covers = below;
  }
}

/** `requests`: all that were decided in the window, in any order. */
export function suggestRules(
  requests: readonly PastRequest[],
  options: SuggestOptions = suggestDefaults,
): Suggestion[] {
  const real = requests.filter(({ isTest }) => !isTest);
  const refusedBy = new Map(
    groupBy(
      real.filter((one) => !isCounted(one)),
      ({ agent }) => agent,
    ).map((all) => [String(all[0]?.agent), all]),
  );
  const approved = real.filter((one) => isUsable(one) && (options.withMoney || one.amount === null));
  const found: Suggestion[] = [];
  for (const kind of groupBy(approved, describeKind)) {
    if (kind.length < options.approvals) continue;
    const open = findOpen(kind);
    const names = Object.keys(kind[0]?.context ?? {}).sort();
    const fixed = ["", ...names].filter((name) => !open.includes(name));
    const sets = groupBy(kind, (one) => JSON.stringify(fixed.map((name) => readValue(one, name))));
    for (const equal of sets) {
      const suggested = narrow(equal, refusedBy.get(String(equal[0]?.agent)) ?? [], open, options);
      if (suggested === null) continue;
      const { bounds, covers } = suggested;
      const policyId = suggestionId(bounds);
      const text = writeSuggestion(policyId, bounds);
      found.push({ policyId, bounds, text, covers: covers.map(({ hash }) => hash).sort() });
    }
  }
  return found
    .sort((a, b) => b.covers.length - a.covers.length || (a.policyId < b.policyId ? -1 : 1))
    .slice(0, maxSuggestions);
}

/* The derivation of a rule: what it rests on. The log has its hash; it has texts of requests, so only its owner shows it. */

export interface Derivation {
  version: 1;
  policy_id: string;
  bounds: SuggestedBounds;
  /** RFC 3339 in UTC: requests that were made from this time on, and decided before that one. */
  from: string;
  to: string;
  approvals: number;
  days: number;
  /** Hashes of the approved requests, sorted. */
  requests: string[];
  /** base64 of 16 random bytes: a hash in the log gives nothing away. */
  salt: string;
}

const derivationKeys = [
  "approvals",
  "bounds",
  "days",
  "from",
  "policy_id",
  "requests",
  "salt",
  "to",
  "version",
];

/** Null for anything that isn't one, as it is written here. */
export function parseDerivation(json: unknown): Derivation | null {
  if (!isJsonObject(json) || Object.keys(json).sort().join() !== derivationKeys.join()) return null;
  const { version, bounds, requests, approvals, days, ...texts } = json;
  const isTyped =
    version === 1 &&
    isJsonObject(bounds) &&
    isBounds(bounds) &&
    Array.isArray(requests) &&
    [...requests, ...Object.values(texts)].every((text) => typeof text === "string") &&
    [approvals, days].every(Number.isSafeInteger);
  return isTyped ? (json as unknown as Derivation) : null;
}

function isBounds({ agent, tool, equal, open, amount, hours }: JsonObject): boolean {
  const isText = (value: unknown) => typeof value === "string";
  return (
    isText(agent) &&
    (tool === null || isText(tool)) &&
    isJsonObject(equal) &&
    (equal["action"] === null || isText(equal["action"])) &&
    Array.isArray(equal["context"]) &&
    equal["context"].every((pair) => Array.isArray(pair) && pair.length === 2 && pair.every(isText)) &&
    Array.isArray(open) &&
    open.every(isText) &&
    (amount === null ||
      (isJsonObject(amount) &&
        isText(amount["currency"]) &&
        amountValuePattern.test(String(amount["max"])))) &&
    isJsonObject(hours) &&
    [hours["from"], hours["to"]].every(Number.isSafeInteger)
  );
}

export const derivationHash = (derivation: Derivation): string =>
  canonicalHash(derivation as unknown as JsonObject);

/* The same bounds as a standing approval, which is never more than people approved in as many days. */

const standingDays = 30;
const moveDays = (time: string, days: number) => new Date(Date.parse(time) + days * dayMs).toISOString();

/** Uses and units that were approved in the last days of the window. */
function countRecent(to: string, approved: readonly PastRequest[]) {
  const recent = approved.filter((one) => one.created_at >= moveDays(to, -standingDays));
  return { uses: recent.length, units: recent.reduce((sum, one) => sum + readUnits(one), 0n) };
}

type Recent = ReturnType<typeof countRecent>;

/** Null if no standing approval can say these bounds, or nothing was approved lately. */
function buildStanding(
  { bounds: { tool, equal, amount }, to }: Pick<Derivation, "bounds" | "to">,
  { uses, units }: Recent,
): GrantTerms | null {
  const budget = amountValue(units);
  if (tool === null || uses === 0 || equal.action?.endsWith("*") || !amountValuePattern.test(budget))
    return null;
  return {
    tools: [tool],
    ...(equal.action !== null && { actions: [equal.action] }),
    max_calls: Math.min(uses, 10_000),
    ...(amount && {
      max_amount: units < amountUnits(amount.max) ? budget : amount.max,
      max_budget: budget,
      currency: amount.currency,
    }),
    expires_at: moveDays(to, standingDays),
    ...(equal.context.length > 0 && { context: Object.fromEntries(equal.context) }),
  };
}

export const suggestStanding = (bounds: SuggestedBounds, to: string, covers: readonly PastRequest[]) =>
  buildStanding({ bounds, to }, countRecent(to, covers));

/** Terms in the form in which they are requested: bound to what they rest on. */
export function deriveStanding(terms: GrantTerms, derivation: Derivation): GrantTerms {
  const { equal, open, hours } = derivation.bounds;
  const details = [...equal.context.map(([name]) => name), ...open].sort();
  return { ...terms, derived: { derivation: derivationHash(derivation), details, hours } };
}

/** A request for a standing approval. */
export type StandingRequest = Pick<ApprovalRequest, "agent_slug" | "grant">;

/** `named`: null if not all of them are known; then the numbers are believed. */
function isStanding(
  derivation: Derivation,
  { agent_slug, grant }: StandingRequest,
  named: readonly PastRequest[] | null,
): boolean {
  const { bounds, to } = derivation;
  if (grant === null || agent_slug !== bounds.agent || !isTime(to)) return false;
  const stated = { uses: grant.max_calls, units: amountUnits(grant.max_budget ?? "0") };
  const terms = buildStanding(derivation, named === null ? stated : countRecent(to, named));
  const made = terms && deriveStanding(terms, derivation);
  return made !== null && canonicalHash({ ...made }) === canonicalHash({ ...grant });
}

export type DerivationFault =
  | "not_in_rules"
  | "not_in_terms"
  | "wider_than_approved"
  | "too_few"
  | "refusal_covered"
  | "not_approved";

/**
 * Checks that the rule or standing approval follows from the requests: `fault` is the first reason why not, `missing` counts
 * those that it names and that are not here. `made`: text of rules, or the request. `past`: decided requests of the agent, as
 * many as there are. `until`: later than the derivation's end to see what was refused since.
 */
export function checkDerivation(
  derivation: Derivation,
  made: string | StandingRequest,
  past: readonly PastRequest[],
  until: string = derivation.to,
): { fault: DerivationFault | null; missing: number } {
  const { policy_id: policyId, bounds, from, approvals, days, requests } = derivation;
  const known = new Map(past.map((one) => [one.hash, one]));
  const named = requests.flatMap((hash) => known.get(hash) ?? []);
  const missing = requests.length - named.length;
  const failed = (fault: DerivationFault) => ({ fault, missing });
  const isOwn = policyId === suggestionId(bounds);
  if (typeof made === "string" && !(isOwn && made.includes(writeSuggestion(policyId, bounds))))
    return failed("not_in_rules");
  const whole = missing > 0 ? null : named;
  if (typeof made !== "string" && !(isOwn && isStanding(derivation, made, whole)))
    return failed("not_in_terms");
  const least = Math.max(approvals, suggestDefaults.approvals);
  if (new Set(requests).size !== requests.length || requests.length < least) return failed("too_few");
  if (!named.every((one) => isCounted(one) && isWithin(bounds, one))) return failed("not_approved");
  const inWindow = past.filter((one) => !one.isTest && one.created_at >= from && one.decided_at < until);
  if (inWindow.some((one) => !isCounted(one) && isWithin(bounds, one))) return failed("refusal_covered");
  if (missing > 0) return { fault: null, missing };
  if (new Set(named.map(readDay)).size < Math.max(days, suggestDefaults.days)) return failed("too_few");
  const kinds = new Set(named.map(describeKind));
  // Compares all requests of the kind: among chosen ones a value that came again looks like another each time.
  const alike = new Set(
    [...named, ...inWindow.filter(isUsable)].filter((one) => kinds.has(describeKind(one))),
  );
  const isOpen = findOpen([...alike]);
  const open = bounds.equal.action === null ? ["", ...bounds.open] : bounds.open;
  const isSeen =
    kinds.size === 1 &&
    open.every((name) => isOpen.includes(name)) &&
    suggestionId(boundsFor(named, open) ?? bounds) === policyId;
  return isSeen ? { fault: null, missing } : failed("wider_than_approved");
}
