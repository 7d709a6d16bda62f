/** Light enough for a page that loads the verifier later. */
import { countOf } from "#lib/protocol/text/count";
import { readableTime } from "#lib/protocol/time/time-words";
import type { RecordReport } from "#lib/verifier/checks/check-record";
import type { VerifierCheck } from "./report";

/** The entries fit each other, and not what was signed about all records together. */
export const isMiscounted = (checks: readonly VerifierCheck[]): boolean =>
  ["snapshot", "sum"].includes(checks.find(({ status }) => status === "fail")?.name ?? "");

/** Details of the checks that say which followed entries are not counted. */
export const describeUncounted = (checks: readonly VerifierCheck[]): string =>
  checks
    .filter(({ name, status }) => /(?:^| )counted$/.test(name) && status === "not_applicable")
    .map(({ name, detail }) =>
      name === "counted" ? detail : `${name.slice(0, -" counted".length)}: ${detail}`,
    )
    .join("; ");

export function describeRecord({
  verdict,
  head,
  claimed,
  checks,
  snapshot,
}: Omit<RecordReport, "marks">): string {
  if (verdict === "incomplete")
    return `Nothing failed, but not everything is counted: ${describeUncounted(checks)}.`;
  if (verdict === "valid")
    return `The record is complete: ${claimed.toLocaleString("en")} of ${countOf(claimed, "entry", "entries")}, none missing, none moved, as counted at ${readableTime(snapshot?.at ?? "")}.`;
  if (head.sequence < claimed)
    return `The record does NOT hold: it could be followed to number ${head.sequence} of ${claimed}.`;
  return isMiscounted(checks)
    ? "The record does NOT hold: the signed count of all records is another one."
    : "The record does NOT hold: its entries are not those that were signed.";
}
