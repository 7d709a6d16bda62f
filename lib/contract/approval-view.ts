/** What the approval page and the test wallet show and send. Not part of the public contract. */
import { z } from "zod";
import type {
  ApprovalBinding,
  ApprovalCheckName,
  ApprovalRequest,
  AuthorizationVersion,
} from "#lib/core/approval/approval";
import type { RequestedBy } from "#lib/core/approval/requested-by";
import type { WorldEnvironment } from "#lib/core/world-id/world-id-keys";
import type { ApprovalLevel, ProtocolVersion, RequiredLevel } from "#lib/core/world-id/world-id-proof";
import type { AuthorizationStatus, PreviouslyDenied } from "./authorize";

/** The end of a 503's detail if the service has the proof: nobody has to send it again. */
export const proofStored = "the proof is stored and will be checked again";

/** What a person needs to have, in the same words on the page and in the test wallet. */
export const levelWords = {
  orb: "World ID, verified with an Orb",
  device: "World ID, verified on this device or with an Orb",
} as const satisfies Record<RequiredLevel, string>;

/** The last of them cancels the request. */
export const maxWrongCodes = 5;

export interface ApprovalView {
  request_id: string;
  status: AuthorizationStatus;
  version: AuthorizationVersion;
  /** Exactly as hashed: the browser computes `binding` from it again (lib/core/approval/approval.ts, bindRequest). */
  request: ApprovalRequest;
  binding: ApprovalBinding;
  /** With `agent.name`, `organization.name` and `requested_by`, what `request.context_hash` covers (isShownContent). */
  context: Record<string, string>;
  context_salt: string;
  agent: {
    slug: string;
    name: string | null;
    /** base64; the key that the request names. */
    public_key: string | null;
    /** Of that key, now. `proven`: a signature under it has verified. */
    key_status: "none" | "unproven" | "proven" | "retired";
  };
  /** Its name is null if it was erased with the rest. */
  organization: { id: string; name: string | null };
  /** The hashed document itself; null before version 3, and after an erasure. */
  requested_by: RequestedBy | null;
  required_level: RequiredLevel;
  approvals: { required: number; given: number };
  /** Fixed by the first approval; the next humans must use it too. */
  protocol_version: ProtocolVersion | null;
  created_at: string;
  expires_at: string;
  /** The database's clock, for the time that is left. */
  now: string;
  decided_at: string | null;
  /** Null if the page must ask for it. */
  confirmation_code: string | null;
  /** How many wrong codes are left before the request is cancelled; null if none is asked for. */
  code_tries_left: number | null;
  previously_denied: PreviouslyDenied | null;
  environment: WorldEnvironment;
  /** Not World's production network: permanently marked TEST everywhere. */
  is_test: boolean;
  /** How each approval was checked; empty until the request is approved, and after an erasure. */
  proofs: { level: ApprovalLevel; verified_by: ApprovalCheckName[]; is_anchored: boolean }[];
  /** A human's free text. */
  denial_reason: string | null;
  /** The owner erased what was asked: action and context are empty, and the hashes no longer follow from them. */
  is_erased: boolean;
  /** The attestation that used this approval. */
  attestation: { id: string; public_url: string; is_public: boolean } | null;
}

/**
 * IDKit's presets. `proof_of_human`: World ID 4.0, with the 3.0 Orb credential in its place. The legacy ones are of
 * 3.0 alone; nobody who came to World after 2026-06-01 has them.
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
  /** What is asked for if the wallet cannot answer the first; null if nothing else is enough. */
  fallback: "device_legacy" | null;
  /** Fixed by the first approval, else null. */
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

/** What the person typed; spaces, hyphens and case don't matter. */
const typedCode = z.string("must be a string").max(64, "must be at most 64 characters").nullish();

/** POST /approve/{token}/world-id */
export const startBody = z.strictObject({ code: typedCode });

/** POST /approve/{token}/deny, as JSON or as a form's fields. */
export const denyBody = z.strictObject({
  code: typedCode,
  reason: z
    .string("must be a string")
    .refine((text) => [...text].length <= 1000, "must be at most 1000 characters")
    .refine((text) => !text.includes("\0"), "must not contain U+0000")
    .nullish(),
});
