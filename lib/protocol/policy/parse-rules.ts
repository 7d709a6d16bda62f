/**
 * Parses the text of rules to policies with ids of their own, or to what is wrong with it and where. Strict: a warning of
 * Cedar's (a policy that can never match, mixed scripts) refuses a text like an error does, because a rule that does nothing
 * looks like protection.
 */
import { currencyPattern, findCurrencyMistake } from "#lib/protocol/approval/amount";
import { utf8Encode } from "#lib/protocol/encoding/bytes";
import { isJsonObject, type JsonObject } from "#lib/protocol/encoding/canonical-json";
import { textAsRead } from "#lib/protocol/text/display-text";
import {
  type Cedar,
  type CedarError,
  type CedarPolicy,
  positionAt,
  positionAtOctet,
  type TextPosition,
} from "./cedar";
import { findAnnotationMistakes, type ParsedPolicy, type PolicyFindings } from "./evaluate-rules";
import { MAX_RULES_BYTES, rulesetHash, rulesSchema } from "./rule-context";

/*
 * Finds what looks like protection in a policy and is none: a currency that doesn't exist, a text that nothing equals, an
 * escaped star, which engines read differently, and a `forbid` that stops nobody who leaves something out. Rules that are
 * stored already keep their meaning; only a text that is to be saved is refused.
 */

/** Lists every object in an expression of Cedar's JSON, with whether a negation stands around it. */
function listNodes(value: unknown, isNegated: boolean): { node: JsonObject; isNegated: boolean }[] {
  if (Array.isArray(value)) return value.flatMap((one) => listNodes(one, isNegated));
  if (!isJsonObject(value)) return [];
  const isFlipped = "!" in value ? !isNegated : isNegated;
  const inner = Object.values(value).flatMap((one) => listNodes(one, isFlipped));
  return [{ node: value, isNegated }, ...inner];
}

/** `context.amount.currency` as `["amount", "currency"]`; null for what is no path from the context. */
function readPath(value: unknown): string[] | null {
  if (!isJsonObject(value)) return null;
  if (value["Var"] === "context") return [];
  const access = value["."];
  if (!isJsonObject(access)) return null;
  const before = readPath(access["left"]);
  return before && [...before, String(access["attr"])];
}

const isCurrency = (value: unknown) => readPath(value)?.join(".") === "amount.currency";

function readTexts(value: unknown): string[] {
  if (!isJsonObject(value)) return [];
  if (typeof value["Value"] === "string") return [value["Value"]];
  return Array.isArray(value["Set"]) ? value["Set"].flatMap(readTexts) : [];
}

const comparing = ["==", "!=", "contains", "containsAny", "containsAll"];

function findCurrencies(nodes: readonly JsonObject[]): string[] {
  return nodes.flatMap((node) =>
    comparing.flatMap((operator) => {
      const { left, right } = isJsonObject(node[operator]) ? node[operator] : {};
      if (isCurrency(left)) return readTexts(right);
      return isCurrency(right) ? readTexts(left) : [];
    }),
  );
}

const findDecimals = (nodes: readonly JsonObject[]) =>
  nodes.flatMap((node) => (Array.isArray(node["decimal"]) ? node["decimal"].flatMap(readTexts) : []));

function findMoneyMistakes(nodes: readonly JsonObject[]): string[] {
  const currencies = [...new Set(findCurrencies(nodes))];
  const unknown = currencies.flatMap((code) => {
    if (!currencyPattern.test(code))
      return [`"${code}" is no currency: use a code of ISO 4217, such as "EUR"`];
    return findCurrencyMistake(code, "0") ?? [];
  });
  if (unknown.length > 0 || currencies.length === 0) return unknown;
  return findDecimals(nodes).flatMap((decimal) => {
    const value = decimal.replace(/^-/, "").replace(/\.?0+$/, "");
    const mistakes = currencies.map((code) => findCurrencyMistake(code, value));
    return mistakes.every((one) => one !== null) ? (mistakes[0] ?? []) : [];
  });
}

