/** Lists in pages: a cursor names the last row shown, so that a page is stable while new rows arrive. */

import { AppError } from "#lib/errors";
import { base64UrlDecode, base64UrlEncode, utf8Decode, utf8Encode } from "#lib/protocol/encoding/bytes";

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
  cursorOf: (row: Row) => string,
): { shown: Row[]; nextCursor: string | null } {
  const last = rows[limit - 1];
  return {
    shown: rows.slice(0, limit),
    nextCursor: rows.length > limit && last !== undefined ? cursorOf(last) : null,
  };
}
