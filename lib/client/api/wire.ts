/**
 * Requests and responses of the service, as plain types: users of this package need no schema library to compile. A
 * test holds them against the schemas of lib/api/schemas.
 */
import type { JsonObject } from "#lib/protocol/encoding/canonical-json";

/** POST /v1/attest */
export interface AttestRequest {
  agent_slug: string;
  action: string;
  /** Hash of its inputs: see `hashInputs`. */
  inputs_hash: string;
  metadata?: JsonObject | null | undefined;
  /** Default: the organization's setting. */
  is_public?: boolean | null | undefined;
  enable_zk?: boolean | null | undefined;
  agent_signature?: string | null | undefined;
  code_hash?: string | null | undefined;
  model_id?: string | null | undefined;
  tools_used?: string[] | null | undefined;
  human_approved?: boolean | null | undefined;
  human_approver_hash?: string | null | undefined;
  /** Exactly as it was answered. */
  human_authorization?: JsonObject | null | undefined;
  /** Which instance of the agent this is, and the number of its attestation. */
  client?: { instance: string; sequence: number } | null | undefined;
}

/** True, false, or null if there was nothing to compare. */
export type Verdict = boolean | null;

export type HumanApproval =
  | { method: "none" }
  | { method: "hash"; approver_hash: string | null }
  | {
      /** The last two are never counted as a human's approval. */
      method:
        | "proof_of_personhood"
        | "enrolled_proof_of_personhood"
        | "enrolled_approver"
        | "standing_approval"
        | "rule";
      /** World ID level; `none` without it. */
      level: string;
      request_hash: string;
      authorization_hash: string;
      nullifier_hashes: string[];
      /** Pseudonyms of the enrolled approvers. */
      approver_ids: string[];
      environment: string;
      inputs_bound: boolean;
    };

export interface LogReceipt {
  origin: string;
  index: number;
  tree_size: number;
  entry: string;
  inclusion_proof: string[];
  checkpoint: string;
}

export interface ZkProof {
  type: string;
  ciphersuite: string;
  schema: string;
  kid: string;
  public_key: string;
  header: string;
  presentation_header: string;
  total_messages: number;
  disclosed: Record<string, string>;
  proof: string;
}

/** Keep it secret: with it, guesses of hidden fields could be tested. */
export interface ZkCredential {
  kid: string;
  public_key: string;
  header: string;
  signature: string;
  messages: string[];
}

/** The answer of POST /v1/attest: the receipt. */
export interface Attestation {
  attestation_id: string;
  agent_slug: string;
  action: string | null;
  inputs_hash: string | null;
  timestamp: string | null;
  payload_hash: string;
  signature: string;
  key_id: string;
  /** The page that anyone can open. */
  public_url: string;
  verify_command: string;
  is_public: boolean;
  has_zk_proof: boolean;
  agent_authenticated: Verdict;
  code_hash_verified: Verdict;
  tools_authorized: Verdict;
  /** True if `client.sequence` is not the next number of its instance: an earlier attestation may be missing. */
  client_gap: Verdict;
  client: { instance: string; sequence: number } | null;
  human_approved: boolean | null;
  human_approval: HumanApproval | null;
  /** The exact signed bytes, as text. */
  payload: string | null;
  envelope_signature: string;
  metadata: JsonObject | null;
  code_hash: string | null;
  model_id: string | null;
  tools_used: string[] | null;
  record: { agent_id: string; sequence: number; previous: string } | null;
  log: LogReceipt;
  zk?: { proof: ZkProof; credential: ZkCredential } | undefined;
}

/** The answer of POST /v1/attest/batch. */
export interface AttestBatchAnswer {
  recorded: number;
  /** In the order of the entries; a body with another status than 201 is a problem document. */
  results: ({ status: 201; body: Attestation } | { status: number; body: object })[];
}

/** GET /v1/identity/{slug} */
export interface AgentIdentity {
  slug: string;
  name: string | null;
  description: string | null;
  public_key: string | null;
  public_key_pem: string | null;
  key_status: "none" | "unproven" | "proven";
  key_history: {
    public_key: string;
    status: "unproven" | "proven";
    registered_at: string;
    proven_at: string | null;
    retired_at: string | null;
  }[];
  key_history_cursor: string | null;
  code_hash: string | null;
  model_id: string | null;
  tool_manifest_hash: string | null;
  tools: string[] | null;
  tool_descriptions: Record<string, string> | null;
  /** Since when its organization has it stopped. */
  frozen_at: string | null;
  created_at: string;
  updated_at: string;
}
