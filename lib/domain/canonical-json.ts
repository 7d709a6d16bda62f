/** RFC 8785 (JSON Canonicalization Scheme). The library throws on NaN, infinities and lone surrogates. */
import canonicalize from "canonicalize";
import { hexEncode, sha256, utf8Encode } from "./bytes";

export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject;
export type JsonObject = { [name: string]: JsonValue };

/**
 * The same value with its names in the order of RFC 8785, itself if they are; undefined if JSON.stringify would not write
 * it so: names that may be numbers come first in any object, and there are values that JSON doesn't have.
 */
function inOrder(value: JsonValue): JsonValue | undefined {
  if (typeof value === "number") return Number.isFinite(value) ? value : undefined;
  if (typeof value !== "object" || value === null) return value;
  return Array.isArray(value) ? elementsInOrder(value) : membersInOrder(value);
}

function elementsInOrder(values: JsonValue[]): JsonValue[] | undefined {
  let ordered: JsonValue[] | null = null;
  for (const [i, value] of values.entries()) {
    const one = inOrder(value);
    if (one === undefined) return undefined;
    if (one !== value) ordered ??= [...values];
    if (ordered !== null) ordered[i] = one;
  }
  return ordered ?? values;
}

const isPlainName = (name: string) => !/^\d|^__proto__$|^toJSON$/.test(name);

function membersInOrder(value: JsonObject): JsonObject | undefined {
  const names = Object.keys(value);
  if (!names.every(isPlainName)) return undefined;
  const isSorted = names.every((name, i) => i === 0 || name > (names[i - 1] as string));
  let ordered: JsonObject | null = isSorted ? null : {};
  for (const name of isSorted ? names : names.sort()) {
    const member = value[name] as JsonValue;
    const one = inOrder(member);
    if (one === undefined) return undefined;
    if (one !== member) ordered ??= { ...value };
    if (ordered !== null) ordered[name] = one;
  }
  return ordered ?? value;
}

/** JSON.stringify writes numbers and strings as RFC 8785 does, but for lone surrogates, which it escapes. */
const hasSurrogates = (text: string) => text.includes("\\ud");

/** Most values are written in half the time; the library decides the rest. */
export function canonicalJson(value: JsonValue): string {
  const ordered = inOrder(value);
  const written = ordered === undefined ? undefined : JSON.stringify(ordered);
  const text = written === undefined || hasSurrogates(written) ? canonicalize(value) : written;
  if (text === undefined) throw new TypeError("not a JSON value");
  return text;
}

/** Whether the text, which `value` was parsed from, is its canonical spelling. */
export function isCanonicalText(text: string, value: JsonValue): boolean {
  const isWritten = !hasSurrogates(text) && JSON.stringify(value) === text && inOrder(value) === value;
  return isWritten || canonicalJson(value) === text;
}

/** The UTF-8 bytes that are hashed and signed. */
export function canonicalBytes(value: JsonValue): Uint8Array {
  return utf8Encode(canonicalJson(value));
}

/** Hex SHA-256 of the canonical JSON. */
export function canonicalHash(value: JsonValue): string {
  return hexEncode(sha256(canonicalBytes(value)));
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
