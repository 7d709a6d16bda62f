/**
 * CSV (RFC 4180) that a spreadsheet shows and does not run: what would begin a formula is written with an apostrophe
 * before it, at the start of a cell and wherever a spreadsheet that splits at another character would start one.
 * The exact text is in the NDJSON export.
 */

/** `= + - @` and their full-width forms, and the white space that spreadsheets skip before them. */
const startsFormula = /^[\s\u00a0]*[=+\-@\uff1d\uff0b\uff0d\uff20]|^[\t\r\n]/;
/** The same after `;`, `|` or a tab, with anything that may come between. */
const formulaInside = /(?<=[;|\t][\s\u00a0"]*)[=+\-@\uff1d\uff0b\uff0d\uff20]/g;

export function encodeCsvCell(text: string): string {
  const inside = /[;|\t]/.test(text) ? text.replace(formulaInside, "'$&") : text;
  const harmless = startsFormula.test(inside) ? `'${inside}` : inside;
  return `"${harmless.replaceAll('"', '""')}"`;
}

/** Byte order mark, without which spreadsheets read the file as Windows-1252. */
export const byteOrderMark = "\uFEFF";

/** Encodes a line, with CRLF at its end. */
export function encodeCsvLine(cells: readonly string[]): string {
  return `${cells.map(encodeCsvCell).join(",")}\r\n`;
}
