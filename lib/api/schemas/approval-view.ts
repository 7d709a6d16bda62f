/** Data that the approval page and the test wallet show and send. Not part of the public contract. */
import { z } from "zod";
import { type Question, questionLimits } from "#lib/protocol/approval/amendment";
import type { ApprovalBinding, ApprovalCheckName, ApprovalRequest } from "#lib/protocol/approval/approval";
import type { RequestedBy } from "#lib/protocol/approval/assign-groups";
import type { Decider } from "#lib/protocol/approval/decided-by";
import type { PlantedOutcome } from "#lib/protocol/approval/planted";
import type { WorldEnvironment } from "#lib/protocol/world-id/world-id-keys";
import type { ApprovalLevel, ProtocolVersion } from "#lib/protocol/world-id/world-id-proof";
import type { PreviouslyDenied } from "./authorization-state";
import type { AuthorizationStatus } from "./authorize";
import { boundedText } from "./primitives";
import { idkitResultSchema } from "./world-id";

export interface ApprovalView {
  request_id: string;
  status: AuthorizationStatus;
  /** Exactly as hashed: the browser computes `binding` from it again (lib/protocol/approval/approval.ts, bindRequest). */
  request: ApprovalRequest;
  binding: ApprovalBinding;
  /** With the names and `requested_by`, what `request.context_hash` covers (isShownContent). */
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
  /** Who decides in whose place at this moment, where not by their own right. */
  deputies: { deputy: string; replaced: string }[];
  /** Who says that they are looking at it; an empty name is somebody with the link. No part of its state. */
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
  /** How many wrong codes are left before the request is cancelled; null if none is asked for. */
  code_tries_left: number | null;
  previously_denied: PreviouslyDenied | null;
  environment: WorldEnvironment;
  /** Not World's production network: permanently marked TEST everywhere. */
  is_test: boolean;
  /** Why the organization's rules ask people, or didn't, in sentences; null without rules, and after an erasure. */
  rules_explanation: string | null;
  /** The conditions that it speaks of, in Cedar; null without any. */
  rules_text: string | null;
  /** From when on what is approved can't be used; null if that never comes. */
  usable_until: string | null;
  /** How each approval was checked; empty until the request is approved, and after an erasure. */
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
  /** How a planted request ended, and what was wrong in it; null before its end as for any other. */
  planted: { outcome: PlantedOutcome; mistake: string } | null;
}

/**
 * IDKit's presets. `proof_of_human`: World ID 4.0, with the 3.0 Orb credential in its place. The legacy ones are of
 * 3.0 alone; people who came to World after 2026-06-01 don't have them.
 */
export type WalletPreset = "proof_of_human" | "orb_legacy" | "device_legacy";

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
  rp_context: {
    rp_id: string;
    nonce: string;
    created_at: number;
    expires_at: number;
    signature: string;
  };
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

/** Each request's own answer: `counted`, or the code of the error that it has. */
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
