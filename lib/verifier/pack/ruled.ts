/**
 * Verifies rules in an evidence pack: which version was evaluated over which context, and, if the reader has Cedar,
 * evaluates again.
 */
import { type ApprovalRequest, requestHash } from "#lib/protocol/approval/approval";
import { parseHumanAuthorization } from "#lib/protocol/approval/human-authorization-shape";
import { isJsonObject, type JsonObject, type JsonValue } from "#lib/protocol/encoding/canonical-json";
import type { PackEntry } from "#lib/protocol/pack/pack-entries";
import { filesIn, numberedFile } from "#lib/protocol/pack/pack-manifest";
import { type PackCheck, packFault, packGap, packPass } from "#lib/protocol/pack/pack-reasons";
import type { Cedar } from "#lib/protocol/policy/cedar";
import {
  checkRecorded,
  parseDerivedRules,
  type ReplayedDecision,
  type ReplayedRules,
  replayDecision,
} from "#lib/protocol/policy/replay";
import { type RuleContext, rulesetHash } from "#lib/protocol/policy/rule-context";
import {
  checkDerivation,
  type DerivationFault,
  derivationHash,
  type PastRequest,
  parseDerivation,
  type StandingRequest,
} from "#lib/protocol/policy/suggest";
import { formatCount } from "#lib/protocol/text/display-text";
import { isTime } from "#lib/protocol/time/time-words";
import { findMaker, type ListedStatement, readStatementList } from "#lib/verifier/checks/check-sum";
import { requireText, UnreadableError } from "#lib/verifier/checks/evidence";
import type { VerifierTrust } from "#lib/verifier/checks/trust";
import type { OpenPack } from "./archive";

const objectOrNull = (value: unknown) => (isJsonObject(value) ? value : null);

export function readReplayed(json: JsonObject): ReplayedDecision {
  const { rules, amount } = json;
  if (!isJsonObject(rules))
    throw new UnreadableError("the decision has no rules: save it with the owner's key, if rules were on");
  const { context, policy_ids } = rules;
  if (!isJsonObject(context) || !isJsonObject(context["agent"]) || !Array.isArray(policy_ids))
    throw new UnreadableError("rules: what they were evaluated over is missing or erased");
  for (const name of ["ruleset_hash", "context_hash", "decision", "reason"]) requireText(rules, name);
  const texts = {
    agent_slug: requireText(json, "agent_slug"),
    action: requireText(json, "action"),
    created_at: requireText(json, "created_at"),
  };
  if (!isTime(texts.created_at)) throw new UnreadableError("created_at: expected a time");
  return {
    ...texts,
    tool: typeof json["tool"] === "string" ? json["tool"] : null,
    amount: objectOrNull(amount) as ReplayedDecision["amount"],
    decided_by: objectOrNull(json["decided_by"]),
    human_authorization: objectOrNull(json["human_authorization"]),
    rules: rules as unknown as ReplayedDecision["rules"],
  };
}

export function readRulesVersion(json: JsonObject): ReplayedRules {
  const version = objectOrNull(json["rules"]) ?? json;
  const fallback = requireText(version, "fallback");
  if (fallback !== "ask" && fallback !== "deny") throw new UnreadableError("fallback: expected ask or deny");
  return { text: requireText(version, "text"), fallback };
}

interface Ruled {
  file: string;
  rules: string;
  decision: ReplayedDecision | null;
  problem: string;
}

function readOne(file: string, { request, human_authorization, ...json }: JsonObject): Ruled {
  const { rules, decided_by } = json as { [name: string]: JsonObject };
  const found = { file, rules: numberedFile("rules", Number(rules?.["version"])) };
  try {
    const whole = { ...(request as JsonObject), decided_by, human_authorization, rules };
    return { ...found, decision: readReplayed(whole as JsonObject), problem: "" };
  } catch (error) {
    if (!(error instanceof UnreadableError)) throw error;
    return { ...found, decision: null, problem: error.message };
  }
}

/** The document that rules were evaluated over, or that the file doesn't show it; null if there was none. */
export type RuledFacts = Ruled | "unnamed" | "without_content" | null;

export function readRuled({ file, state, isDecision }: PackEntry, json: JsonObject): RuledFacts {
  if (json["rules"] != null) return readOne(file, json);
  if (!isDecision) return null;
  if (parseHumanAuthorization(json["human_authorization"])?.decided_by.kind === "rule") return "unnamed";
  return state === "erased" || state === "withheld" ? "without_content" : null;
}

