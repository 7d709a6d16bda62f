/**
 * The exact shape of a `human_authorization` (docs/wire.md, What an approval covers): every field is known, typed and
 * bounded before anything is computed from it. Written out without a schema library, because the offline verifier is
 * one file that people read before they run it.
 */

import { isUuid } from "#lib/protocol/encoding/bytes";
import { isJsonObject } from "#lib/protocol/encoding/canonical-json";
import { listSize } from "#lib/protocol/passkey/assertion";
import { isGroupOpening, isProof, isRosterEntry, isRosterHead } from "#lib/protocol/passkey/roster";
import { isTime } from "#lib/protocol/time/time-words";
import { parseFieldElement, parseWord, wordHex } from "#lib/protocol/world-id/world-id-proof";
import { isFieldList } from "./amendment";
import { amountValuePattern, currencyPattern } from "./amount";
import { chooseVersion, type HumanAuthorization } from "./approval";
import { signedTypesPattern } from "./shown-content";

type Rule = (value: unknown) => boolean;

const matches = (pattern: RegExp) => (value: unknown) => typeof value === "string" && pattern.test(value);
/** Counted in code points, as what callers send. */
const text = (max: number) => (value: unknown) =>
  typeof value === "string" && value !== "" && value.length <= 2 * max && [...value].length <= max;
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
function fields(required: Record<string, Rule>, optional: Record<string, Rule> = {}) {
  const names = [...Object.keys(required), ...Object.keys(optional)];
  const rule: Rule = (value) => {
    if (!isJsonObject(value)) return false;
    const isKnown = Object.keys(value).every(
      (name) => Object.hasOwn(required, name) || Object.hasOwn(optional, name),
    );
    const holds = ([name, rule]: [string, Rule]) => rule(value[name]);
    const holdsIfThere = ([name, rule]: [string, Rule]) => !Object.hasOwn(value, name) || rule(value[name]);
    return isKnown && Object.entries(required).every(holds) && Object.entries(optional).every(holdsIfThere);
  };
  return Object.assign(rule, { names });
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
const time: Rule = isTime;

const uuid: Rule = (value) => typeof value === "string" && isUuid(value);
const amountValue = matches(amountValuePattern);
const currency = matches(currencyPattern);
const textList = (max: number, length: number) => listOf(text(length), 1, max);
const either =
  (...rules: Rule[]): Rule =>
  (value) =>
    rules.some((rule) => rule(value));
const orNull = (rule: Rule) => either((value) => value === null, rule);

/** Names of 1 to 64 characters with values of up to 1,024. */
const details: Rule = (value) =>
  isJsonObject(value) &&
  Object.keys(value).length <= 32 &&
  Object.entries(value).every(([name, detail]) => text(256)(name) && (detail === "" || text(4096)(detail)));

const terms = fields(
  { max_calls: integer(1, 10_000), expires_at: time },
  {
    tools: textList(20, 256),
    actions: textList(20, 2000),
    max_amount: amountValue,
    max_budget: amountValue,
    currency,
    context: details,
    derived: fields({
      derivation: sha256Hex,
      details: listOf(text(256), 0, 32),
      hours: fields({ from: integer(0, 23), to: integer(0, 23) }),
    }),
  },
);
/** Terms cover something by name, and say the currency exactly if they say an amount. */
const grant: Rule = (value) => {
  if (!isJsonObject(value) || !terms(value)) return false;
  const has = (name: string) => Object.hasOwn(value, name);
  return (has("tools") || has("actions")) && (has("max_amount") || has("max_budget")) === has("currency");
};

const requiredApprovers: Rule = (value) =>
  listOf(fields({ group: uuid, count: integer(1, 10) }), 0, 5)(value) &&
  new Set((value as { group: string }[]).map(({ group }) => group)).size === (value as unknown[]).length;

/** `amount` and the details, each once. */
const fieldList: Rule = (value) => listOf(text(512), 1, 33)(value) && isFieldList(value as string[]);

const request = fields(
  {
    request_id: text(128),
    origin: text(2048),
    organization: text(128),
    agent_slug: text(64),
    agent_public_key: (value) => value === null || text(64)(value),
    action: text(1000),
    context_hash: sha256Hex,
    required_level: oneOf("none", "device", "orb"),
    approvals_required: integer(1, 10),
    required_approvers: requiredApprovers,
    requester_may_approve: oneOf(true, false),
    grant: orNull(grant),
    created_at: time,
    expires_at: time,
    salt: text(64),
  },
  {
    inputs_hash: text(128),
    details: fields({ complete: oneOf(true, false), types: matches(signedTypesPattern) }),
    entries_hash: sha256Hex,
    amendable: fieldList,
    amends: fields({ request_hash: sha256Hex, fields: fieldList }, { by: uuid }),
    tool: text(256),
    amount: fields({ value: amountValue, currency }),
    usable_for_seconds: integer(60, 2_592_000),
    requester_id: uuid,
  },
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

const decidedBy = either(
  fields({ kind: oneOf("people") }),
  fields({
    kind: oneOf("grant"),
    request_hash: sha256Hex,
    authorization_hash: sha256Hex,
    use: integer(1, 10_000),
    of: integer(1, 10_000),
    spent: orNull(amountValue),
    budget: orNull(amountValue),
    currency: orNull(currency),
  }),
  fields({
    kind: oneOf("rule"),
    ruleset_hash: sha256Hex,
    policy_ids: textList(500, 256),
    context_hash: sha256Hex,
  }),
);

const environment = oneOf("production", "staging", "local");
const common = {
  type: oneOf("world_id"),
  environment,
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

const base64Url =
  (max: number): Rule =>
  (value) =>
    text(max)(value) && /^[A-Za-z0-9_-]+$/.test(value as string);

const passkey = fields(
  {
    type: oneOf("passkey"),
    approver_id: uuid,
    credential_public_key: base64Url(1763),
    authenticator_data: base64Url(4096),
    client_data_json: base64Url(8192),
    signature: base64Url(3227),
    verified_at: time,
    roster: fields({ head: isRosterHead, entry: isRosterEntry, index: count, proof: isProof }),
    groups: listOf(isGroupOpening, 1, 5),
  },
  {
    nullifier_hash: fieldElement,
    deputy_for: uuid,
    list: fields({
      index: integer(0, listSize.max - 1),
      size: integer(listSize.min, listSize.max),
      proof: isProof,
    }),
  },
);

const authorization = fields(
  {
    type: oneOf("human_authorization"),
    version: oneOf(1, 2),
    request,
    binding,
    decided_by: decidedBy,
    approvals: listOf(either(approvalV3, approvalV4, passkey), 0, 20),
    environment,
    approved_at: time,
    usable_until: orNull(time),
    key_id: matches(/^[0-9a-f]{16}$/),
    signature: (value) => typeof value === "string" && value.length === 88,
  },
  { log: isJsonObject, original_request: request, questions_hash: sha256Hex },
);

export const authorizationFields = {
  human_authorization: authorization.names,
  request: request.names,
  approval: [...new Set([approvalV3, approvalV4, passkey].flatMap(({ names }) => names))],
};

/** Null for a value that is none. Says nothing about what it proves. */
export function parseHumanAuthorization(value: unknown): HumanAuthorization | null {
  if (!authorization(value)) return null;
  const read = value as HumanAuthorization;
  return read.version === chooseVersion(read) && isChain(read) ? read : null;
}

/** A counter-offer comes with the request that it changes, and ends the chain. */
function isChain({ request: now, original_request: before }: HumanAuthorization): boolean {
  if (before === undefined) return now.amends === undefined;
  const isEnd = now.amends !== undefined && now.amendable === undefined;
  return isEnd && before.amendable !== undefined && before.amends === undefined;
}
