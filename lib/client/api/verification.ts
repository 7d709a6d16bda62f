/**
 * Options and result of `verify` as plain types: the verifier's own would bring the types of its cryptography along.
 */
import type { JsonObject, JsonValue } from "#lib/protocol/encoding/canonical-json";
import type { HumanApproval, Verdict } from "./wire";

export interface VerifyOptions {
  /** Keys that reached you another way, or earlier, than the receipt. Without any the service vouches for itself. */
  keys?: TrustedKeys | undefined;
  /** For a presentation: whom it must have been made for, and the nonce that you chose. */
  audience?: string | undefined;
  nonce?: string | undefined;
  signal?: AbortSignal | undefined;
}

export interface TrustedKeys {
  /** A saved answer of GET /v1/pubkey. None is fetched then. */
  pubkey?: object | string | undefined;
  /** Attestation keys: PEM, or base64 of the raw 32 bytes. */
  keys?: string[] | undefined;
  /** The log's C2SP verifier keys. */
  logVkeys?: string[] | undefined;
  /** Verifier keys of witnesses whose clocks you trust. */
  witnessVkeys?: string[] | undefined;
  /** PEM certificates that time stamps must lead to. */
  timeCertificates?: string[] | undefined;
}

export interface VerificationCheck {
  name: string;
  status: "pass" | "fail" | "not_applicable" | "not_run";
  /** Why it did not pass, for programs. */
  reason?: string;
  detail: string;
}

export interface Verification {
  /** False: the keys came from the service itself, so this shows only that it agrees with itself. */
  pinned: boolean;
  kind: "attestation" | "bundle" | "human_authorization" | "presentation" | "tlog_proof";
  /** `valid` with an empty list of warnings is good news. */
  verdict: "valid" | "invalid" | "incomplete" | "erased";
  checks: VerificationCheck[];
  /** Checks that had nothing to read. */
  missing: string[];
  /** Fields that the file shows and nothing in it proves. */
  unproven: string[];
  /** Signed statement; null if a check failed. */
  statement: SignedStatement | null;
  /** Bad news in an authentic record. */
  warnings: { code: string; message: string }[];
  /** Warnings of the file that lack the bytes to show them. */
  statedWarnings: string[];
  disclosed: { name: string; value: JsonValue }[];
  /** When it was made, as others vouch for it. */
  madeAfter: { timeMs: number; by: string[] } | null;
  madeBefore: { timeMs: number; by: string[] } | null;
  authorization: { ok: boolean; grade: string; grade_text: string; checks: VerificationCheck[] } | null;
  /** An approval that is no World ID proof. */
  isTest: boolean;
  /** Claim of the file about itself; never believed. */
  claimed: boolean | null;
  disagrees: boolean;
}

/** In-toto statement about an agent's action; it has further fields. */
export interface SignedStatement {
  predicate: {
    attestation_id: string;
    timestamp: string;
    organization: string;
    is_public: boolean;
    /** As the agent asked. */
    request: JsonObject;
    verdicts: {
      agent_authenticated: Verdict;
      code_hash_verified: Verdict;
      tools_authorized: Verdict;
      client_gap?: boolean;
    };
    human_approval: HumanApproval;
  };
}
