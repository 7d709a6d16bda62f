/** Data that the approval page and the test wallet show and send. Not part of the public contract. */
import { z } from "zod";
import { type Question, questionLimits } from "#lib/protocol/approval/amendment";
import type { ApprovalBinding, ApprovalCheckName, ApprovalRequest } from "#lib/protocol/approval/approval";
import type { RequestedBy } from "#lib/protocol/approval/assign-groups";
import type { Decider } from "#lib/protocol/approval/decided-by";
import type { PlantedOutcome } from "#lib/protocol/approval/planted";
import type { WorldEnvironment } from "#lib/protocol/world-id/world-id-keys";
import {
  type ApprovalLevel,
  isLevelSufficient,
  PROOF_OF_HUMAN_ISSUER,
  type ProtocolVersion,
  parseFieldElement,
  parseWord,
  type RequiredLevel,
  type WorldProof,
  wordHex,
} from "#lib/protocol/world-id/world-id-proof";
import type { PreviouslyDenied } from "./authorization-state";
import type { AuthorizationStatus } from "./authorize";
import { boundedText } from "./primitives";

/* World ID's result. */

const canonical = (parse: (text: string) => bigint | undefined, message: string) =>
  z
    .string()
    .max(80)
    .transform((text, context) => {
      const value = parse(text);
      if (value !== undefined) return wordHex(value);
      context.addIssue({ code: "custom", message });
      return z.NEVER;
    });

const word = canonical(parseWord, "must be a uint256 in hex or decimal");
const fieldElement = canonical(parseFieldElement, "must be a number below the field's order");

const common = {
  nonce: fieldElement,
  action: z.string().max(128),
  action_description: z.string().max(1024).optional(),
  environment: z.string().max(32),
  user_presence_completed: z.boolean().optional(),
  identity_attested: z.boolean().optional(),
  integrity_bundle: z.record(z.string(), z.unknown()).optional(),
};

const responseV3 = z.strictObject({
  identifier: z.string().max(64),
  signal_hash: fieldElement.optional(),
  proof: z
    .string()
    .regex(/^0x[0-9a-fA-F]{512}$/, "must be 0x and 512 hex digits")
    .transform((text) => text.toLowerCase()),
  merkle_root: fieldElement,
  nullifier: fieldElement,
});

const responseV4 = z.strictObject({
  identifier: z.string().max(64),
  issuer_schema_id: z.number().int().min(0).max(Number.MAX_SAFE_INTEGER),
  signal_hash: fieldElement.optional(),
  proof: z.array(word).length(5),
  nullifier: fieldElement,
  expires_at_min: z.number().int().min(0).max(Number.MAX_SAFE_INTEGER),
});

/**
 * IDKit's result (`IDKitResult`), v3 and v4, as the page passes it on. Every field is attacker-controlled: IDKit
 * verifies nothing. `action`, `nonce`, `signal_hash` and `environment` are read only to be compared with what is
 * stored. Numbers leave here in their one canonical spelling.
 */
export const idkitResultSchema = z.discriminatedUnion("protocol_version", [
  z.strictObject({
    protocol_version: z.literal("3.0"),
    ...common,
    responses: z.array(responseV3).min(1).max(8),
  }),
  z.strictObject({
    protocol_version: z.literal("4.0"),
    ...common,
    responses: z.array(responseV4).min(1).max(8),
  }),
]);

export type IdkitResult = z.infer<typeof idkitResultSchema>;

/**
 * The first response whose credential is enough, as a proof that names our app and RP; undefined if none is.
 * The nonce is the result's own: v4 proves it, and the caller must have found it among those of this request.
 */
