import { createPrivateKey, createPublicKey, generateKeyPairSync, sign } from "node:crypto";
import { expect, it } from "vitest";
import { base64Encode, hexDecode, utf8Encode } from "#lib/protocol/encoding/bytes";
import { decodePrivateKeyPem, encodePrivateKeyPem } from "./agent-seed";
import { decodePublicKeyPem, derivePublicKeyPem, possessionText, provePossession } from "./ed25519";

// RFC 8032 section 7.1, test 1
const seed = hexDecode("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60");

it("writes keys that OpenSSL reads, and signs as OpenSSL does", () => {
  const privateKey = createPrivateKey(encodePrivateKeyPem(seed));
  const publicPem = createPublicKey(privateKey).export({ format: "pem", type: "spki" });
  expect(derivePublicKeyPem(seed)).toBe(publicPem);
  const text = utf8Encode(possessionText("invoice-bot", decodePublicKeyPem(String(publicPem))));
  expect(provePossession(seed, "invoice-bot")).toBe(base64Encode(sign(null, text, privateKey)));
});

it("reads the keys that it and OpenSSL write, and no other kind", () => {
  expect(decodePrivateKeyPem(encodePrivateKeyPem(seed))).toEqual(seed);
  const openssl = createPrivateKey(encodePrivateKeyPem(seed)).export({ format: "pem", type: "pkcs8" });
  expect(decodePrivateKeyPem(String(openssl).replaceAll("\n", "\r\n"))).toEqual(seed);
  const other = generateKeyPairSync("x25519").privateKey.export({ format: "pem", type: "pkcs8" });
  for (const pem of [String(other), derivePublicKeyPem(seed), `x${openssl}`, ""])
    expect(() => decodePrivateKeyPem(pem)).toThrow(RangeError);
});

it("binds the proof to the slug", () => {
  expect(provePossession(seed, "a")).not.toBe(provePossession(seed, "b"));
});

it("refuses a seed of another length", () => {
  expect(() => encodePrivateKeyPem(seed.subarray(1))).toThrow(RangeError);
});
