/**
 * CSV (RFC 4180) that a spreadsheet shows and does not run: a cell that would begin a formula is written with an
 * apostrophe before it. The exact text is in the NDJSON export.
 */

/** `= + - @` and their full-width forms, and the white space that spreadsheets skip before them. */
const startsFormula = /^[\s\u00a0]*[=+\-@\uff1d\uff0b\uff0d\uff20]|^[\t\r\n]/;

export function encodeCsvCell(text: string): string {
  const harmless = startsFormula.test(text) ? `'${text}` : text;
  return /[",\r\n']/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}

/** With CRLF at its end. */
export function encodeCsvLine(cells: readonly string[]): string {
  return `${cells.map(encodeCsvCell).join(",")}\r\n`;
}