export function pickProof(
  result: IdkitResult,
  requiredLevel: RequiredLevel,
  rp: { app_id: string; rp_id: string },
): WorldProof | undefined {
  const isEnough = (level: ApprovalLevel) => isLevelSufficient(level, requiredLevel);
  const ours = { app_id: rp.app_id, rp_id: rp.rp_id, nonce: result.nonce };
  if (result.protocol_version === "3.0") {
    for (const { identifier, nullifier, merkle_root, proof } of result.responses) {
      if ((identifier === "orb" || identifier === "device") && isEnough(identifier)) {
        const level = identifier;
        return { protocol_version: "3.0", ...ours, level, nullifier_hash: nullifier, merkle_root, proof };
      }
    }
    return undefined;
  }
  for (const response of result.responses) {
    const { identifier, issuer_schema_id, nullifier, expires_at_min, proof } = response;
    const merkle_root = proof[4];
    if (identifier !== "proof_of_human" || issuer_schema_id !== PROOF_OF_HUMAN_ISSUER) continue;
    if (merkle_root === undefined) continue;
    return {
      protocol_version: "4.0",
      ...ours,
      level: "proof_of_human",
      nullifier_hash: nullifier,
      merkle_root,
      proof,
      issuer_schema_id,
      expires_at_min,
    };
  }
  return undefined;
}

/* The page. */

export interface ApprovalView {
  request_id: string;
  status: AuthorizationStatus;
  /** Exactly as hashed: the browser computes `binding` from it again (lib/protocol/approval/approval.ts, bindRequest). */
  request: ApprovalRequest;
  binding: ApprovalBinding;
  /** Covered, with the names and `requested_by`, by `request.context_hash` (isShownContent). */
  context: Record<string, string>;
  context_salt: string;
  agent: {
    slug: string;
    name: string | null;
    /** base64; the key that the request names. */
    public_key: string | null;
    /** Status of that key now. `proven`: a signature under it has verified. */
    key_status: "none" | "unproven" | "proven" | "retired";
  };
  organization: { id: string; name: string | null };
  group_names: string[];
  requested_by: RequestedBy | null;
  required_level: ApprovalRequest["required_level"];
  approvals: { required: number; given: number };
  /** Filled places of each required group, in the request's order. */
  groups: { name: string | null; count: number; given: number }[];
  /** People who decide in somebody's place at this moment, where not by their own right. */
  deputies: { deputy: string; replaced: string }[];
  /** People who say that they are looking at it; an empty name is somebody with the link. Not part of its state. */
  looking: { name: string; at: string }[];
  /** Fixed by the first approval; the next humans must use it too. */
  protocol_version: ProtocolVersion | null;
  created_at: string;
  expires_at: string;
  /** The database's clock, for the time that is left. */
  now: string;
  decided_at: string | null;
  decided_by: Decider | null;
  /** Null if the page must ask for it. */
  confirmation_code: string | null;
  /** Wrong codes left before the request is cancelled; null if none is asked for. */
  code_tries_left: number | null;
  previously_denied: PreviouslyDenied | null;
  environment: WorldEnvironment;
  /** True off World's production network: permanently marked TEST everywhere. */
  is_test: boolean;
  /** Reason why the organization's rules ask people, or didn't, in sentences; null without rules, and after an erasure. */
  rules_explanation: string | null;
  /** The conditions that it speaks of, in Cedar; null without any. */
  rules_text: string | null;
  /** Time from which what is approved can't be used; null if that never comes. */
  usable_until: string | null;
  /** Checks of each approval; empty until the request is approved, and after an erasure. */
  proofs: { level: ApprovalLevel; verified_by: ApprovalCheckName[]; is_anchored: boolean }[];
  denial_reason: string | null;
  revoked_at: string | null;
  /** True while its organization has the agent stopped: its requests can't be approved, nor its approvals used. */
  is_frozen: boolean;
  /** The owner erased what was asked: action and context are empty, and the hashes no longer follow from them. */
  is_erased: boolean;
  attestation: { id: string; public_url: string; is_public: boolean } | null;
  /** The request that a counter-offer changes, and the changed details as they were. */
  before: {
    request: ApprovalRequest;
    context: Record<string, string>;
    context_salt: string;
    questions: Question[];
  } | null;
  /** Path of the page of the request that changed this one. */
  amended_path: string | null;
  questions: Question[];
  /** Outcome of a planted request, and the mistake in it; null before its end as for any other. */
  planted: { outcome: PlantedOutcome; mistake: string } | null;
}

