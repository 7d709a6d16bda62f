/**
 * A list as PostgreSQL reads it from text (manual, section 8.15.2). Drivers guess the types of lists, each its own way;
 * text they pass on as it is, and the server knows what it expects.
 */
export type ArrayElement = string | number | boolean | Uint8Array | null | undefined;

/** A comma, a brace, a quote, a backslash, white space, the word NULL or nothing at all must be quoted. */
const needsQuotes = /[\s,{}"\\]|^null$|^$/i;

function writeElement(element: ArrayElement): string {
  if (element === null || element === undefined) return "NULL";
  if (element instanceof Uint8Array)
    return `\\\\x${Buffer.from(element.buffer, element.byteOffset, element.length).toString("hex")}`;
  const text = String(element);
  return needsQuotes.test(text) ? `"${text.replaceAll(/["\\]/g, "\\$&")}"` : text;
}

export function arrayLiteral(elements: readonly ArrayElement[]): string {
  return `{${elements.map(writeElement).join(",")}}`;
}
