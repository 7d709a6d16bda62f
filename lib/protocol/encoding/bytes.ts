/**
 * Bytes and their text forms. Every decoder refuses what its encoder would not write, so that one value
 * has one spelling: two texts that decode to the same bytes cannot pass for two signatures or two keys.
 */
import { concatBytes, fromBase64, fromHex, sha256, toBase64, toHex } from "#platform/bytes";

export { concatBytes, sha256 };

const textEncoder = new TextEncoder();
const textDecoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export function utf8Encode(text: string): Uint8Array {
  return textEncoder.encode(text);
}

/** Throws TypeError if the bytes are not UTF-8. */
export function utf8Decode(bytes: Uint8Array): string {
  return textDecoder.decode(bytes);
}

/** Parts in one buffer: sending many to a thread takes longer. */
export interface JoinedBytes {
  bytes: Uint8Array;
  lengths: readonly number[];
}

export const joinBytes = (parts: readonly Uint8Array[]): JoinedBytes => ({
  bytes: concatBytes(...parts),
  lengths: parts.map(({ length }) => length),
});

export function splitBytes({ bytes, lengths }: JoinedBytes): Uint8Array[] {
  let end = 0;
  return lengths.map((length) => {
    end += length;
    return bytes.subarray(end - length, end);
  });
}

/** Lower case, without `0x`. */
export function hexEncode(bytes: Uint8Array): string {
  return toHex(bytes);
}

/** Lower-case hex of even length without `0x`; throws RangeError otherwise. */
export function hexDecode(hex: string): Uint8Array {
  if (!/^(?:[0-9a-f]{2})*$/.test(hex)) throw new RangeError("not lower-case hex");
  return fromHex(hex);
}

/** RFC 4648 section 4, padded. */
export function base64Encode(bytes: Uint8Array): string {
  return toBase64(bytes);
}

/** RFC 4648 section 4, padded, no white space, zero trailing bits; throws RangeError otherwise. */
export function base64Decode(text: string): Uint8Array {
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text) || text.length % 4 !== 0) throw new RangeError("not base64");
  if (text.endsWith("=") && !/(?:[AQgw]=|[AEIMQUYcgkosw048])=$/.test(text))
    throw new RangeError("not canonical base64");
  return fromBase64(text);
}

/** RFC 4648 section 5, without padding. */
export function base64UrlEncode(bytes: Uint8Array): string {
  return base64Encode(bytes).replace(/=+$/, "").replaceAll("+", "-").replaceAll("/", "_");
}

/** RFC 4648 section 5, without padding; throws RangeError otherwise. */
export function base64UrlDecode(text: string): Uint8Array {
  if (!/^[A-Za-z0-9_-]*$/.test(text)) throw new RangeError("not base64url");
  const padded = text.replaceAll("-", "+").replaceAll("_", "/");
  return base64Decode(padded + "=".repeat((4 - (padded.length % 4)) % 4));
}

export function base64UrlDecodeOrNull(text: string): Uint8Array | null {
  try {
    return base64UrlDecode(text);
  } catch {
    return null;
  }
}

/** Compares public values: not constant-time. */
export function bytesEqual(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i += 1) if (a[i] !== b[i]) return false;
  return true;
}

/* Identifiers. Time (milliseconds since 1970) and randomness come in as parameters. */

/** RFC 9562 section 5.7; `random` has 16 bytes, of which the last ten are used. */
export function uuidV7(timeMs: number, random: Uint8Array): string {
  const bytes = new Uint8Array(random);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, Math.floor(timeMs / 2 ** 16));
  view.setUint16(4, timeMs % 2 ** 16);
  view.setUint16(6, 0x7000 | (view.getUint16(6) & 0x0fff));
  view.setUint16(8, 0x8000 | (view.getUint16(8) & 0x3fff));
  return hexEncode(bytes).replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

/** `areq_` and 22 base64url characters of 16 random bytes. */
export function authorizationRequestId(random: Uint8Array): string {
  if (random.length !== 16) throw new RangeError("16 random bytes needed");
  return `areq_${base64UrlEncode(random)}`;
}

export const authorizationRequestIdPattern = /^areq_[A-Za-z0-9_-]{22}$/;

/** `req_` and 24 hex digits of 12 random bytes. */
export function httpRequestId(random: Uint8Array): string {
  return `req_${hexEncode(random.subarray(0, 12))}`;
}

/** UUIDs in their one lower-case spelling (RFC 9562). */
const uuidPattern = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export function isUuid(text: string): boolean {
  return uuidPattern.test(text);
}
