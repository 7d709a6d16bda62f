/** RFC 8785 (JSON Canonicalization Scheme). The library throws on NaN, infinities and lone surrogates. */
import canonicalize from "canonicalize";
import { hexEncode, sha256, utf8Encode } from "./bytes";

export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject;
export type JsonObject = { [name: string]: JsonValue };

/** Names that may be numbers come first in any object of JavaScript's, and `__proto__` is no member. */
function isPlainName(name: string): boolean {
  const first = name.charCodeAt(0);
  return !(first >= 0x30 && first <= 0x39) && name !== "__proto__";
}

function isSorted(names: readonly string[]): boolean {
  let before = "";
  for (const name of names) {
    if (name < before) return false;
    before = name;
  }
  return true;
}

function listInOrder(list: JsonValue[]): JsonValue[] | undefined {
  let ordered = list;
  for (const [i, item] of list.entries()) {
    const one = inOrder(item);
    if (one === undefined) return undefined;
    if (one === item) continue;
    if (ordered === list) ordered = [...list];
    ordered[i] = one;
  }
  return ordered;
}

function objectInOrder(value: JsonObject): JsonObject | undefined {
  const written = Object.keys(value);
  if (!written.every(isPlainName)) return undefined;
  const isOrdered = isSorted(written);
  let copy: JsonObject = isOrdered ? value : {};
  for (const name of isOrdered ? written : written.sort()) {
    const member = value[name] as JsonValue;
    const one = inOrder(member);
    if (one === undefined) return undefined;
    if (one !== member && copy === value) copy = { ...value };
    if (copy !== value) copy[name] = one;
  }
  return copy;
}

/**
 * The same value with its names in the order of RFC 8785, itself if they are; undefined if JSON.stringify would not write
 * it so: there are names that it puts elsewhere, and values that JSON doesn't have.
 */
function inOrder(value: JsonValue): JsonValue | undefined {
  if (typeof value === "number") return Number.isFinite(value) ? value : undefined;
  if (typeof value !== "object" || value === null) return value;
  return Array.isArray(value) ? listInOrder(value) : objectInOrder(value);
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

/** Whether the text, which `value` was parsed from, is its canonical spelling. */
export const isCanonicalText = (text: string, value: JsonValue): boolean => canonicalJson(value) === text;

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
