import { execFileSync } from "node:child_process";
import crypto, {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  sign,
  verify,
} from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { ed25519 } from "@noble/curves/ed25519.js";
import { afterAll, describe, expect, it, vi } from "vitest";
import * as node from "#lib/platform/node-ed25519";
import * as portable from "#lib/platform/portable";
import { base64Encode, concatBytes, hexDecode, hexEncode, utf8Encode } from "#lib/protocol/encoding/bytes";
import { makeSignatureVectors, type SignatureVectors } from "#support/signature-vectors";
import { listVectors } from "#support/vectors";
import {
  computeDsseKeyId,
  computeJwkThumbprint,
  computeKeyId,
  decodePublicKeyPem,
  encodePublicKeyJwk,
  encodePublicKeyPem,
  encodePublicKeySpki,
  parsePublicKey,
  verifyEd25519Strict,
  vetPublicKey,
} from "./ed25519";

const SEED = hexDecode("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60");
/** RFC 8032 section 7.1, test 1; also the key of RFC 8037 appendix A. */
const PUBLIC_KEY = hexDecode("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a");
const MESSAGE = utf8Encode("message");
const SIGNATURE = ed25519.sign(MESSAGE, SEED);

/** Every encoding of a point of small order that some library accepts (eight points, six spelt twice). */
const SMALL_ORDER = [
  "0100000000000000000000000000000000000000000000000000000000000000",
  "0100000000000000000000000000000000000000000000000000000000000080",
  "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
  "0000000000000000000000000000000000000000000000000000000000000000",
  "0000000000000000000000000000000000000000000000000000000000000080",
  "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
  "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
  "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
  "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
  "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
  "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
].map(hexDecode);
const TORSION_POINT = ed25519.Point.fromBytes(SMALL_ORDER[6]!, true);

/** A signature that satisfies RFC 8032's equation with the cofactor, whatever is added to R and to the key. */
function signMixed(message: Uint8Array, ofR: typeof TORSION_POINT, ofKey: typeof TORSION_POINT) {
  const { scalar, point } = ed25519.utils.getExtendedPublicKey(SEED);
  const nonce = 12345n;
  const R = ed25519.Point.BASE.multiply(nonce).add(ofR).toBytes();
  const publicKey = point.add(ofKey).toBytes();
  const digest = createHash("sha512").update(R).update(publicKey).update(message).digest();
  const { ORDER } = ed25519.Point.Fn;
  const S = (nonce + (littleEndian(digest) % ORDER) * scalar) % ORDER;
  const bytes = Uint8Array.from(Buffer.from(S.toString(16).padStart(64, "0"), "hex").reverse());
  return { signature: concatBytes(R, bytes), publicKey };
}

async function loadStrict(half: object) {
  vi.doMock("#platform/ed25519", () => half);
  vi.resetModules();
  return (await import("./ed25519")).verifyEd25519Strict;
}

const verifiers = [
  ["with Node's half", await loadStrict(node)],
  ["with a browser's half", await loadStrict(portable)],
] as const;
afterAll(() => vi.doUnmock("#platform/ed25519"));

