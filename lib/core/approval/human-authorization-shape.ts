/**
 * The exact shape of a `human_authorization`: every field is known, typed and bounded before anything is computed
 * from it. Written out without a schema library, because the offline verifier is one file
 * that people read before they run it; a test holds it against the schema of lib/contract.
 */

import { isJsonObject } from "#lib/core/encoding/canonical-json";
import { parseFieldElement, parseWord, wordHex } from "#lib/core/world-id/world-id-proof";
import type { HumanAuthorization } from "./approval";

type Rule = (value: unknown) => boolean;

const matches = (pattern: RegExp) => (value: unknown) => typeof value === "string" && pattern.test(value);
const text = (max: number) => (value: unknown) =>
  typeof value === "string" && value.length >= 1 && value.length <= max;
const oneOf =
  (...values: unknown[]): Rule =>
  (value) =>
    values.includes(value);
const integer = (min: number, max: number) => (value: unknown) =>
  Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max;
const listOf =
  (rule: Rule, min: number, max: number): Rule =>
  (value) =>
    Array.isArray(value) && value.length >= min && value.length <= max && value.every(rule);

/** Exactly these fields; the optional ones may be left out. */
function fields(required: Record<string, Rule>, optional: Record<string, Rule> = {}): Rule {
  return (value) => {
    if (!isJsonObject(value)) return false;
    const isKnown = Object.keys(value).every(
      (name) => Object.hasOwn(required, name) || Object.hasOwn(optional, name),
    );
    const holds = ([name, rule]: [string, Rule]) => rule(value[name]);
    const holdsIfThere = ([name, rule]: [string, Rule]) => !Object.hasOwn(value, name) || rule(value[name]);
    return isKnown && Object.entries(required).every(holds) && Object.entries(optional).every(holdsIfThere);
  };
}

const canonical =
  (parse: (text: string) => bigint | undefined): Rule =>
  (value) => {
    const parsed = typeof value === "string" ? parse(value) : undefined;
    return parsed !== undefined && wordHex(parsed) === value;
  };
const word = canonical(parseWord);
const fieldElement = canonical(parseFieldElement);
const sha256Hex = matches(/^[0-9a-f]{64}$/);
const count = integer(0, Number.MAX_SAFE_INTEGER);
const time: Rule = (value) => {
  if (!matches(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)(value)) return false;
  const date = new Date(value as string);
  return !Number.isNaN(date.getTime()) && date.toISOString() === value;
};

const request = fields(
  {
    request_id: text(128),
    origin: text(2048),
    organization: text(128),
    agent_slug: text(64),
    agent_public_key: (value) => value === null || text(64)(value),
    action: text(1000),
    context_hash: sha256Hex,
    required_level: oneOf("device", "orb"),
    approvals_required: integer(1, 10),
    created_at: time,
    expires_at: time,
    salt: text(64),
  },
  { inputs_hash: text(128) },
);

const binding = fields({
  request_hash: sha256Hex,
  world_action: matches(/^authz-[a-z2-7]{26}$/),
  signal: matches(/^0x[0-9a-f]{64}$/),
  signal_hash: fieldElement,
});

const point = listOf(fieldElement, 2, 2);
const anchor = fields(
  {
    chain_id: count,
    block_number: count,
    block_hash: word,
    registry: matches(/^0x[0-9a-f]{40}$/),
    root: fieldElement,
  },
  { issuer_public_key: point, oprf_public_key: point },
);

const common = {
  environment: oneOf("production", "staging", "local"),
  app_id: text(128),
  rp_id: text(128),
  nonce: fieldElement,
  nullifier_hash: fieldElement,
  merkle_root: fieldElement,
  verified_at: time,
  verified_by: listOf(oneOf("groth16-local", "world-portal-v4", "world-chain"), 1, 3),
};
const approvalV3 = fields(
  {
    protocol_version: oneOf("3.0"),
    level: oneOf("device", "orb"),
    proof: matches(/^0x[0-9a-f]{512}$/),
    ...common,
  },
  { anchor },
);
const approvalV4 = fields(
  {
    protocol_version: oneOf("4.0"),
    level: oneOf("proof_of_human"),
    proof: listOf(word, 5, 5),
    issuer_schema_id: count,
    expires_at_min: count,
    ...common,
  },
  { anchor },
);

const authorization = fields(
  {
    type: oneOf("human_authorization"),
    version: oneOf(1, 2, 3),
    request,
    binding,
    approvals: listOf((value) => approvalV3(value) || approvalV4(value), 1, 10),
    approved_at: time,
    key_id: matches(/^[0-9a-f]{16}$/),
    signature: (value) => typeof value === "string" && value.length === 88,
  },
  { log: isJsonObject },
);

/** Null for a value that is none. Says nothing about what it proves. */
export function parseHumanAuthorization(value: unknown): HumanAuthorization | null {
  return authorization(value) ? (value as HumanAuthorization) : null;
}
