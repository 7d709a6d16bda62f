/** RFC 8785 (JSON Canonicalization Scheme). The library throws on NaN, infinities and lone surrogates. */
import canonicalize from "canonicalize";
import { hexEncode, sha256, utf8Encode } from "./bytes";

export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject;
export type JsonObject = { [name: string]: JsonValue };

export function canonicalJson(value: JsonValue): string {
  const text = canonicalize(value);
  if (text === undefined) throw new TypeError("not a JSON value");
  return text;
}

/** Names in the order of RFC 8785 in every object, as they were written. */
function isSorted(value: JsonValue): boolean {
  if (typeof value !== "object" || value === null) return true;
  if (Array.isArray(value)) return value.every(isSorted);
  let before: string | undefined;
  for (const name of Object.keys(value)) {
    if ((before !== undefined && name <= before) || name === "__proto__") return false;
    if (!isSorted(value[name] ?? null)) return false;
    before = name;
  }
  return true;
}

/**
 * Whether the text, which `value` was parsed from, is its canonical spelling. JSON.stringify writes numbers and strings
 * as RFC 8785 does, and names in the order in which they were read. The library decides the rest: names that are numbers,
 * which come first, and escapes of surrogates, which JSON.stringify leaves alone.
 */
export function isCanonicalText(text: string, value: JsonValue): boolean {
  const isWritten = !text.includes("\\ud") && JSON.stringify(value) === text && isSorted(value);
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
