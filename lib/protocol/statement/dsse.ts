/**
 * DSSE envelopes (github.com/secure-systems-lab/dsse, protocol and envelope v1.0) with exactly one Ed25519
 * signature, as Sigstore bundles demand:
 *
 *     {"payload":"<base64>","payloadType":"application/vnd.in-toto+json","signatures":[{"keyid":"SHA256:…","sig":"<base64>"}]}
 */
import { base64Decode, base64Encode, concatBytes, utf8Encode } from "#lib/protocol/encoding/bytes";
import {
  canonicalJson,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "#lib/protocol/encoding/canonical-json";
import {
  computeDsseKeyId,
  SIGNATURE_BYTES,
  type VerifyEd25519,
  verifyEd25519Strict,
} from "#lib/protocol/keys/ed25519";
import { STATEMENT_MEDIA_TYPE } from "./statement";

export type Envelope = {
  payloadType: string;
  payload: Uint8Array;
  /** A hint only: which key to try, never whom to trust. */
  keyId: string;
  signature: Uint8Array;
};

/** PAE: what is signed. */
export function preAuthEncoding(payloadType: string, payload: Uint8Array): Uint8Array {
  const type = utf8Encode(payloadType);
  return concatBytes(utf8Encode(`DSSEv1 ${type.length} ${payloadType} ${payload.length} `), payload);
}

export function signEnvelope(
  payload: Uint8Array,
  publicKey: Uint8Array,
  sign: (bytes: Uint8Array) => Uint8Array,
): Envelope {
  const payloadType = STATEMENT_MEDIA_TYPE;
  const signature = sign(preAuthEncoding(payloadType, payload));
  return { payloadType, payload, keyId: computeDsseKeyId(publicKey), signature };
}

export function verifyEnvelope(
  { payloadType, payload, signature }: Envelope,
  publicKey: Uint8Array,
  verify: VerifyEd25519 = verifyEd25519Strict,
): boolean {
  return verify(signature, preAuthEncoding(payloadType, payload), publicKey);
}

export function envelopeToJson({ payloadType, payload, keyId, signature }: Envelope): JsonObject {
  return {
    payload: base64Encode(payload),
    payloadType,
    signatures: [{ keyid: keyId, sig: base64Encode(signature) }],
  };
}

/**
 * The file: canonical JSON, so that its hash in the log is the hash of these very bytes. Written out, because every
 * verification does it; the names are in their canonical order.
 */
export function encodeEnvelope({ payloadType, payload, keyId, signature }: Envelope): Uint8Array {
  const signed = `{"keyid":${canonicalJson(keyId)},"sig":"${base64Encode(signature)}"}`;
  return utf8Encode(
    `{"payload":"${base64Encode(payload)}","payloadType":${canonicalJson(payloadType)},"signatures":[${signed}]}`,
  );
}

/** Throws RangeError for anything but the three fields, one signature and its two fields. */
export function envelopeFromJson(value: JsonValue): Envelope {
  const { payload, payloadType, signatures } = requireFields(value, ["payload", "payloadType", "signatures"]);
  if (!Array.isArray(signatures) || signatures.length !== 1)
    throw new RangeError("not exactly one signature");
  const { keyid, sig } = requireFields(signatures[0] ?? null, ["keyid", "sig"]);
  const signature = base64Decode(requireString(sig));
  if (signature.length !== SIGNATURE_BYTES) throw new RangeError("an Ed25519 signature has 64 bytes");
  return {
    payload: base64Decode(requireString(payload)),
    payloadType: requireString(payloadType),
    keyId: requireString(keyid),
    signature,
  };
}

export function requireFields<Name extends string>(
  value: JsonValue | undefined,
  names: readonly Name[],
): Record<Name, JsonValue> {
  if (!isJsonObject(value) || Object.keys(value).sort().join() !== [...names].sort().join()) {
    throw new RangeError(`expected an object of ${names.join(", ")}`);
  }
  return value as Record<Name, JsonValue>;
}

export function requireString(value: JsonValue | undefined): string {
  if (typeof value !== "string") throw new RangeError("expected a string");
  return value;
}
