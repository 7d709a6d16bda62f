/** Which errors say that the database (or whatever else is asked) is out of reach: a passing state. */
const codes = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "ENOTFOUND",
  "EPIPE",
  "CONNECT_TIMEOUT",
  "CONNECTION_CLOSED",
  "CONNECTION_ENDED",
  "CONNECTION_DESTROYED",
  "57P01",
  "57P02",
  "57P03",
  "57014", // statement_timeout
  "55P03", // lock_timeout
  "53300",
]);

/** Looks through the causes too: drizzle wraps what the driver throws. */
export function isUnreachable(error: unknown): boolean {
  for (let at: unknown = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth += 1) {
    const { code } = at as { code?: unknown };
    if (typeof code === "string" && codes.has(code)) return true;
  }
  return false;
}