/** A version that no decision names is there for the derivation of a rule that it added. */
async function findUnderived(pack: OpenPack, names: readonly string[]): Promise<string | undefined> {
  for (const name of names) if ((await pack.readJson(name))["derivation"] === undefined) return name;
  return undefined;
}

export function createRuledList() {
  const ruled: Ruled[] = [];
  /** Approved by rules that the file doesn't have. */
  let unnamed = 0;
  let withoutContent = 0;

  async function judgeOne(
    pack: OpenPack,
    cedar: Cedar | null,
    { file, rules, decision, problem }: Ruled,
  ): Promise<string | null> {
    if (decision === null) return problem;
    const version = readRulesVersion(await pack.readJson(rules));
    const checks =
      cedar === null ? checkRecorded(decision, version) : replayDecision(cedar, decision, version);
    const failed = checks.find(({ status }) => status === "fail");
    return failed === undefined ? null : `${file}: ${failed.name}: ${failed.detail}`;
  }

  return {
    add: (facts: RuledFacts): void => {
      if (facts === "unnamed") unnamed += 1;
      else if (facts === "without_content") withoutContent += 1;
      else if (facts !== null) ruled.push(facts);
    },
    /** `cedar`: of the reader; null: hashes alone are compared. */
    judge: async (pack: OpenPack, cedar: Cedar | null): Promise<PackCheck> => {
      const named = new Set(ruled.map(({ rules }) => rules));
      const others = filesIn("rules", pack.names).filter((name) => !named.has(name));
      const foreign = await findUnderived(pack, others);
      if (foreign !== undefined) return packFault("rules", "file_unknown", { file: foreign });
      const held = ruled.filter(({ rules }) => pack.has(rules));
      for (const one of held) {
        const problem = await judgeOne(pack, cedar, one);
        if (problem !== null) return packFault("rules", "rules_mismatch", { problem });
      }
      const missing = unnamed + ruled.length - held.length;
      if (missing > 0)
        return packGap("rules", "rules_missing", { decisions: formatCount(missing, "decision") });
      if (withoutContent > 0)
        return packGap("rules", "rules_content_absent", {
          decisions: formatCount(withoutContent, "decision"),
        });
      if (ruled.length === 0) return packPass("rules", "nothing that rules were asked about");
      return packPass(
        "rules",
        cedar === null
          ? `the rules and contexts are those of ${formatCount(ruled.length, "decision")}; --cedar evaluates them again`
          : `${formatCount(ruled.length, "decision")} evaluated again, and the same came out`,
      );
    },
  };
}

/*
 * Derivations: a rule or standing approval that was suggested follows from the approvals that its derivation names, and
 * lets no refusal through, as far as the pack has these decisions.
 */

/** A decision by people about an agent's request as it was asked; null for any other entry, and without content. */
export function readPast(
  { isDecision, decision, isTest, time }: PackEntry,
  json: JsonObject,
): PastRequest | null {
  const { request, rules, human_authorization: object, decided_by: by } = json;
  if (!isDecision || (decision !== "approved" && decision !== "denied") || !isJsonObject(request))
    return null;
  const context = isJsonObject(rules) ? (rules["context"] as unknown as RuleContext) : null;
  const {
    agent_slug: agent,
    action,
    tool,
    amount,
    created_at,
    details,
    grant,
    amends,
  } = request as unknown as ApprovalRequest;
  const decider = isJsonObject(object) ? object["decided_by"] : by;
  const isPeople =
    decision === "denied" ||
    (amends === undefined && (!isJsonObject(decider) || decider["kind"] === "people"));
  if (!isJsonObject(context?.context) || !isPeople || grant != null) return null;
  return {
    hash: requestHash(request as unknown as ApprovalRequest),
    agent,
    action,
    tool: tool ?? null,
    amount: amount ?? null,
    context: context.context as Record<string, string>,
    isComplete: details?.complete ?? request["inputs_hash"] === undefined,
    created_at,
    decided_at: time ?? created_at,
    outcome: decision === "approved" ? "approved" : "refused",
    isHeld: isJsonObject(rules) && rules["reason"] !== "nothing_permits",
    isTest,
  };
}

