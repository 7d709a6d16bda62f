/** The quick verdict on a signature is the strict verifier's, wherever libraries disagree; and only true is remembered. */
import { createHash } from "node:crypto";
import { ed25519 } from "@noble/curves/ed25519.js";
import { describe, expect, it } from "vitest";
import { createShare } from "#lib/jobs/fair-queue";
import { verifySignature } from "#lib/log/signing/libsodium";
import { verifySignatures } from "#lib/log/signing/log-worker";
import { concatBytes, hexDecode, type JoinedBytes, utf8Encode } from "#lib/protocol/encoding/bytes";
import { verifyEd25519Strict } from "#lib/protocol/keys/ed25519";
import { preAuthEncoding } from "#lib/protocol/statement/dsse";
import { STATEMENT_MEDIA_TYPE } from "#lib/protocol/statement/statement";
import { makeSignatureVectors, type SignatureVectors } from "#support/signature-vectors";
import { listVectors } from "#support/vectors";
import { type StoredAttestation, verifyAhead, verifyAndRemember } from "./stored-receipt";

const { BASE, ZERO, Fn } = ed25519.Point;
const seed = new Uint8Array(32).fill(7);
/** Point of order eight: a point of the curve times the order of the base point. */
const torsion = ed25519.Point.fromBytes(
  hexDecode("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"),
);

const littleEndian = (bytes: Uint8Array) => BigInt(`0x${Buffer.from(bytes).reverse().toString("hex")}`);

/** A signature that satisfies RFC 8032's equation with the cofactor, whatever is added to R and to the key. */
function signMixed(message: Uint8Array, ofR: typeof ZERO, ofKey: typeof ZERO) {
  const { scalar, point } = ed25519.utils.getExtendedPublicKey(seed);
  const nonce = 12_345n;
  const R = BASE.multiply(nonce).add(ofR).toBytes();
  const publicKey = point.add(ofKey).toBytes();
  const digest = createHash("sha512").update(R).update(publicKey).update(message).digest();
  const challenge = littleEndian(digest) % Fn.ORDER;
  const S = Fn.toBytes((nonce + challenge * scalar) % Fn.ORDER);
  return { signature: concatBytes(R, S), publicKey, challenge };
}