describe.each(verifiers)("verifyEd25519Strict %s", (_half, verifyEd25519Strict) => {
  it("accepts a signature and nothing one bit away from it", () => {
    expect(verifyEd25519Strict(SIGNATURE, MESSAGE, PUBLIC_KEY)).toBe(true);
    for (let bit = 0; bit < 512; bit += 7) {
      const changed = SIGNATURE.slice();
      changed[bit >> 3]! ^= 1 << (bit & 7);
      expect(verifyEd25519Strict(changed, MESSAGE, PUBLIC_KEY)).toBe(false);
    }
    expect(verifyEd25519Strict(SIGNATURE, utf8Encode("massage"), PUBLIC_KEY)).toBe(false);
  });

  it("answers false, and never throws, for bytes of any other length", () => {
    for (const length of [0, 1, 31, 33, 63, 65, 1000]) {
      expect(verifyEd25519Strict(new Uint8Array(length), MESSAGE, PUBLIC_KEY)).toBe(false);
      expect(verifyEd25519Strict(SIGNATURE, MESSAGE, new Uint8Array(length))).toBe(false);
    }
  });

  it("refuses the signature that Node accepts for every message under the identity key", () => {
    const identity = SMALL_ORDER[0]!;
    const universal = concatBytes(identity, new Uint8Array(32));
    const key = createPublicKey({
      key: Buffer.from(encodePublicKeySpki(identity)),
      format: "der",
      type: "spki",
    });
    expect(verify(null, MESSAGE, key, universal)).toBe(true);
    for (const publicKey of SMALL_ORDER) {
      expect(verifyEd25519Strict(universal, MESSAGE, publicKey)).toBe(false);
    }
  });

  it.each([
    ["R", TORSION_POINT, ed25519.Point.ZERO],
    ["the key", ed25519.Point.ZERO, TORSION_POINT],
  ])("refuses a signature with a torsion part in %s, on which libraries disagree", (_, ofR, ofKey) => {
    const { signature, publicKey } = signMixed(MESSAGE, ofR, ofKey);
    expect(ed25519.verify(signature, MESSAGE, publicKey, { zip215: false })).toBe(true);
    const key = createPublicKey(encodePublicKeyPem(publicKey));
    expect(verify(null, MESSAGE, key, signature)).toBe(false);
    expect(verifyEd25519Strict(signature, MESSAGE, publicKey)).toBe(false);
  });

  it("refuses what Node accepts under a key with a torsion part", () => {
    let accepted = 0;
    for (let i = 0; i < 32; i++) {
      const message = utf8Encode(`message ${i}`);
      const { signature, publicKey } = signMixed(message, ed25519.Point.ZERO, TORSION_POINT);
      accepted += Number(node.holdsWithoutCofactor(signature, message, publicKey));
      expect(verifyEd25519Strict(signature, message, publicKey)).toBe(false);
    }
    // Where eight divides the challenge: eight times the torsion is nothing.
    expect(accepted).toBeGreaterThan(0);
  });

  it.each([
    ["made of OpenSSL's signatures", JSON.stringify(makeSignatureVectors())],
    ...listVectors("ed25519/wycheproof_ed25519.json"),
  ])("agrees with the vectors %s, and the keys' texts with their PEM and JWK", (_, text) => {
    let valid = 0;
    let invalid = 0;
    for (const group of (JSON.parse(text) as SignatureVectors).testGroups) {
      const publicKey = hexDecode(group.publicKey.pk);
      expect(encodePublicKeyPem(publicKey)).toBe(group.publicKeyPem);
      expect(parsePublicKey(group.publicKeyPem)).toEqual({ ok: true, publicKey });
      expect(encodePublicKeyJwk(publicKey).x).toBe(group.publicKeyJwk.x);
      for (const { tcId, comment, msg, sig, result } of group.tests) {
        const accepted = verifyEd25519Strict(hexDecode(sig), hexDecode(msg), publicKey);
        expect(accepted, `test ${tcId}: ${comment}`).toBe(result === "valid");
        if (accepted) valid++;
        else invalid++;
      }
    }
    expect(valid).toBeGreaterThan(80);
    expect(invalid).toBeGreaterThan(50);
  });
});

it("Node without Ed25519 in its OpenSSL judges as a browser does", () => {
  const unsupported = vi.spyOn(crypto, "verify").mockImplementation(() => {
    throw new Error("unsupported");
  });
  expect(node.holdsWithoutCofactor(SIGNATURE, MESSAGE, PUBLIC_KEY)).toBeUndefined();
  const [, verifyOnNode] = verifiers[0];
  expect(verifyOnNode(SIGNATURE, MESSAGE, PUBLIC_KEY)).toBe(true);
  expect(verifyOnNode(SIGNATURE, utf8Encode("massage"), PUBLIC_KEY)).toBe(false);
  unsupported.mockRestore();
});

