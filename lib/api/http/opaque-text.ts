/** Texts that this service gives out and reads again: cursors of lists, and the secret part of links. */
import { createHmac, timingSafeEqual } from "node:crypto";
import { AppError } from "#lib/errors";
import { base64UrlDecode, base64UrlEncode, utf8Decode, utf8Encode } from "#lib/protocol/encoding/bytes";

/* Lists in pages: a cursor names the last row shown, so that a page is stable while new rows arrive. */

export interface PageQuery {
  limit: number;
  cursor?: string | undefined;
}

export const encodeCursor = (text: string): string => base64UrlEncode(utf8Encode(text));

const wrongCursor = () => new AppError("bad_request", "cursor: is not one that this service gave out");

/** Decodes with `read`; a cursor that it can't read wasn't made here. */
export function decodeCursor<Place>(cursor: string, read: (text: string) => Place | undefined): Place {
  let text: string;
  try {
    text = utf8Decode(base64UrlDecode(cursor));
  } catch {
    throw wrongCursor();
  }
  const place = read(text);
  if (place === undefined) throw wrongCursor();
  return place;
}

/** `rows`: one more than the page holds, if there are more. */
export function cutPage<Row>(
  rows: readonly Row[],
  { limit }: PageQuery,
  writeCursor: (row: Row) => string,
): { shown: Row[]; nextCursor: string | null } {
  const last = rows[limit - 1];
  return {
    shown: rows.slice(0, limit),
    nextCursor: rows.length > limit && last !== undefined ? writeCursor(last) : null,
  };
}

/*
 * Secret part of a link: `<id>.<HMAC>`. The HMAC is under a secret of the server, so that knowing the id doesn't give
 * the link, and the link can be made again without being stored.
 */

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
  // Rejects other spellings: base64url's last character has bits that decode to nothing.
  const isCanonical = given.toString("base64url") === mac;
  return isCanonical && given.length === expected.length && timingSafeEqual(given, expected) ? id : null;
}
