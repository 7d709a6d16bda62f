/** Identifiers. Time (milliseconds since 1970) and randomness come in as parameters. */
import { v7 } from "uuid";
import { base64UrlEncode, hexEncode } from "./bytes";

/** RFC 9562 section 5.7; `random` has 16 bytes. */
export function uuidV7(timeMs: number, random: Uint8Array): string {
  return v7({
    msecs: timeMs,
    random,
    seq: ((random[6] ?? 0) << 24) | ((random[7] ?? 0) << 16) | ((random[8] ?? 0) << 8) | (random[9] ?? 0),
  });
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
