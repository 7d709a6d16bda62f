/**
 * For tests only: an authenticator with one passkey, made of Node's cryptography. It answers as a browser would, and can
 * be asked to lie in any part.
 */
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from "node:crypto";
import { ml_dsa44 } from "@noble/post-quantum/ml-dsa.js";
import type { RegistrationResponseJSON } from "@simplewebauthn/server";
import type { PasskeyAssertion } from "#lib/protocol/passkey/assertion";

export interface Said {
  type?: string;
  challenge?: string;
  origin?: string;
  rpId?: string;
  crossOrigin?: boolean;
  /** UP 1, UV 4, BE 8, BS 16. */
  flags?: number;
  signCount?: number;
}

export interface SignedAssertion extends PasskeyAssertion {
  credential_id: string;
}

export interface TestPasskey {
  credentialId: string;
  /** base64url of the COSE key. */
  publicKey: string;
  /** The answer to `options.challenge`. */
  register(challenge: string, said?: Said): RegistrationResponseJSON;
  /** `challenge`: raw bytes. The counter grows by one each time unless it is given. */
  assert(challenge: Uint8Array, said?: Said): SignedAssertion;
}

const base64Url = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64url");
const sha256 = (bytes: Uint8Array | string) => createHash("sha256").update(bytes).digest();

/** CBOR byte and text strings, and a map of three members: all that an attestation without a statement needs. */
function cborBytes(bytes: Uint8Array): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(bytes.length);
  return Buffer.concat([Uint8Array.of(0x59), length, bytes]);
}
const cborText = (text: string) => Buffer.concat([Uint8Array.of(0x60 + text.length), Buffer.from(text)]);

type Algorithm = "ES256" | "EdDSA" | "RS256" | "ES384" | "ML-DSA-44";

function coseKey(publicKey: KeyObject, algorithm: Exclude<Algorithm, "ML-DSA-44">): Buffer {
  const jwk = publicKey.export({ format: "jwk" });
  const part = (text: string | undefined) => Buffer.from(text ?? "", "base64url");
  const join = (...parts: (string | Buffer)[]) =>
    Buffer.concat(parts.map((one) => (typeof one === "string" ? Buffer.from(one, "hex") : one)));
  if (algorithm === "RS256") return join("a401030339010020", cborBytes(part(jwk.n)), "2143010001");
  if (algorithm === "ES384") return join("a5010203382220022158", "30", part(jwk.x), "225830", part(jwk.y));
  return algorithm === "EdDSA"
    ? Buffer.concat([Buffer.from("a4010103272006215820", "hex"), part(jwk.x)])
    : Buffer.concat([
        Buffer.from("a5010203262001215820", "hex"),
        part(jwk.x),
        Buffer.from("225820", "hex"),
        part(jwk.y),
      ]);
}

function makeKeys(algorithm: Exclude<Algorithm, "ML-DSA-44">) {
  if (algorithm === "EdDSA") return generateKeyPairSync("ed25519");
  if (algorithm === "RS256") return generateKeyPairSync("rsa", { modulusLength: 2048 });
  return generateKeyPairSync("ec", { namedCurve: algorithm === "ES384" ? "P-384" : "P-256" });
}

function makeSigner(algorithm: Exclude<Algorithm, "ML-DSA-44">) {
  const { privateKey, publicKey } = makeKeys(algorithm);
  const signBytes = (bytes: Uint8Array): Uint8Array =>
    sign(algorithm === "EdDSA" ? null : "sha256", bytes, privateKey);
  return { cose: coseKey(publicKey, algorithm), signBytes };
}

/** Stands in for a device of the kind, which neither Chromium's virtual authenticator nor Node 20 is. */
function makeMlDsa() {
  const { publicKey, secretKey } = ml_dsa44.keygen();
  const cose = Buffer.concat([Buffer.from("a3010703382f20", "hex"), cborBytes(publicKey)]);
  return { cose, signBytes: (bytes: Uint8Array): Uint8Array => ml_dsa44.sign(bytes, secretKey) };
}

export function createPasskey({
  origin = "http://localhost:3000",
  algorithm = "ES256",
  signCount = 0,
  countsUp = true,
  idBytes = 32,
}: {
  origin?: string;
  algorithm?: Algorithm;
  signCount?: number;
  countsUp?: boolean;
  idBytes?: number;
} = {}): TestPasskey {
  const { cose, signBytes } = algorithm === "ML-DSA-44" ? makeMlDsa() : makeSigner(algorithm);
  const credentialId = randomBytes(idBytes);
  let counter = signCount;

  const authenticatorData = (said: Said, more: Uint8Array, flags: number) => {
    const count = Buffer.alloc(4);
    count.writeUInt32BE(said.signCount ?? counter);
    const rpId = said.rpId ?? new URL(origin).hostname;
    return Buffer.concat([sha256(rpId), Uint8Array.of(flags), count, more]);
  };
  const clientData = (type: string, challenge: string, said: Said) =>
    Buffer.from(
      JSON.stringify({
        type: said.type ?? type,
        challenge: said.challenge ?? challenge,
        origin: said.origin ?? origin,
        crossOrigin: said.crossOrigin ?? false,
      }),
    );

  return {
    credentialId: base64Url(credentialId),
    publicKey: base64Url(cose),
    register: (challenge, said = {}) => {
      const length = Buffer.alloc(2);
      length.writeUInt16BE(credentialId.length);
      const attested = Buffer.concat([Buffer.alloc(16), length, credentialId, cose]);
      const authData = authenticatorData(said, attested, (said.flags ?? 0x05) | 0x40);
      const attestationObject = Buffer.concat([
        Uint8Array.of(0xa3),
        ...[cborText("fmt"), cborText("none"), cborText("attStmt"), Uint8Array.of(0xa0)],
        ...[cborText("authData"), cborBytes(authData)],
      ]);
      return {
        id: base64Url(credentialId),
        rawId: base64Url(credentialId),
        type: "public-key",
        clientExtensionResults: {},
        response: {
          clientDataJSON: base64Url(clientData("webauthn.create", challenge, said)),
          attestationObject: base64Url(attestationObject),
          transports: ["internal"],
        },
      };
    },
    assert: (challenge, said = {}) => {
      if (countsUp) counter += 1;
      const data = authenticatorData(said, new Uint8Array(), said.flags ?? 0x05);
      const client = clientData("webauthn.get", base64Url(challenge), said);
      const signed = Buffer.concat([data, sha256(client)]);
      const signature = signBytes(signed);
      return {
        credential_id: base64Url(credentialId),
        public_key: base64Url(cose),
        authenticator_data: base64Url(data),
        client_data_json: base64Url(client),
        signature: base64Url(signature),
      };
    },
  };
}
