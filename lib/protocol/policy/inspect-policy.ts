/**
 * Finds what looks like protection in a policy and is none: a currency that doesn't exist, a text that nothing equals, an
 * escaped star, which engines read differently, and a `forbid` that stops nobody who leaves something out. Rules that are
 * stored already keep their meaning; only a text that is to be saved is refused.
 */
import { currencyPattern, findCurrencyMistake } from "#lib/protocol/approval/amount";
import { isJsonObject, type JsonObject } from "#lib/protocol/encoding/canonical-json";
import type { CedarPolicy } from "./cedar";

export interface PolicyFindings {
  /** Why the policy can't be saved. */
  refusals: string[];
  /** Warnings for its author. */
  warnings: string[];
  /** True if it is a `forbid` about what the request carries. */
  forbidsDetails: boolean;
}

/** Every object in an expression of Cedar's JSON, each with whether a negation stands around it. */
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

/** The texts that a side of a comparison consists of. */
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

function findTextMistakes(nodes: readonly JsonObject[]): string[] {
  return nodes
    .map(({ Value: text }) => text)
    .filter((text) => typeof text === "string")
    .filter((text) => text !== text.normalize("NFC").trim())
    .map((text) => `${JSON.stringify(text)} is compared in NFC and without spaces around it: write it so`);
}

function hasEscapedStar(nodes: readonly JsonObject[]): boolean {
  const patterns = nodes.flatMap(({ like }) => (isJsonObject(like) ? [like["pattern"]] : []));
  return patterns.some(
    (parts) =>
      Array.isArray(parts) &&
      parts.some((part) => isJsonObject(part) && String(part["Literal"]).includes("*")),
  );
}

/** Finds the names whose presence a condition asks for, as its author wrote them. */
function findPresences(nodes: readonly { node: JsonObject; isNegated: boolean }[]): string[] {
  return nodes.flatMap(({ node, isNegated }) => {
    if (isNegated) return [];
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

export function inspectPolicy({
  effect,
  conditions,
}: Pick<CedarPolicy, "effect" | "conditions">): PolicyFindings {
  const found = conditions.flatMap((condition) =>
    isJsonObject(condition) ? listNodes(condition["body"], condition["kind"] === "unless") : [],
  );
  const nodes = found.map(({ node }) => node);
  const isForbid = effect === "forbid";
  const [presence] = isForbid ? findPresences(found) : [];
  return {
    refusals: [
      ...findMoneyMistakes(nodes),
      ...findTextMistakes(nodes),
      ...(hasEscapedStar(nodes)
        ? [
            "an escaped star (\\*) in `like` is read differently by other engines: compare with == or leave it out",
          ]
        : []),
    ],
    warnings:
      presence === undefined
        ? []
        : [
            `this forbid applies only if \`${presence}\`: a request without it passes. Permit what may go instead, and leave everything else to people`,
          ],
    forbidsDetails:
      isForbid && nodes.some((node) => ["details", "typed"].includes(readPath(node)?.[0] ?? "")),
  };
}
