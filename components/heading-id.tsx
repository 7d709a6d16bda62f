/** The anchor of a heading: lower case, hyphens for spaces; underscores stay, so an error code is its own anchor. */
export function headingId(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^a-z0-9_\s-]/g, "")
    .trim()
    .replace(/\s+/g, "-");
}
