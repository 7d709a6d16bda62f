/**
 * Secret part of a link: `<id>.<HMAC>`. The HMAC is under a secret of the server, so that knowing the id doesn't give
 * the link, and the link can be made again without being stored.
 */
import { createHmac, timingSafeEqual } from "node:crypto";

function authenticator(secret: Uint8Array, id: string): Buffer {
  return createHmac("sha256", secret).update(id).digest();
}

export const makeToken = (secret: Uint8Array, id: string): string =>
  `${id}.${authenticator(secret, id).toString("base64url")}`;

/** The id; null for a token that this service did not make. */
export function readToken(secret: Uint8Array, token: string): string | null {
  const [, id, mac] = /^([A-Za-z0-9_-]{1,64})\.([A-Za-z0-9_-]{43})$/.exec(token) ?? [];
  if (id === undefined || mac === undefined) return null;
  const expected = authenticator(secret, id);
  const given = Buffer.from(mac, "base64url");
  // One spelling only: base64url's last character has bits that decode to nothing.
  const isCanonical = given.toString("base64url") === mac;
  return isCanonical && given.length === expected.length && timingSafeEqual(given, expected) ? id : null;
}
