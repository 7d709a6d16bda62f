/** The `human_authorization` object (docs/wire.md, What an approval covers). Strict: an unknown field is refused. */
import { z } from "zod";
import { amountValuePattern, currencyPattern } from "#lib/protocol/approval/amount";
import {
  type Anchor,
  type Approval,
  type ApprovalBinding,
  type ApprovalRequest,
  type HumanAuthorization,
  versionOf,
} from "#lib/protocol/approval/approval";
import type { DecidedBy, GrantTerms } from "#lib/protocol/approval/decided-by";
import { signedTypesPattern } from "#lib/protocol/approval/shown-content";
import { isUuid } from "#lib/protocol/encoding/bytes";
import type { JsonObject } from "#lib/protocol/encoding/canonical-json";
import { isGroupOpening, isProof, isRosterEntry, isRosterHead } from "#lib/protocol/passkey/roster";
import { parseFieldElement, parseWord, wordHex } from "#lib/protocol/world-id/world-id-proof";

const isCanonical = (parse: (text: string) => bigint | undefined) => (text: string) => {
  const value = parse(text);
  return value !== undefined && wordHex(value) === text;
};
const word = z.string().length(66).refine(isCanonical(parseWord), "must be 0x and 64 lower-case hex digits");
const fieldElement = z
  .string()
  .length(66)
  .refine(isCanonical(parseFieldElement), "must be 0x and 64 lower-case hex digits below the field's order");
const sha256Hex = z.string().regex(/^[0-9a-f]{64}$/, "must be 64 lower-case hex digits");
const time = z.iso.datetime({ precision: 3 });
const address = z.string().regex(/^0x[0-9a-f]{40}$/, "must be an address in lower case");
/** Counted in code points, as what callers send. */
const textFrom = (min: number, max: number) =>
  z
    .string()
    .min(min)
    .refine((value) => [...value].length <= max)
    .meta({ minLength: min, maxLength: max });
const text = (max: number) => textFrom(1, max);
const count = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);

const whole = (min: number, max: number) => z.number().int().min(min).max(max);
const uuid = z.string().refine(isUuid);
const amountValue = z.string().regex(amountValuePattern);
const currency = z.string().regex(currencyPattern);

export const grantSchema = z
  .strictObject({
    tools: z.array(text(256)).min(1).max(20).exactOptional(),
    actions: z.array(text(2000)).min(1).max(20).exactOptional(),
    max_calls: whole(1, 10_000),
    max_amount: amountValue.exactOptional(),
    max_budget: amountValue.exactOptional(),
    currency: currency.exactOptional(),
    expires_at: time,
    context: z
      .record(text(256), textFrom(0, 4096))
      .refine((details) => Object.keys(details).length <= 32)
      .exactOptional(),
  })
  .refine(({ tools, actions }) => tools !== undefined || actions !== undefined)
  .refine(
    ({ max_amount, max_budget, currency: of }) =>
      (max_amount !== undefined || max_budget !== undefined) === (of !== undefined),
  )
  .meta({
    examples: [{ tools: ["payments.send"], max_calls: 20, expires_at: "2026-12-01T00:00:00.000Z" }],
  }) satisfies z.ZodType<GrantTerms>;

export const approvalRequestSchema = z.strictObject({
  request_id: text(128),
  origin: text(2048),
  organization: text(128),
  agent_slug: text(64),
  agent_public_key: text(64).nullable(),
  action: text(1000),
  tool: text(256).exactOptional(),
  amount: z.strictObject({ value: amountValue, currency }).exactOptional(),
  context_hash: sha256Hex,
  inputs_hash: text(128).exactOptional(),
  details: z
    .strictObject({ complete: z.boolean(), types: z.string().regex(signedTypesPattern) })
    .exactOptional(),
  required_level: z.enum(["none", "device", "orb"]),
  approvals_required: whole(1, 10),
  required_approvers: z
    .array(z.strictObject({ group: uuid, count: whole(1, 10) }))
    .max(5)
    .refine((all) => new Set(all.map(({ group }) => group)).size === all.length),
  requester_may_approve: z.boolean(),
  requester_id: uuid.exactOptional(),
  grant: grantSchema.nullable(),
  usable_for_seconds: whole(60, 2_592_000).exactOptional(),
  created_at: time,
  expires_at: time,
  salt: text(64),
}) satisfies z.ZodType<ApprovalRequest>;