/** Parts of each pattern of a `like`: a literal text, or null for a star. */
const listPatterns = (nodes: readonly JsonObject[]) =>
  nodes.flatMap(({ like }) => {
    const parts = isJsonObject(like) ? like["pattern"] : null;
    if (!Array.isArray(parts)) return [];
    return [parts.map((part) => (isJsonObject(part) ? String(part["Literal"]) : null))];
  });

const readEntityId = ({ type, id }: JsonObject) =>
  typeof type === "string" && typeof id === "string" ? id : null;

/** Texts, patterns and names of entities that nothing equals as people read it (evaluateStrictly). */
function findTextMistakes(nodes: readonly JsonObject[]): string[] {
  const patterns = listPatterns(nodes).map((parts) => parts.map((part) => part ?? "*").join(""));
  return [...nodes.flatMap((node) => [node["Value"], readEntityId(node)]), ...patterns]
    .filter((text) => typeof text === "string")
    .filter((text) => text !== textAsRead(text))
    .map(
      (text) =>
        `${JSON.stringify(text)} is compared as people read it: write it in NFC, without invisible characters, with single spaces and none around`,
    );
}

const hasEscapedStar = (nodes: readonly JsonObject[]) =>
  listPatterns(nodes).some((parts) => parts.some((part) => part?.includes("*")));

/** `resource == Tool::"wire"` in the scope or a condition; a request may name no tool. */
function findTool({ op, entity, "==": equal }: JsonObject): string[] {
  const { left, right } = isJsonObject(equal) ? equal : {};
  const sides = [left, right].filter(isJsonObject);
  const isAboutTool = sides.some((side) => side["Var"] === "resource");
  const named = isAboutTool ? sides.map(({ Value: value }) => isJsonObject(value) && value["__entity"]) : [];
  return [op === undefined ? null : entity, ...named]
    .filter(isJsonObject)
    .flatMap((one) => readEntityId(one) || [])
    .map((id) => `resource == Tool::${JSON.stringify(id)}`);
}

/** Finds the names whose presence a condition asks for, as its author wrote them. */
function findPresences(nodes: readonly { node: JsonObject; isNegated: boolean }[]): string[] {
  return nodes.flatMap(({ node, isNegated }) => {
    if (isNegated) return [];
    const [tool] = findTool(node);
    if (tool !== undefined) return [tool];
    const { has, hasTag } = node;
    const path = readPath(isJsonObject(has) ? has["left"] : isJsonObject(hasTag) ? hasTag["left"] : null);
    if (path === null) return [];
    const name = ["context", ...path].join(".");
    if (isJsonObject(has)) return [`${name} has ${String(has["attr"])}`];
    return [
      `${name}.hasTag(${readTexts((hasTag as JsonObject)["right"]).map((text) => JSON.stringify(text))})`,
    ];
  });
}

function inspectPolicy({ effect, resource, conditions }: CedarPolicy): PolicyFindings {
  const found = [
    ...listNodes(resource, false),
    ...conditions.flatMap((condition) =>
      isJsonObject(condition) ? listNodes(condition["body"], condition["kind"] === "unless") : [],
    ),
  ];
  const nodes = found.map(({ node }) => node);
  const isForbid = effect === "forbid";
  const [presence] = isForbid ? findPresences(found) : [];
  return {
    refusals: [
      ...findMoneyMistakes(nodes),
      ...findTextMistakes(nodes),
      ...(hasEscapedStar(nodes)
        ? [
            "an escaped star (\\*) in “like” is read differently by other engines: compare with == or leave it out",
          ]
        : []),
    ],
    warnings:
      presence === undefined
        ? []
        : [
            `this forbid applies only if “${presence}”: a request without it passes. Permit what may go instead, and leave everything else to people`,
          ],
    forbidsDetails:
      isForbid && nodes.some((node) => ["details", "typed"].includes(readPath(node)?.[0] ?? "")),
  };
}

export interface RulesProblem extends TextPosition {
  message: string;
  help: string | null;
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

/** Position at which brackets are nested too deeply; strings and comments don't count. */
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

function measureDepth(value: unknown): number {
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
  if (measureDepth(conditions) > maxDepth)
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
