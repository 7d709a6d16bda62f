/** Hashes an action's inputs: SHA-256 of their canonical JSON (RFC 8785), nested values and all. */

import { base64Decode, base64Encode } from "#lib/protocol/encoding/bytes";
import {
  canonicalBytes,
  canonicalHash,
  canonicalJson,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "#lib/protocol/encoding/canonical-json";
import { decodePrivateKeyPem, SEED_BYTES, signedRequest, signWithSeed } from "#lib/protocol/keys/agent-seed";
import type { SignEd25519 } from "#lib/protocol/keys/ed25519";
import type { AttestRequest } from "./wire";

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

/* The agent's own signature over a request (docs/wire.md, Attest). */

/** PKCS #8 PEM, base64 of the 32-byte seed, the seed itself, or a function that signs, for keys that are kept elsewhere. */
export type AgentKey = string | Uint8Array | SignEd25519;

/** The request with `agent_signature`. Whatever is changed in it afterwards breaks the signature. */
export async function signAgentRequest(
  request: AttestRequest,
  key: AgentKey,
): Promise<AttestRequest & { agent_signature: string }> {
  const body = asSent(request);
  const signature = await readAgentKey(key)(canonicalBytes(signedRequest(body as object as JsonObject)));
  return { ...body, agent_signature: base64Encode(signature) };
}

/** A copy without what JSON leaves out. What becomes of the original meanwhile is not sent. */
export const asSent = <Body extends object>(body: Body): Body => JSON.parse(JSON.stringify(body)) as Body;

/** The key is secret, so no error shows any of it. */
export function readAgentKey(key: AgentKey): SignEd25519 {
  if (typeof key === "function") return key;
  const seed = typeof key === "string" ? readSeed(key) : key;
  if (seed === null || !ArrayBuffer.isView(seed) || seed.length !== SEED_BYTES)
    throw new TypeError("agent key: must be Ed25519, as PEM, 32 bytes or base64");
  return (message) => signWithSeed(message, seed);
}

function readSeed(text: string): Uint8Array | null {
  try {
    return text.includes("-----") ? decodePrivateKeyPem(text) : base64Decode(text.trim());
  } catch {
    return null;
  }
}
