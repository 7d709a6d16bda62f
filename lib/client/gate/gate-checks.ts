/** Rejects an action that couldn't be attested before a human is asked. */
import { type AgentKey, asSent, readAgentKey } from "#lib/client/api/inputs";
import type { AttestRequest, AuthorizeRequest } from "#lib/client/api/wire";
import {
  canonicalBytes,
  canonicalJson,
  isJsonObject,
  type JsonValue,
  measureDepth,
} from "#lib/protocol/encoding/canonical-json";

const askedNames: Record<Exclude<keyof AuthorizeRequest, "context" | "details" | "inputs_hash">, true> = {
  agent_slug: true,
  action: true,
  tool: true,
  amount: true,
  amendable: true,
  grant: true,
  expires_in_minutes: true,
  required_level: true,
  required_approvers: true,
  usable_for_seconds: true,
  approvals_required: true,
  require_code: true,
  approvers: true,
  callback_url: true,
  requester: true,
};

const isTextUpTo = (max: number) => (value: unknown) =>
  typeof value === "string" && value !== "" && [...value].length <= max;
const isName = isTextUpTo(128);
const isFlag = (value: unknown) => typeof value === "boolean";

const maxMetadataBytes = 8_192 - 128;
const maxMetadataDepth = 16;
const isMetadata = (value: unknown) =>
  isJsonObject(value) &&
  canonicalBytes(value).length <= maxMetadataBytes &&
  measureDepth(value) <= maxMetadataDepth;

function isClient(value: unknown): boolean {
  if (!isJsonObject(value)) return false;
  const { instance, sequence, ...rest } = value;
  return isTextUpTo(64)(instance) && isCount(sequence) && Object.keys(rest).length === 0;
}

const isCount = (value: unknown) => Number.isSafeInteger(value) && Number(value) >= 1;

/**
 * Further fields of the attestation, as the service takes them (docs/wire.md, Attest), without those that the gate
 * adds.
 */
const limits = {
  metadata: [isMetadata, `an object of at most ${maxMetadataBytes} bytes and ${maxMetadataDepth} levels`],
  is_public: [isFlag, "true or false"],
  enable_zk: [isFlag, "true or false"],
  code_hash: [isName, "1-128 characters"],
  model_id: [isName, "1-128 characters"],
  tools_used: [
    (value) => Array.isArray(value) && value.length <= 64 && value.every(isName),
    "at most 64 names of 1-128 characters",
  ],
  client: [isClient, "an instance of 1-64 characters and a sequence from 1"],
} satisfies Partial<Record<keyof AttestRequest, [(value: unknown) => boolean, string]>>;

export type AttestationExtras = Pick<AttestRequest, keyof typeof limits>;

const isExtra = (name: string): name is keyof typeof limits => Object.hasOwn(limits, name);

/** `asked`: what goes to the service, which must not see an agent's key under a misspelled name. */
export function requireAttestable(
  asked: object,
  attestation: AttestationExtras = {},
  agentKey?: AgentKey | undefined,
): void {
  for (const name of Object.keys(asked))
    if (!Object.hasOwn(askedNames, name)) throw new TypeError(`the gate has no option ${name}`);
  for (const name of Object.keys(attestation))
    if (!isExtra(name)) throw new TypeError(`attestation: it can't say ${name}`);
  for (const [name, value] of Object.entries(asSent(attestation))) requireFit(name, value);
  if (agentKey !== undefined) readAgentKey(agentKey);
}

/** Matches unless behind an odd number of backslashes, where it is text. */
const escapedNul = /(?<!\\)(?:\\\\)*\\u0000/;

function requireFit(name: string, value: unknown): void {
  if (value === null || !isExtra(name)) return;
  const text = canonicalJson(value as JsonValue);
  const [isFit, expected] = limits[name];
  if (!isFit(value)) throw new TypeError(`attestation: ${name} must be ${expected}`);
  if (escapedNul.test(text)) throw new TypeError(`attestation: ${name} must not contain U+0000`);
  // Quotes inside text would be escaped.
  if (text.includes('"__proto__":'))
    throw new TypeError(`attestation: ${name} must not contain the name __proto__`);
}

/** Requires both: without them two calls could share one approval. */
export function requireIds(ids: { runId: string; callId: string }): void {
  for (const [name, id] of Object.entries<string | null | undefined>(ids))
    if (id === undefined || id === null || id === "") throw new TypeError(`${name} is missing`);
}

/* Requires that an action has run when it is attested. Imports nothing: each file for a framework has a copy. */

const lazy = "the action is a generator: it would be attested before it runs";

export function requireFunction(run: unknown): void {
  if (typeof run !== "function") throw new TypeError("the action is no function");
  if (/Generator/.test(Object.prototype.toString.call(run))) throw new TypeError(lazy);
}

/** Rejects a lazy result of a function that didn't look lazy. */
export function requireRun<Result>(result: Result): Result {
  const { next, throw: raise } = (result ?? {}) as { next?: unknown; throw?: unknown };
  if (typeof next === "function" && typeof raise === "function") throw new TypeError(lazy);
  return result;
}
