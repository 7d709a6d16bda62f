/** Our own: the server has it, or will get it, and no request waits for it any more (multiplexed-session.ts). */
export const OVERDUE = "STATEMENT_OVERDUE";

/** Codes of a failure which mean that the database (or whatever else is asked) is out of reach, a passing state. */
const codes = new Set([
  OVERDUE,
  "ECONNREFUSED",
  "ECONNRESET",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ETIMEDOUT",
  "ENOTFOUND",
  "EAI_AGAIN",
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
  "53100", // disk_full
  "53300",
  "25006", // read_only_sql_transaction: a standby that is not promoted yet
]);

interface Failure {
  code?: unknown;
  severity?: unknown;
  detail?: unknown;
  message: string;
}

/** Yields the error and its causes: drizzle wraps what the driver throws. */
function* listCauses(error: unknown): Generator<Failure> {
  for (let at: unknown = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth += 1)
    yield at;
}

/** The code by which the server itself refused; null for any other error, such as one of another host. */
export function serverCode(error: unknown): string | null {
  for (const { code, severity } of listCauses(error))
    if (typeof code === "string" && severity !== undefined) return code;
  return null;
}

/** The code of a server or of a connection to it; null for another error, such as a file's. */
export function databaseCode(error: unknown): string | null {
  for (const cause of listCauses(error))
    if (typeof cause.code === "string") return "path" in cause ? null : cause.code;
  return null;
}

export function isUnreachable(error: unknown): boolean {
  for (const { code } of listCauses(error)) if (typeof code === "string" && codes.has(code)) return true;
  return false;
}

/**
 * The server refused the statement for what it says, so it has stored nothing. Not one that it ran out of time for, and
 * never FATAL: a backend that was terminated may have committed.
 */
export function isRefusedByServer(error: unknown): boolean {
  if (isUnreachable(error)) return false;
  for (const { severity } of listCauses(error)) if (severity === "ERROR") return true;
  return false;
}

/** The statement never reached the server, or the server ended it. */
const beforeAnything = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "CONNECT_TIMEOUT",
  "57P03",
  "57014",
  "55P03",
  "53100",
  "53300",
  "25006",
]);

/** Out of reach, and certainly without having stored anything. */
export function isSurelyNotStored(error: unknown): boolean {
  for (const { code } of listCauses(error))
    if (typeof code === "string" && beforeAnything.has(code)) return true;
  return false;
}

export interface Refusal {
  reason: string;
  detail: string;
}

/** Rejection by `refuse_batch` (drizzle/0001_functions.sql); null if the server itself refused. */
export function readRefusal(error: unknown): Refusal | null {
  for (const { code, message, detail } of listCauses(error))
    if (code === "CS001") return { reason: message, detail: String(detail ?? "") };
  return null;
}
