/**
 * The data of a leaf: canonical JSON in the form of Rekor's `dsse` 0.0.1 entry, which Sigstore's verifiers
 * read. Hashes and a signature only, so erasing a payload leaves the log valid:
 *
 *     {"apiVersion":"0.0.1","kind":"dsse","spec":{"envelopeHash":{"algorithm":"sha256","value":"…"},
 *      "payloadHash":{"algorithm":"sha256","value":"…"},"signatures":[{"signature":"…","verifier":"<base64 of PEM>"}]}}
 */
import {
  base64Decode,
  base64Encode,
  bytesEqual,
  hexDecode,
  hexEncode,
  sha256,
  utf8Decode,
  utf8Encode,
} from "#lib/protocol/encoding/bytes";
import type { JsonValue } from "#lib/protocol/encoding/canonical-json";
import { parseStrictJson } from "#lib/protocol/encoding/strict-json";
import { SIGNATURE_BYTES } from "#lib/protocol/keys/ed25519";
import { decodePublicKeyPem, encodePublicKeyPem } from "#lib/protocol/keys/ed25519-key";
import { type Envelope, encodeEnvelope, requireFields, requireString } from "#lib/protocol/statement/dsse";

export const LEAF_KIND = "dsse";
export const LEAF_VERSION = "0.0.1";

export type LogLeaf = {
  /** SHA-256 of the envelope's canonical JSON. */
  envelopeHash: Uint8Array;
  payloadHash: Uint8Array;
  /** Over the envelope's PAE. */
  signature: Uint8Array;
  publicKey: Uint8Array;
};

export function makeLogLeaf(envelope: Envelope, publicKey: Uint8Array): LogLeaf {
  return {
    envelopeHash: sha256(encodeEnvelope(envelope)),
    payloadHash: sha256(envelope.payload),
    signature: envelope.signature,
    publicKey,
  };
}

/** Canonical JSON, written out because every verification does it; the names are in their canonical order. */
export function encodeLogLeaf({ envelopeHash, payloadHash, signature, publicKey }: LogLeaf): Uint8Array {
  const verifier = base64Encode(utf8Encode(encodePublicKeyPem(publicKey)));
  const signed = `{"signature":"${base64Encode(signature)}","verifier":"${verifier}"}`;
  const hashes = `"envelopeHash":${encodeDigest(envelopeHash)},"payloadHash":${encodeDigest(payloadHash)}`;
  return utf8Encode(
    `{"apiVersion":"${LEAF_VERSION}","kind":"${LEAF_KIND}","spec":{${hashes},"signatures":[${signed}]}}`,
  );
}

/** Throws RangeError or SyntaxError for all bytes but those that {@link encodeLogLeaf} writes. */
export function parseLogLeaf(data: Uint8Array): LogLeaf {
  const entry = requireFields(parseStrictJson(decodeText(data)), ["apiVersion", "kind", "spec"]);
  const spec = requireFields(entry.spec, ["envelopeHash", "payloadHash", "signatures"]);
  if (!Array.isArray(spec.signatures) || spec.signatures.length !== 1) {
    throw new RangeError("not exactly one signature");
  }
  const { signature, verifier } = requireFields(spec.signatures[0], ["signature", "verifier"]);
  const leaf: LogLeaf = {
    envelopeHash: decodeDigest(spec.envelopeHash),
    payloadHash: decodeDigest(spec.payloadHash),
    signature: base64Decode(requireString(signature)),
    publicKey: decodePublicKeyPem(decodeText(base64Decode(requireString(verifier)))),
  };
  if (leaf.signature.length !== SIGNATURE_BYTES) throw new RangeError("an Ed25519 signature has 64 bytes");
  if (!bytesEqual(encodeLogLeaf(leaf), data)) throw new RangeError("not the canonical form of a leaf");
  return leaf;
}

/** Every field counts. */
export function leafMatchesEnvelope(data: Uint8Array, envelope: Envelope, publicKey: Uint8Array): boolean {
  return bytesEqual(data, encodeLogLeaf(makeLogLeaf(envelope, publicKey)));
}

const encodeDigest = (hash: Uint8Array) => `{"algorithm":"sha256","value":"${hexEncode(hash)}"}`;

function decodeDigest(value: JsonValue): Uint8Array {
  const digest = requireFields(value, ["algorithm", "value"]);
  const hash = hexDecode(requireString(digest.value));
  if (digest.algorithm !== "sha256" || hash.length !== 32) throw new RangeError("not a SHA-256 digest");
  return hash;
}

function decodeText(bytes: Uint8Array): string {
  try {
    return utf8Decode(bytes);
  } catch {
    throw new RangeError("not UTF-8");
  }
}
