/** Light enough for a page that loads the verifier later. */
import type { VerifierCheck } from "./report";

/** The entries fit each other, and not what was signed about all records together. */
export const isMiscounted = (checks: readonly VerifierCheck[]): boolean =>
  ["snapshot", "sum"].includes(checks.find(({ status }) => status === "fail")?.name ?? "");
