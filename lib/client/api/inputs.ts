/** Hashes an action's inputs: SHA-256 of their canonical JSON (RFC 8785), nested values and all. */
import {
  canonicalHash,
  canonicalJson,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "#lib/protocol/encoding/canonical-json";

const maxDepth = 64;

/**
 * `sha256:` and hex. Throws TypeError for what JSON would drop or change in silence (dates, maps, functions, NaN …), with its
 * place. A member that is undefined counts as absent.
 */
export function hashInputs(inputs: unknown): string {
  return `sha256:${canonicalHash(toJson(inputs, "", 0))}`;
}

/** The hash, and a copy that has it: whatever becomes of the original, the copy is what was hashed. */
export function sealInputs<Inputs>(inputs: Inputs): { hash: string; copy: Inputs } {
  const json = toJson(inputs, "", 0);
  return { hash: hashInputs(json), copy: JSON.parse(canonicalJson(json)) as Inputs };
}

/** Reads every member once, so that hash and copy are of the same values. */
function toJson(value: unknown, at: string, depth: number): JsonValue {
  if (depth > maxDepth) throw new TypeError(`inputs${at}: nested too deeply`);
  if (value === null || typeof value === "boolean") return value;
  if (typeof value === "number" && Number.isFinite(value)) return value;
  if (typeof value === "string" && value.isWellFormed()) return value;
  if (Array.isArray(value))
    return Array.from(value, (item: unknown, index) => toJson(item, `${at}[${index}]`, depth + 1));
  if (isPlainObject(value)) return toJsonObject(value, at, depth);
  throw new TypeError(`inputs${at}: ${describe(value)} is not a JSON value`);
}

function toJsonObject(value: object, at: string, depth: number): JsonObject {
  const copy: JsonObject = {};
  for (const [name, member] of Object.entries(value)) {
    if (name === "__proto__") throw new TypeError(`inputs${at}: a name is __proto__`);
    if (!name.isWellFormed()) throw new TypeError(`inputs${at}: a name has a lone surrogate`);
    if (member !== undefined) copy[name] = toJson(member, `${at}.${name}`, depth + 1);
  }
  return copy;
}

function isPlainObject(value: unknown): value is object {
  if (!isJsonObject(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  // True also for an object of another realm (a sandbox, a frame).
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function describe(value: unknown): string {
  if (typeof value === "number") return String(value);
  if (typeof value === "string") return "text with a lone surrogate";
  return Object.prototype.toString.call(value).slice("[object ".length, -1);
}
