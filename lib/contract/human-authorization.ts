/** The `human_authorization` object (docs/wire.md, What an approval covers). Strict: an unknown field is refused. */
import { z } from "zod";
import type {
  Anchor,
  Approval,
  ApprovalBinding,
  ApprovalRequest,
  HumanAuthorization,
} from "#lib/core/approval/approval";
import type { JsonObject } from "#lib/core/encoding/canonical-json";
import { parseFieldElement, parseWord, wordHex } from "#lib/core/world-id/world-id-proof";

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
const text = (max: number) => z.string().min(1).max(max);
const count = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);

export const approvalRequestSchema = z.strictObject({
  request_id: text(128),
  origin: text(2048),
  organization: text(128),
  agent_slug: text(64),
  agent_public_key: text(64).nullable(),
  action: text(1000),
  context_hash: sha256Hex,
  inputs_hash: text(128).exactOptional(),
  required_level: z.enum(["device", "orb"]),
  approvals_required: z.number().int().min(1).max(10),
  created_at: time,
  expires_at: time,
  salt: text(64),
}) satisfies z.ZodType<ApprovalRequest>;

export const approvalBindingSchema = z.strictObject({
  request_hash: sha256Hex,
  world_action: z.string().regex(/^authz-[a-z2-7]{26}$/),
  signal: z.string().regex(/^0x[0-9a-f]{64}$/),
  signal_hash: fieldElement,
}) satisfies z.ZodType<ApprovalBinding>;

export const anchorSchema = z.strictObject({
  chain_id: count,
  block_number: count,
  block_hash: word,
  registry: address,
  root: fieldElement,
  issuer_public_key: z.tuple([fieldElement, fieldElement]).exactOptional(),
  oprf_public_key: z.tuple([fieldElement, fieldElement]).exactOptional(),
}) satisfies z.ZodType<Anchor>;

const approvalCommon = {
  environment: z.enum(["production", "staging", "local"]),
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

export const approvalSchema = z.discriminatedUnion("protocol_version", [
  z.strictObject({
    protocol_version: z.literal("3.0"),
    level: z.enum(["device", "orb"]),
    proof: z.string().regex(/^0x[0-9a-f]{512}$/),
    ...approvalCommon,
  }),
  z.strictObject({
    protocol_version: z.literal("4.0"),
    level: z.literal("proof_of_human"),
    proof: z.array(word).length(5),
    issuer_schema_id: count,
    expires_at_min: count,
    ...approvalCommon,
  }),
]) satisfies z.ZodType<Approval>;

export const humanAuthorizationSchema = z.strictObject({
  type: z.literal("human_authorization"),
  version: z.union([z.literal(1), z.literal(2), z.literal(3)]),
  request: approvalRequestSchema,
  binding: approvalBindingSchema,
  approvals: z.array(approvalSchema).min(1).max(10),
  approved_at: time,
  key_id: z.string().regex(/^[0-9a-f]{16}$/),
  signature: z.string().length(88),
  log: z
    .custom<JsonObject>((value) => typeof value === "object" && value !== null && !Array.isArray(value))
    .exactOptional(),
}) satisfies z.ZodType<HumanAuthorization>;
