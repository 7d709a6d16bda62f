/** For tests only: a complete `human_authorization` whose v4 proofs verify under a key with known exponents. */
import { ed25519 } from "@noble/curves/ed25519.js";
import {
  type ApprovalRequest,
  assembleAuthorization,
  authorizationSigningBytes,
  bindRequest,
  buildAuthorization,
  type HumanAuthorization,
  type UnsignedAuthorization,
  type WorldIdApproval,
} from "#lib/protocol/approval/approval";
import { buildDecisionStatement } from "#lib/protocol/approval/approval-decision";
import type { RequestedBy } from "#lib/protocol/approval/assign-groups";
import { contextHash } from "#lib/protocol/approval/shown-content";
import { base64Encode, hexEncode, sha256 } from "#lib/protocol/encoding/bytes";
import { canonicalBytes, type JsonObject } from "#lib/protocol/encoding/canonical-json";
import { computeDsseKeyId } from "#lib/protocol/keys/ed25519";
import { preAuthEncoding } from "#lib/protocol/statement/dsse";
import { STATEMENT_MEDIA_TYPE } from "#lib/protocol/statement/statement";
import { encodeLogLeaf, makeLogLeaf } from "#lib/protocol/tlog/log-leaf";
import { type WorldProofV4, wordHex } from "#lib/protocol/world-id/world-id-proof";
import type { AuthorizationVerifyOptions } from "#lib/verifier/checks/approval-checks";
import { publicInputsV4 } from "#lib/verifier/checks/check-world-proof";
import { compressProof, makeTrapdoorKey } from "./groth16";

const secretKey = new Uint8Array(32).fill(7);
export const testPublicKey = ed25519.getPublicKey(secretKey);
export const testKeyId = hexEncode(sha256(testPublicKey)).slice(0, 16);
const trapdoor = makeTrapdoorKey(15);

export const testRequestedBy: RequestedBy = {
  requester: "Accounts payable",
  organization_mark: { text: "EX", color: "teal" },
  organization_domains: [
    {
      domain: "example.com",
      unicode: "example.com",
      verified_since: "2026-11-01T08:00:00.000Z",
      last_checked: "2026-11-21T02:00:00.000Z",
    },
  ],
  agent_past: { known_since: "2026-10-01T08:00:00.000Z", attestations: 120, requests: 15, denied: 2 },
};

/** Content that the page showed for {@link testRequest}. */
export const testShown = {
  context: { invoice: "2026-114" },
  context_salt: "c2FsdA==",
  agent_name: "Treasurer",
  organization_name: null,
  group_names: [],
  requested_by: testRequestedBy as unknown as JsonObject,
};

const testPlace = {
  agent_id: "019a0000-0000-7000-8000-000000000003",
  sequence: 1,
  previous: "00".repeat(32),
};

export const testRequest: ApprovalRequest = {
  request_id: "areq_test",
  origin: "https://countersign.example",
  organization: "0198c0de-0000-7000-8000-000000000001",
  agent_slug: "treasurer",
  agent_public_key: null,
  action: "Pay 12,000 EUR to Example GmbH",
  tool: "bank.transfer",
  amount: { value: "12000", currency: "EUR" },
  context_hash: contextHash(testShown.context_salt, testShown.context, testShown, testRequestedBy),
  inputs_hash: "sha256:aa",
  required_level: "orb",
  approvals_required: 2,
  required_approvers: [],
  requester_may_approve: false,
  grant: null,
  usable_for_seconds: 3600,
  created_at: "2026-11-21T08:00:00.000Z",
  expires_at: "2026-11-21T08:30:00.000Z",
  salt: "AAAAAAAAAAAAAAAAAAAAAA==",
};

export const testVerifyOptions: AuthorizationVerifyOptions = {
  serviceKeys: (keyId) => (keyId === testKeyId ? testPublicKey : undefined),
  verifySignature: (signature, message, key) => ed25519.verify(signature, message, key, { zip215: false }),
  v4Key: trapdoor.key,
};

export function makeTestApproval(request: ApprovalRequest, nullifier: bigint): WorldIdApproval {
  const { world_action, signal_hash } = bindRequest(request);
  const keys = {
    issuer_public_key: [wordHex(3n), wordHex(4n)] as [string, string],
    oprf_public_key: [wordHex(5n), wordHex(6n)] as [string, string],
  };
  const world: WorldProofV4 = {
    protocol_version: "4.0",
    app_id: "app_test",
    rp_id: "rp_00000000000000ff",
    nonce: wordHex(nullifier + 1000n),
    level: "proof_of_human",
    issuer_schema_id: 1,
    expires_at_min: Date.parse(request.created_at) / 1000,
    nullifier_hash: wordHex(nullifier),
    merkle_root: wordHex(1234n),
    proof: [],
  };
  const inputs = publicInputsV4(world, world_action, BigInt(signal_hash), keys) ?? [];
  return {
    type: "world_id",
    ...world,
    proof: [...compressProof(trapdoor.prove(inputs)).map(wordHex), world.merkle_root],
    environment: "production",
    verified_at: "2026-11-21T08:05:00.000Z",
    verified_by: ["groth16-local", "world-portal-v4", "world-chain"],
    anchor: {
      chain_id: 480,
      block_number: 22_000_000,
      block_hash: wordHex(9n),
      registry: `0x${"0".repeat(38)}ae`,
      root: world.merkle_root,
      ...keys,
    },
  };
}

export function signForTest(unsigned: UnsignedAuthorization): HumanAuthorization {
  const signature = ed25519.sign(authorizationSigningBytes(unsigned), secretKey);
  return assembleAuthorization(unsigned, base64Encode(signature));
}

/** Decision by people, in World's production environment. */
export const testFacts = {
  decided_by: { kind: "people" },
  environment: "production",
  approved_at: "2026-11-21T08:06:00.000Z",
  key_id: testKeyId,
} as const;

export function makeTestAuthorization(): HumanAuthorization {
  const approvals = [makeTestApproval(testRequest, 21n), makeTestApproval(testRequest, 22n)];
  return signForTest(buildAuthorization(testRequest, { ...testFacts, approvals }));
}

/** Adds the log entry of the approval, as the service hands it out, without the rest of the receipt. */
export function addTestLogEntry(authorization: HumanAuthorization): HumanAuthorization {
  const payload = buildDecisionStatement({
    decision: "approved",
    request_hash: authorization.binding.request_hash,
    decided_at: authorization.approved_at,
    key_id: authorization.key_id,
    authorization_hash: hexEncode(sha256(canonicalBytes({ ...authorization } as unknown as JsonObject))),
    ...(authorization.questions_hash && { questions_hash: authorization.questions_hash }),
    record: testPlace,
  });
  const envelope = {
    payloadType: STATEMENT_MEDIA_TYPE,
    payload,
    keyId: computeDsseKeyId(testPublicKey),
    signature: ed25519.sign(preAuthEncoding(STATEMENT_MEDIA_TYPE, payload), secretKey),
  };
  const entry = base64Encode(encodeLogLeaf(makeLogLeaf(envelope, testPublicKey)));
  return { ...authorization, log: { entry, record: testPlace } };
}