/**
 * IDKit's presets. `proof_of_human`: World ID 4.0, with the 3.0 Orb credential in its place. The legacy ones are of
 * 3.0 alone; people who came to World after 2026-06-01 don't have them.
 */
export type WalletPreset = "proof_of_human" | "orb_legacy" | "device_legacy";

export interface RpContext {
  rp_id: string;
  nonce: string;
  /** Unix seconds. */
  created_at: number;
  expires_at: number;
  signature: string;
}

/** POST /approve/{token}/world-id: what IDKit is configured with, fresh for every open and every retry. */
export interface WorldIdStart {
  app_id: `app_${string}`;
  /** IDKit's own name; the local stand-in is `staging` there. */
  environment: "production" | "staging";
  action: string;
  signal: string;
  preset: WalletPreset;
  /** Preset to request if the wallet can't answer the first; null if nothing else is enough. */
  fallback: "device_legacy" | null;
  protocol_version: ProtocolVersion | null;
  allow_legacy_proofs: boolean;
  rp_context: RpContext;
  bridge_url?: string;
  override_connect_base_url?: string;
}

/** Code as the person typed it; spaces, hyphens and case don't matter. */
const typedCode = z.string("must be a string").max(64, "must be at most 64 characters").nullish();

/** POST /approve/{token}/world-id */
export const startBody = z.strictObject({ code: typedCode });

const base64Url = (max: number) =>
  z.string("must be a string").regex(new RegExp(`^[A-Za-z0-9_-]{1,${max}}$`), "must be base64url");

const passkeyAssertion = z.strictObject({
  credential_id: base64Url(1364),
  authenticator_data: base64Url(4096),
  client_data_json: base64Url(8192),
  signature: base64Url(3227),
});
export type SentAssertion = z.infer<typeof passkeyAssertion>;

/** POST /approve/{token}/passkey: with World ID's result if the request asks for a level. */
export const passkeyBody = z.strictObject({
  code: typedCode,
  passkey: passkeyAssertion,
  result: idkitResultSchema.nullish(),
});

/** POST /approve/list: the tokens of the requests, in the order that was signed. */
export const listBody = z.strictObject({
  tokens: z.array(z.string("must be a string").max(256, "must be at most 256 characters")).min(2).max(20),
  passkey: passkeyAssertion,
});

/** Answer for each request: `counted`, or its error's code. */
export interface ListAnswer {
  results: { request_id: string; outcome: string; detail: string }[];
}

/** POST /approve/{token}/amend: values by field. Their rules are the request's own (lib/protocol/approval/amendment.ts). */
export const amendBody = z.strictObject({
  code: typedCode,
  passkey: passkeyAssertion.nullish(),
  changes: z
    .record(z.string().max(512), z.string("must be a string").max(4096, "must be at most 4096 characters"))
    .refine((changes) => Object.keys(changes).length <= 33, "must have at most 33 entries"),
});
export type AmendBody = z.infer<typeof amendBody>;

/** POST /approve/{token}/ask */
export const askBody = z.strictObject({
  code: typedCode,
  passkey: passkeyAssertion.nullish(),
  question: boundedText(1, questionLimits.question),
});

export const submissionBody = z.strictObject({
  result: idkitResultSchema,
  passkey: passkeyAssertion.nullable(),
});

export const denyBody = z.strictObject({
  code: typedCode,
  passkey: passkeyAssertion.nullish(),
  reason: z
    .string("must be a string")
    .refine((text) => [...text].length <= 1000, "must be at most 1000 characters")
    .refine((text) => !text.includes("\0"), "must not contain U+0000")
    .nullish(),
});
