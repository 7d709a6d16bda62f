/**
 * Evaluates rules on one request. `forbid` wins; a request that may go unasked is allowed; one that may go with
 * approval is asked, with the obligations that the rules set; an error denies.
 */
import type { ApprovalRequest } from "#lib/protocol/approval/approval";
import type { Cedar, CedarAnswer, TextPosition } from "./cedar";
import {
  findUnmet,
  listConditions,
  type PolicyConditions,
  prepareConditions,
  type UnmetCondition,
} from "./conditions";
import { cedarCall, isSentAsRead, type RuleContext } from "./rule-context";

/*
 * Obligations that a rule puts on approvers, from its annotations: `@approvals("2") @group("finance") @level("orb")`.
 */

const levels = ["none", "device", "orb"] as const;
export type ObligedLevel = (typeof levels)[number];

export interface Obligations {
  /** Least number of people. */
  approvals: number;
  /** World ID level; null: the usual one. `none`: an enrolled approver's passkey is enough, as each policy says. */
  level: ObligedLevel | null;
  /** Numbers by group's name, sorted by it. */
  groups: { group: string; count: number }[];
}

export const stricter = (a: ObligedLevel, b: ObligedLevel) =>
  levels.indexOf(a) >= levels.indexOf(b) ? a : b;

/** Tells whether a request, or a standing approval, asks for no less than these obligations. */
export function meetsObligations(
  given: Pick<ApprovalRequest, "required_level" | "approvals_required" | "required_approvers">,
  { approvals, level, groups }: Obligations,
  findId: (name: string) => string,
): boolean {
  const isStrictEnough = stricter(given.required_level, level ?? "none") === given.required_level;
  return (
    isStrictEnough &&
    given.approvals_required >= approvals &&
    groups.every(({ group, count }) =>
      given.required_approvers.some((one) => one.group === findId(group) && one.count >= count),
    )
  );
}

const known = ["id", "description", "approvals", "group", "level"];
const demanding = ["approvals", "group", "level"];

export type Annotations = Record<string, string | null>;

/** Returns why annotations can't be followed; empty if they can. A misspelled one would silently ask for less. */
export function findAnnotationMistakes(
  annotations: Annotations,
  policy: { effect: "permit" | "forbid"; isOnlyApproved: boolean },
): string[] {
  const mistakes = Object.keys(annotations)
    .filter((name) => !known.includes(name))
    .map((name) => `@${name} is not an annotation of rules: use ${known.map((one) => `@${one}`).join(", ")}`);
  const { approvals, group, level } = annotations;
  if (approvals !== undefined && !/^(?:[1-9]|10)$/.test(approvals ?? ""))
    mistakes.push("@approvals must be 1-10");
  if (group !== undefined && !/^.{1,64}$/u.test(group ?? ""))
    mistakes.push("@group must have 1-64 characters");
  if (level !== undefined && !levels.some((one) => one === level))
    mistakes.push("@level must be none, device or orb");
  if (level === "none" && group === undefined)
    mistakes.push('@level("none") needs a @group: without World ID only enrolled approvers can approve');
  const demands = demanding.filter((name) => name in annotations);
  if (demands.length > 0 && (policy.effect === "forbid" || !policy.isOnlyApproved)) {
    mistakes.push(
      `${demands.map((name) => `@${name}`).join(" and ")} only have a meaning on a permit with action == Action::"act_approved"`,
    );
  }
  return mistakes;
}

/** The strictest of all that apply. */
function strictestObligations(all: readonly Annotations[]): Obligations {
  const counts = new Map<string, number>();
  let approvals = 1;
  for (const annotations of all) {
    const { group } = annotations;
    const count = Number(annotations["approvals"] ?? 1);
    approvals = Math.max(approvals, count);
    if (typeof group === "string") counts.set(group, Math.max(counts.get(group) ?? 0, count));
  }
  const highest = levels.findLast((one) => all.some(({ level }) => level === one)) ?? null;
  const isLeftOut = all.some(({ level }) => level === undefined);
  return {
    approvals,
    // A policy without a level wants the usual one, which is more than none.
    level: highest === "none" && isLeftOut ? null : highest,
    groups: [...counts].sort(([a], [b]) => (a < b ? -1 : 1)).map(([group, count]) => ({ group, count })),
  };
}

/** Joins the demands of both; a level that isn't named is the usual one, which is more than none. */
function mergeObligations(one: Obligations | null, other: Obligations | null): Obligations | null {
  if (one === null || other === null) return one ?? other;
  const counts = new Map(one.groups.map(({ group, count }) => [group, count]));
  for (const { group, count } of other.groups) counts.set(group, Math.max(counts.get(group) ?? 0, count));
  const rank = ({ level }: Obligations) => ["none", null, "device", "orb"].indexOf(level);
  return {
    approvals: Math.max(one.approvals, other.approvals),
    level: rank(one) >= rank(other) ? one.level : other.level,
    groups: [...counts].sort(([a], [b]) => (a < b ? -1 : 1)).map(([group, count]) => ({ group, count })),
  };
}

/** If no policy permits a request: people are asked with its own fields, or it is denied. */
export type RulesFallback = "ask" | "deny";

export type RuleReason = "permitted" | "forbidden" | "nothing_permits" | "evaluation_error";

