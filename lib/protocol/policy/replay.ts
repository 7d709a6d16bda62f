/** Evaluates again what rules said about a request, with the rules, what they were evaluated over, and somebody's Cedar. */

import { hexEncode, sha256, utf8Encode } from "#lib/protocol/encoding/bytes";
import { canonicalJson, type JsonObject } from "#lib/protocol/encoding/canonical-json";
import { buildStatement, parseStatement, RULESET_PREDICATE } from "#lib/protocol/statement/statement";
import type { Cedar } from "./cedar";
import { evaluateRules, prepareRules, type RulesFallback } from "./evaluate-rules";
import { parseRules } from "./parse-rules";
import { isRulesetHash, type RuleContext, readHours, ruleContextHash, rulesetHash } from "./rule-context";

export interface ReplayCheck {
  name: "ruleset" | "context" | "request" | "evaluation" | "object";
  status: "pass" | "fail" | "skip";
  detail: string;
}

/** Answer of GET /v1/authorize/{request_id} to the owner. */
export interface ReplayedDecision {
  agent_slug: string;
  action: string;
  tool: string | null;
  amount: { value: string; currency: string } | null;
  created_at: string;
  decided_by: JsonObject | null;
  human_authorization: JsonObject | null;
  rules: {
    mode: string;
    ruleset_hash: string;
    context_hash: string;
    decision: string;
    reason: string;
    policy_ids: string[];
    context: RuleContext;
  };
}

const check = (name: ReplayCheck["name"], isGood: boolean, good: string, bad: string): ReplayCheck => ({
  name,
  status: isGood ? "pass" : "fail",
  detail: isGood ? good : bad,
});

const isSame = (a: unknown, b: unknown) =>
  canonicalJson({ of: a } as JsonObject) === canonicalJson({ of: b } as JsonObject);

/** The document and the request must agree. */
function findMismatch({ rules: { context }, ...decision }: ReplayedDecision): string | null {
  const amount = context.amount && { value: context.amount.value, currency: context.amount.currency };
  const { hour_utc, weekday_utc } = context;
  const pairs: [string, unknown, unknown][] = [
    ["agent", context.agent.slug, decision.agent_slug],
    ["action", context.action, decision.action],
    ["tool", context.tool, decision.tool],
    ["amount", amount, decision.amount],
    ["time", { hour_utc, weekday_utc }, readHours(new Date(decision.created_at))],
  ];
  return pairs.find(([, a, b]) => !isSame(a, b))?.[0] ?? null;
}

function checkEvaluation(
  cedar: Cedar,
  { rules }: ReplayedDecision,
  text: string,
  fallback: RulesFallback,
): ReplayCheck {
  const parsed = parseRules(cedar, text);
  if (!parsed.ok)
    return check("evaluation", false, "", `the rules don't validate: ${parsed.problems[0]?.message}`);
  prepareRules(cedar, "replay", parsed.rules);
  const found = evaluateRules(cedar, "replay", parsed.rules, rules.context, fallback);
  const words = (one: { decision: string; reason: string; policy_ids: string[] }) =>
    `${one.decision} (${one.reason}${one.policy_ids.length === 0 ? "" : `: ${one.policy_ids.join(", ")}`})`;
  const isEqual =
    found.decision === rules.decision &&
    found.reason === rules.reason &&
    isSame(found.policy_ids, rules.policy_ids);
  return check(
    "evaluation",
    isEqual,
    words(found),
    `${words(found)} came out, and ${words(rules)} is recorded`,
  );
}