const why: Record<DerivationFault, string> = {
  not_in_rules: "it isn't in these rules as it was derived",
  not_in_terms: "its terms are others than those that were derived",
  wider_than_approved: "it is wider than what was approved",
  too_few: "too few approvals, or on too few days",
  refusal_covered: "it would have let through what was refused or held back",
  not_approved: "a request that it names wasn't approved by people, or is outside of it",
};

/** A rule or standing approval that was suggested. */
interface Derived {
  file: string;
  what: (policyId: string) => string;
  /** Null if the pack doesn't have it. */
  derivation: JsonValue;
  /** Text of the rules, or the request. */
  made: string | StandingRequest;
  /** `hash`: of the derivation. */
  isLogged(hash: string): boolean;
}

/** An approved standing approval that was suggested; null for any other entry. */
export type StandingFacts = { file: string; request: ApprovalRequest; derivation: JsonValue } | null;

export function readStanding(
  { file, isDecision }: Pick<PackEntry, "file" | "isDecision">,
  json: JsonObject,
): StandingFacts {
  const request = isDecision ? parseHumanAuthorization(json["human_authorization"])?.request : undefined;
  if (request?.grant?.derived === undefined) return null;
  return { file, request, derivation: json["derivation"] ?? null };
}

/** Hash of the approval, which the log has. */
const describeStanding = ({ file, request, derivation }: NonNullable<StandingFacts>): Derived => ({
  ...{ file, derivation, made: request, what: () => `standing approval ${request.request_id}` },
  isLogged: (hash) => request.grant?.derived?.derivation === hash,
});

/** `logged`: hashes of rules and of a derivation, with a space between. */
export function describeRules(file: string, json: JsonObject, logged: ReadonlySet<string>): Derived {
  const { text } = readRulesVersion(json);
  return {
    ...{ file, derivation: json["derivation"] ?? null, made: text, what: (policy) => `rule ${policy}` },
    isLogged: (hash) => logged.has(`${rulesetHash(text)} ${hash}`),
  };
}

export function judgeDerived(derived: readonly Derived[], past: readonly PastRequest[]): PackCheck {
  let gap: PackCheck | null = null;
  for (const { file, made, isLogged, ...one } of derived) {
    if (one.derivation === null && typeof made !== "string") {
      gap ??= packGap("derivations", "derivation_absent", { file });
      continue;
    }
    const derivation = parseDerivation(one.derivation);
    if (derivation === null || !isLogged(derivationHash(derivation)))
      return packFault("derivations", "derivation_not_logged", { file });
    const what = one.what(derivation.policy_id);
    const { fault, missing } = checkDerivation(derivation, made, past);
    if (fault !== null)
      return packFault("derivations", "derivation_refused", { file, what, why: why[fault] });
    const requests = formatCount(missing, "request");
    if (missing > 0) gap ??= packGap("derivations", "derivation_content_absent", { what, requests });
  }
  const count = formatCount(derived.length, "suggestion");
  return gap ?? packPass("derivations", `${count}, each follows from the approvals that it names`);
}

/** Null for a pack without derivations. */
export async function judgeDerivations(
  pack: OpenPack,
  past: readonly PastRequest[],
  standing: readonly NonNullable<StandingFacts>[],
  trust: VerifierTrust,
): Promise<PackCheck | null> {
  const rules: [file: string, json: JsonObject][] = [];
  for (const file of filesIn("rules", pack.names)) {
    const json = await pack.readJson(file);
    if (json["derivation"] !== undefined) rules.push([file, json]);
  }
  if (rules.length + standing.length === 0) return null;
  const logged = rules.length === 0 ? new Set<string>() : await listLogged(pack, trust);
  const derived = rules.map(([file, json]) => describeRules(file, json, logged));
  return judgeDerived([...derived, ...standing.map(describeStanding)], past);
}

/** Hashes of rules and derivation, of the service's own statements. */
async function listLogged(pack: OpenPack, trust: VerifierTrust): Promise<Set<string>> {
  const all = await readStatementList({
    readStatements: (from) => pack.readJson(numberedFile("statements", from)),
  });
  const statements = Array.isArray(all) ? (all as readonly ListedStatement[]) : [];
  return new Set(
    statements.flatMap((statement) => {
      const rules = parseDerivedRules(statement.payload);
      const isOurs = rules !== null && findMaker(statement, trust) !== undefined;
      return isOurs ? `${rules.ruleset_hash} ${rules.derivation}` : [];
    }),
  );
}
