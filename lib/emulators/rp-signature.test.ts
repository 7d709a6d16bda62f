import { signRequest } from "@worldcoin/idkit-server";
import { describe, expect, it } from "vitest";
import { actionField, hashSignal, wordHex } from "#lib/protocol/world-id/world-id-proof";
import { createRpChecker, rpAddress, type SignedProofRequest } from "./rp-signature";

const key = "0x4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318";
const rp = { rp_id: "rp_00000000000000ff", signer: () => rpAddress(key) };
const signal = `0x${"ab".repeat(32)}`;
const signalHash = wordHex(hashSignal(signal));

function signed(signingKeyHex = key, ttl = 300): SignedProofRequest {
  const { sig, nonce, createdAt, expiresAt } = signRequest({ signingKeyHex, action: "authz-x", ttl });
  return {
    created_at: createdAt,
    expires_at: expiresAt,
    rp_id: rp.rp_id,
    action: wordHex(actionField("authz-x")),
    nonce,
    signature: sig,
    proof_requests: [{ identifier: "proof_of_human", signal }],
  };
}

const check = (request: SignedProofRequest, clockShiftSeconds = 0, action = "authz-x", hash = signalHash) =>
  createRpChecker(rp, () => Date.now() + clockShiftSeconds * 1000)(request, action, hash);

describe("rpAddress", () => {
  it("is the Ethereum address of the key (a published pair)", () => {
    expect(rpAddress(key)).toBe("0x2c7536e3605d9c16a7a3d7b1898e529396a65c23");
  });
});

describe("createRpChecker", () => {
  it("accepts the registered RP's signature, and a nonce once", () => {
    const checker = createRpChecker(rp);
    const request = signed();
    expect(checker(request, "authz-x", signalHash)).toBeUndefined();
    expect(checker(request, "authz-x", signalHash)).toBe("duplicate_nonce");
    expect(checker(signed(), "authz-x", signalHash)).toBeUndefined();
  });

  it("refuses another signer, a changed field and another RP", () => {
    const request = signed();
    expect(check(signed("33".repeat(32)))).toBe("invalid_rp_signature");
    expect(check({ ...request, nonce: wordHex(5n) })).toBe("invalid_rp_signature");
    expect(check({ ...request, expires_at: request.expires_at + 1 })).toBe("invalid_rp_signature");
    expect(check({ ...request, signature: `${request.signature.slice(0, -2)}00` })).toBe(
      "invalid_rp_signature",
    );
    expect(check({ ...request, signature: `0x${"0".repeat(130)}` })).toBe("invalid_rp_signature");
    expect(check({ ...request, rp_id: "rp_00000000000000fe" })).toBe("unknown_rp");
  });

  it("refuses another action or signal than the wallet's own request names", () => {
    expect(check(signed(), 0, "authz-y")).toBe("malformed_request");
    expect(check(signed(), 0, "authz-x", wordHex(5n))).toBe("malformed_request");
  });

  it("keeps World's windows: five minutes of clock, thirty of life", () => {
    expect(check(signed(), -290)).toBeUndefined();
    expect(check(signed(), -310)).toBe("timestamp_too_far_in_future");
    expect(check(signed(), 310)).toBe("rp_signature_expired");
    expect(check(signed(key, 1800), 290)).toBeUndefined();
    expect(check(signed(key, 1800), 310)).toBe("timestamp_too_old");
    expect(check(signed(key, 1801))).toBe("invalid_timestamp");
    const request = signed();
    expect(check({ ...request, expires_at: request.created_at })).toBe("invalid_timestamp");
  });
});
