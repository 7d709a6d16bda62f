/**
 * Statement of a gate about the details that it shows (docs/wire.md, What an approval covers): whether they are all of what
 * the action acts on, and the type of each. A typed value is the text that people read, so the two can't differ.
 */
import type { JsonValue } from "#lib/protocol/encoding/canonical-json";

export type SignedDetails = {
  complete: boolean;
  /** A letter for each entry of the context in the order of RFC 8785: s text, n number, b boolean, - untyped. */
  types: string;
};

export const detailTypes = ["string", "number", "boolean"] as const;
export type DetailType = (typeof detailTypes)[number];

export const signedTypesPattern = /^[snb-]{0,32}$/;

/** Numbers as RFC 8785 writes them, within Cedar's decimals. */
const numberPattern = /^(?:0|-?(?:[1-9]\d{0,13}(?:\.\d{0,3}[1-9])?|0\.\d{0,3}[1-9]))$/;

const forms: Record<DetailType, RegExp> = { string: /^/, number: numberPattern, boolean: /^(?:true|false)$/ };
const letters: Record<string, DetailType> = { s: "string", n: "number", b: "boolean" };

export const isOfType = (type: DetailType, text: string): boolean => forms[type].test(text);

/** Undefined for a value that has no text of its own. */
export function typeOfValue(value: JsonValue, text: string): DetailType | undefined {
  const type = detailTypes.find((one) => one === typeof value);
  return type !== undefined && isOfType(type, text) ? type : undefined;
}

const sortedNames = (context: object) => Object.keys(context).sort();

export const writeTypes = (
  context: Record<string, string>,
  types: Readonly<Record<string, DetailType>>,
): string =>
  sortedNames(context)
    .map((name) => (Object.hasOwn(types, name) ? (types[name]?.[0] ?? "-") : "-"))
    .join("");

/** The entries of each type; null if the types are those of other details. `context`: as read from a file. */
export function readTypes(
  { types }: SignedDetails,
  context: JsonValue,
): Record<DetailType, [name: string, text: string][]> | null {
  if (typeof context !== "object" || context === null || Array.isArray(context)) return null;
  const names = sortedNames(context);
  if (names.length !== types.length) return null;
  const read: Record<DetailType, [string, string][]> = { string: [], number: [], boolean: [] };
  for (const [at, name] of names.entries()) {
    const [type, text] = [letters[types[at] ?? "-"], context[name]];
    if (type === undefined) continue;
    if (typeof text !== "string" || !isOfType(type, text)) return null;
    read[type].push([name, text]);
  }
  return read;
}
