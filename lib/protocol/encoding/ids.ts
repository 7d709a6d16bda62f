/** Identifiers. Time (milliseconds since 1970) and randomness come in as parameters. */
import { base64UrlEncode, hexEncode } from "./bytes";

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
