/** Text for a picture, whose font has Latin letters only. */

const maxLength = 120;

/**
 * Null for other letters, for which the renderer would ask a foreign host for a font: such a text is left to the page.
 * Hidden characters are outside this range too, the soft hyphen (U+00AD) among them.
 */
export function drawable(text: string): string | null {
  if (!/^[\x20-\x7e\xa1-\xac\xae-\xff\u0100-\u017f\u2010-\u2026\u20ac]*$/.test(text)) return null;
  return text.length <= maxLength ? text : `${text.slice(0, maxLength)}…`;
}
