/**
 * A credential's public key in COSE (RFC 9053), in the one form that CTAP2's canonical CBOR gives it. WebAuthn wants this
 * form of authenticators, so the key is compared with a template and no CBOR is parsed here.
 *
 *     ES256: a5 01 02 03 26 20 01 21 58 20 <x, 32 bytes> 22 58 20 <y, 32 bytes>
 *     EdDSA: a4 01 01 03 27 20 06 21 58 20 <x, 32 bytes>
 *     RS256: a4 01 03 03 39 01 00 20 59 <length, 2 bytes> <n, 256 to 512 bytes> 21 43 01 00 01
 */
import { p256 } from "@noble/curves/nist.js";
import { bytesEqual, concatBytes, hexDecode } from "#lib/protocol/encoding/bytes";
import { vetPublicKey } from "#lib/protocol/keys/ed25519";
import { type Fault, fault } from "#lib/protocol/statement/outcome";

export type PasskeyKey =
  | { ok: true; algorithm: "ES256" /** SEC 1, uncompressed: 65 bytes. */; point: Uint8Array }
  | { ok: true; algorithm: "EdDSA" /** RFC 8032: 32 bytes. */; publicKey: Uint8Array }
  /** RSA with the exponent 65,537; big-endian, its first bit set. */
  | { ok: true; algorithm: "RS256"; modulus: Uint8Array };

const COORDINATE_BYTES = 32;
const es256 = { start: hexDecode("a5010203262001215820"), middle: hexDecode("225820") };
const edDsa = { start: hexDecode("a4010103272006215820") };
const rs256 = { start: hexDecode("a40103033901002059"), end: hexDecode("2143010001") };
/** 2,048 to 4,096 bits. */
const modulusBytes = { min: 256, max: 512 };
/** Bytes of the longest key: RS256 with 4,096 bits. */
export const maxCoseKeyBytes = rs256.start.length + 2 + modulusBytes.max + rs256.end.length;

const encodeEs256Key = (x: Uint8Array, y: Uint8Array): Uint8Array =>
  concatBytes(es256.start, x, es256.middle, y);

const startsWith = (bytes: Uint8Array, start: Uint8Array) =>
  bytesEqual(bytes.subarray(0, start.length), start);

export function parseCoseKey(bytes: Uint8Array): PasskeyKey | Fault {
  if (startsWith(bytes, es256.start)) return readEs256(bytes);
  if (startsWith(bytes, edDsa.start)) return readEdDsa(bytes);
  if (startsWith(bytes, rs256.start)) return readRs256(bytes);
  return fault("passkey_key_unsupported");
}

function readEs256(bytes: Uint8Array): PasskeyKey | Fault {
  const x = bytes.subarray(es256.start.length, es256.start.length + COORDINATE_BYTES);
  const y = bytes.subarray(-COORDINATE_BYTES);
  if (!bytesEqual(encodeEs256Key(x, y), bytes)) return fault("passkey_key_malformed");
  const point = concatBytes(Uint8Array.of(4), x, y);
  try {
    p256.Point.fromBytes(point).assertValidity();
  } catch {
    return fault("passkey_key_malformed");
  }
  return { ok: true, algorithm: "ES256", point };
}

function readEdDsa(bytes: Uint8Array): PasskeyKey | Fault {
  const publicKey = bytes.slice(edDsa.start.length);
  if (!vetPublicKey(publicKey).ok) return fault("passkey_key_malformed");
  return { ok: true, algorithm: "EdDSA", publicKey };
}

function readRs256(bytes: Uint8Array): PasskeyKey | Fault {
  const modulus = bytes.slice(rs256.start.length + 2, -rs256.end.length);
  const { length } = modulus;
  const written = concatBytes(rs256.start, Uint8Array.of(length >> 8, length & 0xff), modulus, rs256.end);
  const [first = 0, last = 0] = [modulus[0], modulus.at(-1)];
  const isFit = length >= modulusBytes.min && length <= modulusBytes.max && first >= 0x80 && last % 2 === 1;
  if (!isFit || !bytesEqual(written, bytes)) return fault("passkey_key_malformed");
  return { ok: true, algorithm: "RS256", modulus };
}