const approvalBindingSchema = z.strictObject({
  request_hash: sha256Hex,
  world_action: z.string().regex(/^authz-[a-z2-7]{26}$/),
  signal: z.string().regex(/^0x[0-9a-f]{64}$/),
  signal_hash: fieldElement,
}) satisfies z.ZodType<ApprovalBinding>;

const anchorSchema = z.strictObject({
  chain_id: count,
  block_number: count,
  block_hash: word,
  registry: address,
  root: fieldElement,
  issuer_public_key: z.tuple([fieldElement, fieldElement]).exactOptional(),
  oprf_public_key: z.tuple([fieldElement, fieldElement]).exactOptional(),
}) satisfies z.ZodType<Anchor>;

export const decidedBySchema = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("people") }),
  z.strictObject({
    kind: z.literal("grant"),
    request_hash: sha256Hex,
    authorization_hash: sha256Hex,
    use: whole(1, 10_000),
    of: whole(1, 10_000),
    spent: amountValue.nullable(),
    budget: amountValue.nullable(),
    currency: currency.nullable(),
  }),
  z.strictObject({
    kind: z.literal("rule"),
    ruleset_hash: sha256Hex,
    policy_ids: z.array(text(256)).min(1).max(500),
    context_hash: sha256Hex,
  }),
]) satisfies z.ZodType<DecidedBy>;

const environment = z.enum(["production", "staging", "local"]);
const worldIdCommon = {
  type: z.literal("world_id"),
  environment,
  app_id: text(128),
  rp_id: text(128),
  nonce: fieldElement,
  nullifier_hash: fieldElement,
  merkle_root: fieldElement,
  verified_at: time,
  verified_by: z
    .array(z.enum(["groth16-local", "world-portal-v4", "world-chain"]))
    .min(1)
    .max(3),
  anchor: anchorSchema.exactOptional(),
};

const worldIdSchema = z.discriminatedUnion("protocol_version", [
  z.strictObject({
    protocol_version: z.literal("3.0"),
    level: z.enum(["device", "orb"]),
    proof: z.string().regex(/^0x[0-9a-f]{512}$/),
    ...worldIdCommon,
  }),
  z.strictObject({
    protocol_version: z.literal("4.0"),
    level: z.literal("proof_of_human"),
    proof: z.array(word).length(5),
    issuer_schema_id: count,
    expires_at_min: count,
    ...worldIdCommon,
  }),
]);

/** The roster's own rules: canonical base64, lists in order. */
const of = <Value>(rule: (value: unknown) => value is Value) => z.custom<Value>(rule);
const base64Url = (max: number) => text(max).regex(/^[A-Za-z0-9_-]+$/);

const passkeySchema = z.strictObject({
  type: z.literal("passkey"),
  approver_id: uuid,
  credential_public_key: base64Url(704),
  authenticator_data: base64Url(4096),
  client_data_json: base64Url(8192),
  signature: base64Url(683),
  verified_at: time,
  nullifier_hash: fieldElement.exactOptional(),
  roster: z.strictObject({
    head: of(isRosterHead),
    entry: of(isRosterEntry),
    index: count,
    proof: of(isProof),
  }),
  groups: z.array(of(isGroupOpening)).min(1).max(5),
});

export const approvalSchema = z.union([worldIdSchema, passkeySchema]) satisfies z.ZodType<Approval>;

export const humanAuthorizationSchema = z
  .strictObject({
    type: z.literal("human_authorization"),
    version: z.literal([1, 2]),
    request: approvalRequestSchema,
    binding: approvalBindingSchema,
    decided_by: decidedBySchema,
    approvals: z.array(approvalSchema).max(20),
    environment,
    approved_at: time,
    usable_until: time.nullable(),
    key_id: z.string().regex(/^[0-9a-f]{16}$/),
    signature: z.string().length(88),
    log: z
      .custom<JsonObject>((value) => typeof value === "object" && value !== null && !Array.isArray(value))
      .exactOptional(),
  })
  .refine(
    ({ version, request }) => version === versionOf(request),
    "has fields of another version",
  ) satisfies z.ZodType<HumanAuthorization>;
