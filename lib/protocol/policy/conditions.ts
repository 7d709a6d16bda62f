/** Takes a policy's conditions apart, in its author's words, to say which ones a request met, and which one it didn't. */
import type { Cedar } from "./cedar";
import { cedarCall, type RuleContext } from "./rule-context";

interface Clause {
  kind: "when" | "unless";
  text: string;
}

interface Conditions {
  effect: string;
  scope: string;
  clauses: Clause[];
}

const opening = "([{";
const closing = ")]}";

const literal = /"(?:\\.|[^"\\])*"/g;

/** A text literal may have slashes in it. */
const stripComments = (text: string) =>
  text.replaceAll(/("(?:\\.|[^"\\])*")|\/\/[^\n]*/g, (_, kept?: string) => kept ?? "");

/** The same places, with nothing in text literals that could be taken for a part of the policy. */
const maskTexts = (text: string) => text.replaceAll(literal, (one) => "_".repeat(one.length));

/** Index of the bracket that closes the one at `start`; -1 if none does. `masked`: output of {@link maskTexts}. */
function findClosing(masked: string, start: number): number {
  let depth = 0;
  for (let at = start; at < masked.length; at += 1) {
    const one = masked[at] ?? "";
    if (opening.includes(one)) depth += 1;
    else if (closing.includes(one)) {
      depth -= 1;
      if (depth === 0) return at;
    }
  }
  return -1;
}

/** Parts between separators outside of brackets; one part where an operator that binds less tightly stands there too. */
function splitParts(body: string, separator: string): string[] {
  const masked = maskTexts(body);
  const loose = /\|\||\bif\b/y;
  const parts: string[] = [];
  let [from, depth] = [0, 0];
  for (let at = 0; at < body.length; at += 1) {
    const one = masked[at] ?? "";
    if (opening.includes(one)) depth += 1;
    else if (closing.includes(one)) depth -= 1;
    if (depth > 0) continue;
    loose.lastIndex = at;
    if (loose.test(masked)) return [body];
    if (!masked.startsWith(separator, at)) continue;
    parts.push(body.slice(from, at));
    from = at + separator.length;
    at = from - 1;
  }
  return [...parts, body.slice(from)];
}

const tidy = (text: string) => text.replaceAll(/\s+/g, " ").trim();

/** Null for a text that has another shape. */
function readConditions(text: string): Conditions | null {
  const policy = stripComments(text);
  const masked = maskTexts(policy);
  const start = /\b(permit|forbid)\s*\(/.exec(masked);
  if (start === null) return null;
  const end = findClosing(masked, start.index + start[0].length - 1);
  if (end < 0) return null;
  const clauses: Clause[] = [];
  let rest = end + 1;
  for (;;) {
    const found = /^\s*(when|unless)\s*\{/.exec(masked.slice(rest));
    if (found === null) break;
    const from = rest + found[0].length;
    const close = findClosing(masked, from - 1);
    if (close < 0) return null;
    const kind = found[1] === "when" ? "when" : "unless";
    const body = policy.slice(from, close);
    const texts = kind === "when" ? splitParts(body, "&&") : [body];
    clauses.push(...texts.map((text) => ({ kind, text: text.trim() }) as const));
    rest = close + 1;
  }
  return { effect: start[1] ?? "", scope: policy.slice(start.index, end + 1), clauses };
}

export interface UnmetCondition {
  policy_id: string;
  condition: string;
}

type Policies = readonly { readonly id: string; readonly text: string }[];

const setName = (name: string) => `${name} conditions`;
const toKey = (count: number, id: string) => `${count} ${id}`;
const writeClause = ({ kind, text }: Clause) => `${kind} { ${text} }`;

export interface PolicyConditions {
  policy_id: string;
  conditions: string[];
}

const maxNamed = 3;
/** Longer ones explain nothing, and would be stored with each request. */
const maxLength = 2000;

/** Lists all conditions of these policies, those of their scope first, in which the action is the question itself. */
export const listConditions = (policies: Policies, ids: readonly string[]): PolicyConditions[] =>
  policies
    .filter(({ id, text }) => ids.includes(id) && text.length <= maxLength)
    .slice(0, maxNamed)
    .map(({ id, text }) => {
      const { scope = "", clauses = [] } = readConditions(text) ?? {};
      const scopes = splitParts(scope.slice(scope.indexOf("(") + 1, -1), ",")
        .filter((part) => /^\s*(?:principal|resource)\s*(?:==|in)/.test(part))
        .map((part) => ({ kind: "when", text: part }) as const);
      return { policy_id: id, conditions: [...scopes, ...clauses].map((one) => tidy(writeClause(one))) };
    });

/** Prepares one policy for each prefix of a policy's conditions: the first that doesn't apply ends with the unmet one. */
export function prepareConditions(cedar: Cedar, name: string, policies: Policies): void {
  const beginnings = policies.flatMap(({ id, text }) => {
    const { effect, scope = "", clauses = [] } = readConditions(text) ?? {};
    // No condition of a `forbid` is missed when it applies.
    if (effect !== "permit" || clauses.length === 0) return [];
    return Array.from({ length: clauses.length + 1 }, (_, count) => [
      toKey(count, id),
      `${[scope, ...clauses.slice(0, count).map(writeClause)].join(" ")};`,
    ]);
  });
  cedar.preparsePolicySet(setName(name), { staticPolicies: Object.fromEntries(beginnings) });
}

/** Looks at the rules about this agent and tool that would have allowed it without asking; `name`: as prepared. */
export function findUnmet(
  cedar: Cedar,
  name: string,
  policies: Policies,
  context: RuleContext,
): UnmetCondition[] {
  const call = { ...cedarCall(context, "act"), preparsedPolicySetId: setName(name) };
  const answer = cedar.statefulIsAuthorized(call);
  if (answer.type === "failure") return [];
  const met = new Set(answer.response.diagnostics.reason);
  const unmet = policies.flatMap(({ id, text }) => {
    if (!met.has(toKey(0, id))) return [];
    const clauses = readConditions(text)?.clauses ?? [];
    const missed = clauses.find((_, at) => !met.has(toKey(at + 1, id)));
    return missed === undefined
      ? []
      : [{ policy_id: id, condition: tidy(writeClause(missed)).slice(0, maxLength) }];
  });
  return unmet.slice(0, maxNamed);
}
