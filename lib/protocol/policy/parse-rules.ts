/**
 * From the text of rules to policies with ids of their own, or to what is wrong with it and where. Strict: a warning of
 * Cedar's (a policy that can never match, mixed scripts) refuses a text like an error does, because a rule that does
 * nothing looks like protection.
 */
import { utf8Encode } from "#lib/protocol/encoding/bytes";
import type { Cedar, CedarError, CedarPolicy } from "./cedar";
import { inspectPolicy, type PolicyFindings } from "./inspect-policy";
import { type Annotations, findAnnotationMistakes } from "./obligations";
import { MAX_RULES_BYTES, rulesetHash, rulesSchema } from "./rules-schema";
import { positionAt, positionAtOctet, type TextPosition } from "./text-position";

export interface RulesProblem extends TextPosition {
  message: string;
  help: string | null;
}

export interface ParsedPolicy extends PolicyFindings {
  id: string;
  text: string;
  annotations: Annotations;
  position: TextPosition;
}

export interface ParsedRules {
  text: string;
  hash: string;
  policies: ParsedPolicy[];
}

export type RulesAnswer = { ok: true; rules: ParsedRules } | { ok: false; problems: RulesProblem[] };

/** Beyond these Cedar's parser may leave its stack, and no reader could follow such a rule. */
const maxBrackets = 32;
const maxDepth = 64;
/** The policies that decided are in what is signed, whose shape takes as many. */
const maxPolicies = 500;
const maxProblems = 20;
const idPattern = /^[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}$/;

const refuse = (...problems: RulesProblem[]): RulesAnswer => ({
  ok: false,
  problems: problems.slice(0, maxProblems),
});
const problemAt = (position: TextPosition, message: string, help: string | null = null): RulesProblem => ({
  ...position,
  message,
  help,
});
const start: TextPosition = { line: 1, column: 1 };

/** Where brackets are nested too deeply; strings and comments don't count. */
function findDeepBracket(text: string): number | null {
  let depth = 0;
  // A string that never ends goes to the end of the text: otherwise each quote in it would be looked at as a beginning.
  for (const match of text.matchAll(/"(?:[^"\\]|\\.)*"?|\/\/[^\n]*|[([{]|[)\]}]/gs)) {
    const [token] = match;
    if (/^[([{]$/.test(token)) depth += 1;
    else if (/^[)\]}]$/.test(token)) depth -= 1;
    if (depth > maxBrackets) return match.index;
  }
  return null;
}

function depthOf(value: unknown): number {
  let depth = 0;
  for (let level = [value]; level.length > 0; depth += 1) {
    level = level.flatMap((one) => (typeof one === "object" && one !== null ? Object.values(one) : []));
  }
  return depth;
}

/** A part of a message names policies by their place in the text: `for policy \`policy3\`, …`. */
const withoutPolicy = (message: string) => message.replace(/^for policy `policy\d+`, /, "");

function describeError(text: string, error: CedarError): RulesProblem[] {
  const [location] = error.sourceLocations ?? [];
  const position = location ? positionAtOctet(text, location.start) : start;
  const help = error.help ?? location?.label ?? null;
  const message = withoutPolicy(error.message).replace(/^failed to parse policies from string: /, "");
  return [
    problemAt(position, message, help),
    ...(error.related ?? []).flatMap((one) => describeError(text, one)),
  ];
}

const byPosition = (a: RulesProblem, b: RulesProblem) => a.line - b.line || a.column - b.column;

function describeErrors(text: string, errors: readonly CedarError[]): RulesAnswer {
  return refuse(...errors.flatMap((error) => describeError(text, error)).sort(byPosition));
}

/** Cedar sorts them by an id from their place, as text: policy10 comes before policy2. */
function inOrderOfText(parts: readonly string[]): string[] {
  const places = parts.map((_, i) => i).sort((a, b) => (`policy${a}` < `policy${b}` ? -1 : 1));
  const ordered = Array<string>(parts.length);
  for (const [i, part] of parts.entries()) ordered[places[i] ?? i] = part;
  return ordered;
}

