/** RFC 8785 (JSON Canonicalization Scheme). The library throws on NaN, infinities and lone surrogates. */
import canonicalize from "canonicalize";
import { hexEncode, sha256, utf8Encode } from "./bytes";

export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject;
export type JsonObject = { [name: string]: JsonValue };

/**
 * The same value with its names in the order of RFC 8785, itself if they are; undefined if JSON.stringify would not write
 * it so: there are values that JSON doesn't have, and in an object that is put in order names that may be numbers come first.
 */
function inOrder(value: JsonValue): JsonValue | undefined {
  if (typeof value === "number") return Number.isFinite(value) ? value : undefined;
  if (typeof value !== "object" || value === null) return value;
  const isList = Array.isArray(value);
  const members = value as JsonObject;
  const written = Object.keys(value);
  const isSorted = isList || written.every((name, i) => (written[i - 1] ?? "") <= name);
  const names = isSorted ? written : [...written].sort();
  let ordered: JsonObject | null = isSorted ? null : {};
  for (const name of names) {
    const member = members[name] as JsonValue;
    const one = inOrder(member);
    if (one === undefined) return undefined;
    if (one !== member) ordered ??= (isList ? [...value] : { ...value }) as JsonObject;
    if (ordered === null) continue;
    if (!isList && /^\d|^__proto__$/.test(name)) return undefined;
    ordered[name] = one;
  }
  return ordered ?? value;
}

/**
 * Most values are written by JSON.stringify, in half the time. It writes numbers and strings as RFC 8785 does, but for
 * lone surrogates, which it escapes; the library decides the rest.
 */
export function canonicalJson(value: JsonValue): string {
  const ordered = inOrder(value);
  const written = ordered === undefined ? "\\ud" : JSON.stringify(ordered);
  const text = written.includes("\\ud") ? canonicalize(value) : written;
  if (text === undefined) throw new TypeError("not a JSON value");
  return text;
}

/** True if both have the same canonical form. */
export function isSameJson(one: JsonValue, other: JsonValue): boolean {
  if (one === other) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false;
  const names = Object.keys(one);
  return (
    Array.isArray(one) === Array.isArray(other) &&
    names.length === Object.keys(other).length &&
    names.every(
      (name) =>
        Object.hasOwn(other, name) &&
        isSameJson((one as JsonObject)[name] as JsonValue, (other as JsonObject)[name] as JsonValue),
    )
  );
}

/** True if the text that `value` was parsed from is already canonical. */
export const isCanonicalText = (text: string, value: JsonValue): boolean => canonicalJson(value) === text;

/** The UTF-8 bytes that are hashed and signed. */
export function canonicalBytes(value: JsonValue): Uint8Array {
  return utf8Encode(canonicalJson(value));
}

export function canonicalHash(value: JsonValue): string {
  return hexEncode(sha256(canonicalBytes(value)));
}

/** Depth of nested lists and objects; 0 for anything else. */
export function measureDepth(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(measureDepth));
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Exactly these, in any order. */
export function hasFields(value: unknown, ...names: string[]): value is JsonObject {
  return isJsonObject(value) && Object.keys(value).sort().join() === names.sort().join();
}

/** Hex SHA-256. */
export const isHash = (value: unknown): value is string =>
  typeof value === "string" && /^[0-9a-f]{64}$/.test(value);
