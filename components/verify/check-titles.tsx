/** The names of the checks, for people. */
import type { AttestationCheckName } from "#lib/verifier/checks/verify-statement";

export const checkTitles: Record<AttestationCheckName, string> = {
  payload_hash: "Payload hash",
  signature: "Signature",
  key_validity: "Key valid at that log index",
  log_inclusion: "Log inclusion",
  checkpoint_signature: "Checkpoint",
  agent_signature: "Agent's signature",
  code_hash: "Code hash",
  tools: "Tools",
  human_authorization: "Human approval",
  zk_proof: "Zero-knowledge proof",
  record: "Agent's record",
  not_before: "Made after",
  not_after: "Made before",
};