interface FoundPolicy extends ParsedPolicy {
  mistakes: string[];
}

function readPolicy(cedar: Cedar, part: string, position: TextPosition, ids: Set<string>): FoundPolicy {
  const answer = cedar.policyToJson(part);
  if (answer.type === "failure") throw new Error("Cedar does not read what it has written");
  const policy = answer.json as CedarPolicy;
  const { effect, action, conditions, annotations = {} } = policy;
  const id = annotations["id"] ?? "";
  const isOnlyApproved = action.op === "==" && action.entity?.id === "act_approved";
  const mistakes = findAnnotationMistakes(annotations, { effect, isOnlyApproved });
  if (!idPattern.test(id))
    mistakes.push('each policy needs a name: @id("small-amounts"), 1-64 of A-Z a-z 0-9 . _ : -');
  else if (ids.has(id)) mistakes.push(`the name ${id} is used twice`);
  if (depthOf(conditions) > maxDepth)
    mistakes.push(`conditions are nested more than ${maxDepth} levels deep`);
  ids.add(id);
  return { id, text: part, annotations, position, mistakes, ...inspectPolicy(policy) };
}

function readPolicies(cedar: Cedar, text: string, parts: readonly string[]): FoundPolicy[] {
  const ids = new Set<string>();
  let from = 0;
  return inOrderOfText(parts).map((part) => {
    const index = Math.max(text.indexOf(part, from), 0);
    from = index + part.length;
    return readPolicy(cedar, part, positionAt(text, index), ids);
  });
}

function validate(cedar: Cedar, text: string): RulesAnswer | null {
  const policies = { staticPolicies: text };
  const found = cedar.validate({ schema: rulesSchema, policies, validationSettings: { mode: "strict" } });
  if (found.type === "failure") return describeErrors(text, found.errors);
  const { validationErrors, validationWarnings, otherWarnings } = found;
  // An error often makes a policy impossible too: report each mistake once.
  const wrong = new Set(validationErrors.map(({ policyId }) => policyId));
  const warnings = validationWarnings.filter(({ policyId }) => !wrong.has(policyId));
  const errors = [...[...validationErrors, ...warnings].map(({ error }) => error), ...otherWarnings];
  return errors.length === 0 ? null : describeErrors(text, errors);
}

function parse(cedar: Cedar, text: string): RulesAnswer {
  const parts = cedar.policySetTextToParts(text);
  if (parts.type === "failure") return describeErrors(text, parts.errors);
  const [template] = parts.policy_templates;
  if (template !== undefined) {
    const position = positionAt(text, Math.max(text.indexOf(template), 0));
    return refuse(problemAt(position, "templates (?principal, ?resource) can't be used: nothing links them"));
  }
  if (parts.policies.length > maxPolicies)
    return refuse(problemAt(start, `more than ${maxPolicies} policies`));
  const policies = readPolicies(cedar, text, parts.policies);
  const mistakes = policies.flatMap(({ position, mistakes: found }) =>
    found.map((message) => problemAt(position, message)),
  );
  if (mistakes.length > 0) return refuse(...mistakes);
  return (
    validate(cedar, text) ?? {
      ok: true,
      rules: {
        text,
        hash: rulesetHash(text),
        policies: policies.map(({ mistakes: _, ...policy }) => policy),
      },
    }
  );
}

/** Throws what Cedar throws if a text drives it out of its stack: such an instance must not be used any more. */
export function parseRules(cedar: Cedar, text: string): RulesAnswer {
  const octets = utf8Encode(text).length;
  if (octets > MAX_RULES_BYTES)
    return refuse(problemAt(start, `the rules have ${octets} bytes, at most ${MAX_RULES_BYTES} are allowed`));
  const deep = findDeepBracket(text);
  if (deep !== null)
    return refuse(
      problemAt(positionAt(text, deep), `brackets are nested more than ${maxBrackets} levels deep`),
    );
  return parse(cedar, text);
}

export const tooInvolved: RulesProblem = problemAt(start, "a policy is too involved for Cedar: split it");
