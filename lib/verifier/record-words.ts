/** Light enough for a page that loads the verifier later. */
import type { RecordReport } from "./check-record";
import type { VerifierCheck } from "./report";

/** The entries fit each other, and not what was signed about all records together. */
export const isMiscounted = (checks: readonly VerifierCheck[]): boolean =>
  ["snapshot", "sum"].includes(checks.find(({ status }) => status === "fail")?.name ?? "");

/** What was found, in a sentence for people. */
export function describeRecord({ ok, head, claimed, checks }: Omit<RecordReport, "marks">): string {
  if (ok && claimed === 0) return "The record is empty.";
  if (ok) return `The record is complete: ${claimed} of ${claimed} entries, none missing, none moved.`;
  if (head.sequence < claimed)
    return `The record does NOT hold: it could be followed to number ${head.sequence} of ${claimed}.`;
  return isMiscounted(checks)
    ? "The record does NOT hold: the signed count of all records is another one."
    : "The record does NOT hold: its entries are not those that were signed.";
}
