/** UUIDs in their one lower-case spelling (RFC 9562). */
const uuidPattern = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

export function isUuid(text: string): boolean {
  return uuidPattern.test(text);
}