export interface PolicyFindings {
  refusals: string[];
  warnings: string[];
  /** True if it is a `forbid` about what the request carries. */
  forbidsDetails: boolean;
}

export interface ParsedPolicy extends PolicyFindings {
  id: string;
  text: string;
  annotations: Annotations;
  position: TextPosition;
}

interface Policies {
  policies: readonly ParsedPolicy[];
}

export interface RuleOutcome {
  decision: "allow" | "ask" | "deny";
  reason: RuleReason;
  policy_ids: string[];
  /** If people are asked. */
  obligations: Obligations | null;
  /** Error message; only with `evaluation_error`. */
  error: string | null;
}

/** Makes the rules ready under a name of the caller's; the next ones of this name take their place. */
export function prepareRules(cedar: Cedar, name: string, { policies }: Policies): void {
  const staticPolicies = Object.fromEntries(policies.map(({ id, text }) => [id, text]));
  const answer = cedar.preparsePolicySet(name, { staticPolicies });
  if (answer.type === "failure") throw new Error(`rules do not parse: ${answer.errors[0]?.message}`);
}

/** Like {@link prepareRules}, with what {@link evaluateStrictly} finds unmet conditions by; the verifier needs none. */
export function prepareStrictly(cedar: Cedar, name: string, rules: Policies): void {
  prepareRules(cedar, name, rules);
  prepareConditions(cedar, name, rules.policies);
}

function readFailure(answer: CedarAnswer): Pick<RuleOutcome, "error" | "policy_ids"> | null {
  if (answer.type === "failure") return { error: answer.errors[0]?.message ?? "no answer", policy_ids: [] };
  const { errors } = answer.response.diagnostics;
  const [first] = errors;
  if (first === undefined) return null;
  return { error: first.error.message, policy_ids: errors.map(({ policyId }) => policyId).sort() };
}

const outcome = (
  decision: RuleOutcome["decision"],
  reason: RuleReason,
  policyIds: readonly string[],
  obligations: Obligations | null = null,
): RuleOutcome => ({ decision, reason, policy_ids: policyIds.toSorted(), obligations, error: null });

/** `name`: as {@link prepareRules} got it with these rules. */
export function evaluateRules(
  cedar: Cedar,
  name: string,
  { policies }: Policies,
  context: RuleContext,
  fallback: RulesFallback,
): RuleOutcome {
  const ask = (action: "act" | "act_approved") =>
    cedar.statefulIsAuthorized({ ...cedarCall(context, action), preparsedPolicySetId: name });
  const approved = ask("act_approved");
  const direct = ask("act");
  const failure = readFailure(approved) ?? readFailure(direct);
  if (failure !== null)
    return { decision: "deny", reason: "evaluation_error", obligations: null, ...failure };
  if (approved.type === "failure" || direct.type === "failure") throw new TypeError("unreachable");
  const { reason: ids } = approved.response.diagnostics;
  if (approved.response.decision === "deny" && ids.length > 0) return outcome("deny", "forbidden", ids);
  if (direct.response.decision === "allow")
    return outcome("allow", "permitted", direct.response.diagnostics.reason);
  if (approved.response.decision === "allow") {
    const deciding = policies.filter(({ id }) => ids.includes(id));
    return outcome("ask", "permitted", ids, strictestObligations(deciding.map((one) => one.annotations)));
  }
  return outcome(fallback, "nothing_permits", []);
}

export interface RulesVerdict extends RuleOutcome {
  /** True if this came out only for the texts as people read them (`texts_as_read`). */
  isAsRead: boolean;
  forbidsDetails: boolean;
  /** Conditions by which rules didn't allow it without asking; empty if they did. */
  unmet: UnmetCondition[];
  /** Conditions of the policies that decided, which were met. */
  deciding: PolicyConditions[];
}

const strictness: RuleOutcome["decision"][] = ["allow", "ask", "deny"];

/**
 * Evaluates the texts as sent, and once more as people read them (NFC, no invisible characters, single spaces): a permit
 * has to match what is signed, and a forbid or a demand also applies to what looks the same. The stricter answer counts.
 * `name`: as {@link prepareStrictly} got it.
 */
export function evaluateStrictly(
  cedar: Cedar,
  name: string,
  rules: Policies,
  context: RuleContext,
  fallback: RulesFallback,
): RulesVerdict {
  const forbidsDetails = rules.policies.some((policy) => policy.forbidsDetails);
  const sent = evaluateRules(cedar, name, rules, context, fallback);
  const unmet = sent.decision === "allow" ? [] : findUnmet(cedar, name, rules.policies, context);
  const explain = ({ reason, policy_ids: ids }: RuleOutcome) => ({
    unmet,
    deciding: reason === "evaluation_error" ? [] : listConditions(rules.policies, ids),
  });
  if (isSentAsRead(context)) return { ...sent, isAsRead: false, forbidsDetails, ...explain(sent) };
  const read = evaluateRules(cedar, name, rules, { ...context, texts_as_read: true }, fallback);
  const isAsRead = strictness.indexOf(read.decision) > strictness.indexOf(sent.decision);
  const obligations = mergeObligations(sent.obligations, read.obligations);
  const stricter = isAsRead ? read : sent;
  return {
    ...stricter,
    ...(stricter.decision === "ask" && { obligations }),
    isAsRead,
    forbidsDetails,
    ...explain(stricter),
  };
}