describe("the verdict on a signature", () => {
  it.each([
    ["made of OpenSSL's signatures", JSON.stringify(makeSignatureVectors())],
    ...listVectors("ed25519/wycheproof_ed25519.json"),
  ])("is that of the vectors %s, the second time too", (_, text) => {
    const verdicts = { valid: 0, invalid: 0 };
    for (const { publicKey, tests } of (JSON.parse(text) as SignatureVectors).testGroups)
      for (const { tcId, comment, msg, sig, result } of tests)
        for (let time = 0; time < 2; time += 1) {
          const accepted = verifyAndRemember(hexDecode(sig), hexDecode(msg), hexDecode(publicKey.pk));
          expect(accepted, `test ${tcId}: ${comment}`).toBe(result === "valid");
          verdicts[result] += 1;
        }
    expect(verdicts.valid).toBeGreaterThan(80);
    expect(verdicts.invalid).toBeGreaterThan(50);
  });

  it("is no under a key with a torsion part, even where libsodium says yes", () => {
    let disagreed = 0;
    for (let i = 0; i < 64; i += 1) {
      const message = utf8Encode(`message ${i}`);
      const { signature, publicKey, challenge } = signMixed(message, ZERO, torsion);
      expect(verifyEd25519Strict(signature, message, publicKey)).toBe(false);
      expect(verifyAndRemember(signature, message, publicKey)).toBe(false);
      // Eight times the torsion is nothing, so the key is as good as its other part.
      expect(verifySignature(signature, message, publicKey)).toBe(challenge % 8n === 0n);
      if (challenge % 8n === 0n) disagreed += 1;
    }
    expect(disagreed).toBeGreaterThan(0);
  });

  it("is no for an R with a torsion part, and yes without one", () => {
    const message = utf8Encode("message");
    const mixed = signMixed(message, torsion, ZERO);
    expect(verifyAndRemember(mixed.signature, message, mixed.publicKey)).toBe(false);
    const plain = signMixed(message, ZERO, ZERO);
    expect(verifyAndRemember(plain.signature, message, plain.publicKey)).toBe(true);
  });

  it("is the strict verifier's where libsodium alone refuses", () => {
    const message = utf8Encode("message");
    const { scalar, point } = ed25519.utils.getExtendedPublicKey(seed);
    const publicKey = point.toBytes();
    const R = ZERO.toBytes();
    const digest = createHash("sha512").update(R).update(publicKey).update(message).digest();
    const signature = concatBytes(R, Fn.toBytes(((littleEndian(digest) % Fn.ORDER) * scalar) % Fn.ORDER));
    expect(verifySignature(signature, message, publicKey)).toBe(false);
    expect(verifyAndRemember(signature, message, publicKey)).toBe(
      verifyEd25519Strict(signature, message, publicKey),
    );
  });

  it("is remembered from another thread, if it is yes under a fit key", async () => {
    const sent: number[] = [];
    const pool = {
      run: async (_: string, signed: JoinedBytes) => {
        sent.push(signed.lengths.length);
        return verifySignatures(signed);
      },
    };
    const aheadWith = async (
      logPool: object,
      publicKey: Uint8Array,
      payload: Uint8Array,
      ...by: Uint8Array[]
    ) => {
      const [signature, envelope_signature] = by;
      const context = { keys: { published: async () => [{ keyId: "k", publicKey }] }, logPool };
      const row = { payload, signature, envelope_signature, key_id: "k" };
      const share = createShare("other", {});
      await verifyAhead(context as never, [row as unknown as StoredAttestation], share);
    };
    const payload = utf8Encode("ahead");
    const encoded = preAuthEncoding(STATEMENT_MEDIA_TYPE, payload);
    const publicKey = ed25519.getPublicKey(seed);
    const [signature, other] = [ed25519.sign(payload, seed), ed25519.sign(encoded, seed)];
    const closed = { run: () => Promise.reject(new Error("closed")) };
    await aheadWith(closed, publicKey, payload, signature, other);
    // The two are each other's: neither holds, and neither is taken for the one that does.
    await aheadWith(pool, publicKey, payload, other, signature);
    await aheadWith(pool, publicKey, payload, other, signature.slice(1));
    expect(verifyAndRemember(other, payload, publicKey)).toBe(false);
    await aheadWith(pool, publicKey, payload, signature, other);
    await aheadWith(pool, publicKey, payload, signature, other);
    expect(sent).toEqual([2, 1, 2]);
    expect(verifyAndRemember(signature, payload, publicKey)).toBe(true);
    const mixed = Array.from({ length: 64 }, (_, i) => signMixed(utf8Encode(`unfit ${i}`), ZERO, torsion));
    for (const [i, one] of mixed.entries()) {
      const message = utf8Encode(`unfit ${i}`);
      await aheadWith(pool, one.publicKey, message, one.signature, one.signature);
      expect(verifyAndRemember(one.signature, message, one.publicKey)).toBe(false);
    }
    expect(sent).toHaveLength(3);
  });

  it("is another's for other bytes, after it was remembered", () => {
    const message = utf8Encode("message");
    const { signature, publicKey } = signMixed(message, ZERO, ZERO);
    expect(verifyAndRemember(signature, message, publicKey)).toBe(true);
    expect(verifyAndRemember(signature, utf8Encode("massage"), publicKey)).toBe(false);
    expect(verifyAndRemember(signature, message, ed25519.getPublicKey(new Uint8Array(32)))).toBe(false);
    expect(verifyAndRemember(signature.slice(1), concatBytes(message), publicKey)).toBe(false);
    // The same bytes, cut elsewhere.
    const whole = concatBytes(publicKey, signature, message);
    for (const [ofKey, ofSignature] of [
      [32, 63],
      [32, 65],
      [31, 65],
      [33, 64],
    ] as const) {
      const end = ofKey + ofSignature;
      const cut = [whole.subarray(ofKey, end), whole.subarray(end), whole.subarray(0, ofKey)] as const;
      expect(verifyAndRemember(...cut)).toBe(false);
    }
    expect(verifyAndRemember(new Uint8Array(), message, new Uint8Array())).toBe(false);
  });
});
