/**
 * The mark of a browser in which somebody signed in: a cookie for their address. Sign-in links that such a browser asks for are
 * counted by themselves, so that strangers who use up an address's links don't lock its owner out (OWASP, "Slow Down Online
 * Guessing Attacks with Device Cookies").
 */

import type { HttpContext } from "#lib/api/http/context";
import { makeToken, readToken } from "#lib/api/http/link-token";
import {
  base64UrlDecode,
  base64UrlEncode,
  bytesEqual,
  concatBytes,
  sha256,
  utf8Encode,
} from "#lib/protocol/encoding/bytes";

export const knownDeviceCookie = "countersign-known-device";

const randomBytes = 16;
const hashAddress = (email: string) => sha256(utf8Encode(email.toLowerCase()));

/** For the browser that signs in as `email`. */
export function markDevice({ secrets, random }: HttpContext, email: string): string {
  const id = concatBytes(random(randomBytes), hashAddress(email));
  return makeToken(secrets.knownDevice, base64UrlEncode(id));
}

/** The browser's id; null if `email` has not signed in there. */
export function findKnownDevice(
  { secrets }: HttpContext,
  email: string,
  mark: string | undefined,
): string | null {
  const id = readToken(secrets.knownDevice, mark ?? "");
  if (id === null) return null;
  const address = base64UrlDecode(id).subarray(randomBytes);
  return bytesEqual(address, hashAddress(email)) ? id : null;
}