describe("vetPublicKey", () => {
  it("accepts honest keys, in PEM of any line ending and in base64", () => {
    const { publicKey } = generateKeyPairSync("ed25519");
    const raw = Uint8Array.from(publicKey.export({ format: "der", type: "spki" }).subarray(12));
    const pem = String(publicKey.export({ format: "pem", type: "spki" }));
    expect(vetPublicKey(raw)).toEqual({ ok: true });
    expect(encodePublicKeyPem(raw)).toBe(pem);
    for (const text of [
      pem,
      pem.replaceAll("\n", "\r\n"),
      pem.trim(),
      base64Encode(raw),
      `${base64Encode(raw)}\n`,
    ]) {
      expect(parsePublicKey(text)).toEqual({ ok: true, publicKey: raw });
    }
  });

  it.each(SMALL_ORDER.map(hexEncode))("refuses the point of small order %s", (hex) => {
    const publicKey = hexDecode(hex);
    expect(vetPublicKey(publicKey).ok).toBe(false);
    expect(parsePublicKey(base64Encode(publicKey)).ok).toBe(false);
    expect(parsePublicKey(encodePublicKeyPem(publicKey)).ok).toBe(false);
  });

  it("refuses an honest key with any of the seven torsion points added", () => {
    const honest = ed25519.Point.fromBytes(PUBLIC_KEY);
    let torsion = TORSION_POINT;
    for (let i = 1; i < 8; i++) {
      const mixed = honest.add(torsion).toBytes();
      expect(vetPublicKey(mixed)).toEqual({ ok: false, problem: expect.stringContaining("torsion") });
      torsion = torsion.add(TORSION_POINT);
    }
    expect(torsion.is0()).toBe(true);
  });

  it("refuses points that are not on the curve, encodings beyond the field and other lengths", () => {
    const offCurve = hexDecode(`02${"00".repeat(31)}`);
    const beyond = hexDecode(`f0${"ff".repeat(30)}7f`);
    for (const bytes of [offCurve, beyond, new Uint8Array(31).fill(9), new Uint8Array(33).fill(9)]) {
      expect(vetPublicKey(bytes).ok).toBe(false);
    }
  });

  it.each(["", "abc", "-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----", `${"A".repeat(42)}B=`])(
    "refuses the text %j",
    (text) => {
      expect(parsePublicKey(text).ok).toBe(false);
    },
  );

  it("refuses the PEM of another algorithm and of a private key", () => {
    const x25519 = generateKeyPairSync("x25519").publicKey.export({ format: "pem", type: "spki" });
    const secret = generateKeyPairSync("ed25519").privateKey.export({ format: "pem", type: "pkcs8" });
    for (const pem of [x25519, secret, encodePublicKeyPem(PUBLIC_KEY).repeat(2)]) {
      expect(parsePublicKey(String(pem)).ok).toBe(false);
    }
    expect(() => decodePublicKeyPem(String(secret))).toThrow(RangeError);
  });
});

describe("names of a key", () => {
  it("are the RFC 7638 thumbprint of RFC 8037 appendix A.3 and the SSH fingerprint", () => {
    expect(computeJwkThumbprint(PUBLIC_KEY)).toBe("kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
    expect(computeKeyId(PUBLIC_KEY)).toBe(createHash("sha256").update(PUBLIC_KEY).digest("hex").slice(0, 16));
    const wire = Buffer.concat([Buffer.from("0000000b7373682d6564323535313900000020", "hex"), PUBLIC_KEY]);
    const fingerprint = createHash("sha256").update(wire).digest("base64").replace("=", "");
    expect(computeDsseKeyId(PUBLIC_KEY)).toBe(`SHA256:${fingerprint}`);
  });
});

describe("a raw signature", () => {
  it("passes the one line of openssl that our answers print, and a changed payload fails it", () => {
    const folder = mkdtempSync(path.join(os.tmpdir(), "ed25519-"));
    try {
      const file = (name: string) => path.join(folder, name);
      const pkcs8 = Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), SEED]);
      const payload = utf8Encode('{"a":1}');
      const signature = sign(null, payload, createPrivateKey({ key: pkcs8, format: "der", type: "pkcs8" }));
      expect(verifyEd25519Strict(signature, payload, PUBLIC_KEY)).toBe(true);
      writeFileSync(file("pub.pem"), encodePublicKeyPem(PUBLIC_KEY));
      writeFileSync(file("payload.json"), payload);
      writeFileSync(file("sig.bin"), signature);
      const options = [
        "-verify",
        "-pubin",
        "-inkey",
        "pub.pem",
        "-rawin",
        "-in",
        "payload.json",
        "-sigfile",
        "sig.bin",
      ];
      const run = () =>
        execFileSync("openssl", ["pkeyutl", ...options], { cwd: folder, stdio: "pipe" }).toString();
      expect(run()).toContain("Signature Verified Successfully");
      writeFileSync(file("payload.json"), '{"a":2}');
      expect(run).toThrow();
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

function littleEndian(bytes: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(bytes).reverse().toString("hex")}`);
}
