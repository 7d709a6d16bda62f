/** A signer of a secret key that is at hand: in a setting, in a file, or unwrapped by a KMS. */
import { createPrivateKey, type KeyObject } from "node:crypto";
import { count } from "#lib/instrumentation";
import { computeKeyId } from "#lib/protocol/keys/ed25519-key";
import { openKeyPair } from "./libsodium";
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
  const seed = Buffer.from(String(privateKey.export({ format: "jwk" }).d), "base64url");
  const { publicKey, sign } = openKeyPair(seed);
  const keyId = computeKeyId(publicKey);
  return {
    keyId,
    publicKey,
    sign: (message) => {
      count("signature", keyId);
      return sign(message);
    },
  };
}
