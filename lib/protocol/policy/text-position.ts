/** Lines and columns of a text, from 1, for people who look for a mistake in it. */
import { utf8Encode } from "#lib/protocol/encoding/bytes";

export interface TextPosition {
  line: number;
  /** In characters (code points). */
  column: number;
}

export function positionAt(text: string, index: number): TextPosition {
  const before = text.slice(0, index).split("\n");
  return { line: before.length, column: [...(before.at(-1) ?? "")].length + 1 };
}

/** Cedar counts octets of UTF-8. */
export function positionAtOctet(text: string, octet: number): TextPosition {
  const before = new TextDecoder().decode(utf8Encode(text).subarray(0, octet));
  return positionAt(text, before.length);
}
