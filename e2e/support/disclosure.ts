/** For tests: one attestation payload whose hidden values are easy to look for, and a BBS key. */
import { type ZkKeyPair, zkKeyPairFromSeed, zkPredicate } from "#lib/protocol/presentation/disclosure";
import { type ActionPredicate, buildActionStatement } from "#lib/protocol/statement/statement";

export const ATTESTATION_ID = "0198a1b2-0000-7000-8000-000000000001";

export function testKeyPair(fill = 7): Promise<ZkKeyPair> {
  return zkKeyPairFromSeed(new Uint8Array(32).fill(fill));
}

/** A private attestation, approved by a proven human. */
export function testPayload(publicKey: Uint8Array, changes: Partial<ActionPredicate> = {}): Uint8Array {
  return buildActionStatement({
    attestation_id: ATTESTATION_ID,
    timestamp: "2026-11-21T03:04:05.678Z",
    key_id: "0011223344556677",
    organization: "org_hidden_organization",
    is_public: false,
    salt: "c2FsdC1vZi10aGUtdGVzdA==",
    zk: zkPredicate(publicKey),
    record: { agent_id: "019a0000-0000-7000-8000-000000000003", sequence: 1, previous: "00".repeat(32) },
    request: {
      agent_slug: "payments-agent",
      action: "wire hidden-action-7781 to Zürich",
      inputs_hash: "hidden-inputs-hash",
      code_hash: "hidden-code-hash",
      metadata: { invoice: "hidden-metadata", amount: 12.5 },
      tools_used: ["hidden-tool-b", "hidden-tool-a"],
      enable_zk: true,
    },
    registered: { agent_public_key: "hidden-agent-key", code_hash: null, tool_manifest_hash: null },
    verdicts: { agent_authenticated: true, code_hash_verified: false, tools_authorized: null },
    human_approval: {
      method: "proof_of_personhood",
      level: "hidden-level",
      request_hash: "hidden-request-hash",
      authorization_hash: "hidden-authorization-hash",
      nullifier_hashes: ["hidden-nullifier"],
      approver_ids: [],
      environment: "production",
      inputs_bound: true,
    },
    ...changes,
  });
}
