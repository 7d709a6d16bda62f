/** Ed25519 by node:crypto with the parsed key kept: parsing the PEM at each call costs ten times the signature. */
import { createPrivateKey, createPublicKey, type KeyObject, sign } from "node:crypto";
import { computeKeyId } from "#lib/domain/ed25519-key";
import { count } from "#lib/steps";
import type { Signer } from "./signer";

/** RFC 8410: the prefix of the seed in PKCS #8. */
const pkcs8Prefix = Buffer.from("302e020100300506032b657004220420", "hex");

function parsePrivateKey(text: string): KeyObject {
  if (text.includes("-----BEGIN")) return createPrivateKey(text.replaceAll("\\n", "\n"));
  const seed = Buffer.from(text, "base64");
  if (seed.length !== 32) throw new Error("not the base64 of a 32-byte seed");
  return createPrivateKey({ key: Buffer.concat([pkcs8Prefix, seed]), format: "der", type: "pkcs8" });
}

/** `text`: PKCS #8 PEM, or base64 of the 32-byte seed; `name` is the setting or file that messages name. */
export function createLocalSigner(text: string, name: string): Signer {
  let privateKey: KeyObject;
  try {
    privateKey = parsePrivateKey(text.trim());
  } catch (cause) {
    throw new Error(`${name}: must be an Ed25519 private key (PKCS #8 PEM, or base64 of its 32-byte seed)`, {
      cause,
    });
  }
  if (privateKey.asymmetricKeyType !== "ed25519") throw new Error(`${name}: must be an Ed25519 key`);
  const spki = createPublicKey(privateKey).export({ format: "der", type: "spki" });
  const publicKey = new Uint8Array(spki.subarray(spki.length - 32));
  const keyId = computeKeyId(publicKey);
  return {
    keyId,
    publicKey,
    sign: (message) => {
      count("signature", keyId);
      return new Uint8Array(sign(null, message, privateKey));
    },
  };
}