/** The signed object says the same of who decided as the record beside it, and a rule the same as what was evaluated. */
function checkObject({ decided_by, human_authorization, rules }: ReplayedDecision): ReplayCheck {
  if (human_authorization !== null && !isSame(human_authorization["decided_by"] ?? null, decided_by))
    return check("object", false, "", "the signed object names another decider than the record beside it");
  const isByRule = human_authorization === null && rules.mode === "enforce" && rules.decision === "deny";
  if (isByRule && !["rule", "freeze"].includes(String(decided_by?.["kind"])))
    return check(
      "object",
      false,
      "",
      "the rules denied this, and the record beside them names another decider",
    );
  if (decided_by?.["kind"] !== "rule")
    return { name: "object", status: "skip", detail: "the rules did not decide this request themselves" };
  const { ruleset_hash, policy_ids, context_hash } = rules;
  if (!isSame(decided_by, { kind: "rule", ruleset_hash, policy_ids, context_hash }))
    return check("object", false, "", "the decision names other rules than the record beside it");
  if (human_authorization === null)
    return {
      name: "object",
      status: "skip",
      detail: "a denial has no signed object: the service alone says who denied it",
    };
  return check("object", true, "the signed object names these rules, policies and context", "");
}

export interface ReplayedRules {
  text: string;
  fallback: RulesFallback;
}

/**
 * Checks everything but the evaluation: that these are the rules, the context and the request, and that the object names them.
 */
export function checkRecorded(decision: ReplayedDecision, { text }: ReplayedRules): ReplayCheck[] {
  const { rules } = decision;
  const hash = rulesetHash(text);
  const mismatch = findMismatch(decision);
  return [
    check(
      "ruleset",
      isRulesetHash(rules.ruleset_hash, text),
      rules.ruleset_hash,
      `these rules have the hash ${hash}, the decision names ${rules.ruleset_hash}`,
    ),
    check(
      "context",
      ruleContextHash(rules.context) === rules.context_hash,
      rules.context_hash,
      "the context is not the one whose hash is recorded",
    ),
    check(
      "request",
      mismatch === null,
      "the context is of this request",
      `the context is of another ${mismatch}`,
    ),
    checkObject(decision),
  ];
}

export function replayDecision(
  cedar: Cedar,
  decision: ReplayedDecision,
  version: ReplayedRules,
): ReplayCheck[] {
  const recorded = checkRecorded(decision, version);
  return recorded.toSpliced(-1, 0, checkEvaluation(cedar, decision, version.text, version.fallback));
}

/*
 * Statement that logs a version of an organization's rules. Everyone can list the service's own statements, so this one
 * names the organization by a hash: whoever knows its id finds every version.
 *
 *     organization = hex SHA-256("countersign rules v1\n" || organization id)
 */

export const rulesModes = ["off", "log_only", "enforce"] as const;
export type RulesMode = (typeof rulesModes)[number];

export interface RulesetVersion {
  organization: string;
  /** Counted from 1. */
  number: number;
  /** Hex SHA-256 of the statement of the version before; null for the first. */
  previous: string | null;
  ruleset_hash: string;
  /** Hash of what a suggested rule of this version rests on (suggest.ts); absent without one. */
  derivation?: string;
  mode: RulesMode;
  fallback: RulesFallback;
  changed_at: string;
  key_id: string;
}

export const rulesOrganization = (organizationId: string): string =>
  hexEncode(sha256(utf8Encode(`countersign rules v1\n${organizationId}`)));

export function buildRulesetStatement({
  ruleset_hash,
  organization,
  ...version
}: RulesetVersion): Uint8Array {
  return buildStatement(RULESET_PREDICATE, "ruleset", ruleset_hash, {
    ...version,
    organization: rulesOrganization(organization),
  });
}

/** Parses a statement that enforces rules: whose, and which; null for any other. */
export function parseEnforcedRules(
  payload: Uint8Array,
): Pick<RulesetVersion, "organization" | "ruleset_hash"> | null {
  const statement = parseStatement(payload, RULESET_PREDICATE);
  if (statement?.predicate["mode"] !== "enforce") return null;
  const { predicate, digest } = statement;
  return { organization: String(predicate["organization"]), ruleset_hash: String(digest) };
}

/** Parses the version of rules, and the hash of what a suggested rule of it rests on; null for any other statement. */
export function parseDerivedRules(payload: Uint8Array): { ruleset_hash: string; derivation: string } | null {
  const { predicate, digest } = parseStatement(payload, RULESET_PREDICATE) ?? {};
  const derivation = predicate?.["derivation"];
  return typeof derivation === "string" ? { ruleset_hash: String(digest), derivation } : null;
}
