/** Report of a verification, for the command line and the verify page alike. */
import type { JsonValue } from "#lib/protocol/encoding/canonical-json";
import type { PresentationHeader } from "#lib/protocol/presentation/presentation";
import type { Fact } from "#lib/protocol/record/facts";
import type { Outcome } from "#lib/protocol/statement/outcome";
import type { ActionStatement } from "#lib/protocol/statement/statement";
import type { Warning, WarningCode } from "#lib/protocol/statement/warnings";
import { formatCount } from "#lib/protocol/text/display-text";
import { describeBounds, readableTime } from "#lib/protocol/time/time-words";
import type { EvidenceKind } from "#lib/verifier/checks/evidence";
import type { TimeBound } from "#lib/verifier/checks/time-checks";
import type { AuthorizationReport } from "#lib/verifier/checks/verify-human-authorization";

export type VerifierCheck = Outcome<"fail" | "not_applicable" | "not_run"> & { name: string };

/**
 * `valid`: every check of the kind's fixed list ran and held. `invalid`: one failed. `incomplete`: none failed,
 * but the file does not carry all that the checks read (a private attestation without its payload, a bundle
 * without the authorization). `erased`: the owner had the content removed; the log still proves that it was there.
 */
export type Verdict = "valid" | "invalid" | "incomplete" | "erased";

export interface VerifierReport {
  kind: EvidenceKind;
  verdict: Verdict;
  checks: VerifierCheck[];
  missing: string[];
  unproven: string[];
  /** The signed statement; only of a valid or incomplete attestation, so that nothing unproven is shown as proven. */
  statement: ActionStatement | null;
  /**
   * Bad news in an authentic record, drawn from what this verifier has verified. Never from the file's own list: if the
   * two differ over the same bytes, a check (`restated_fields`) fails.
   */
  warnings: Warning[];
  /** Warnings of the file whose evidence it doesn't carry. */
  statedWarnings: WarningCode[];
  /** Values that a valid presentation, or the good public proof of a hidden payload, discloses; else empty. */
  disclosed: { name: string; value: JsonValue }[];
  /** Bounds of its time that others vouch for and this verifier trusts; null for what is no record. */
  madeAfter: TimeBound | null;
  madeBefore: TimeBound | null;
  /** Header of a valid presentation: for whom it was made. */
  presentationHeader: PresentationHeader | null;
  authorization: AuthorizationReport | null;
  /** Amount, action, deciders and time in words; only of a record or an approval of which nothing failed. */
  facts: Fact[];
  isTest: boolean;
  /** Claim of the file about itself; never believed. Null if it says nothing. */
  claimed: boolean | null;
  /** The file says valid and the verifier says invalid, or the other way round. */
  disagrees: boolean;
}

/** Checks of a valid file that only the reader's own input can make. */
const comparable: Partial<Record<EvidenceKind, readonly string[]>> = {
  presentation: ["audience", "nonce"],
  tlog_proof: ["payload_hash"],
};

/** Checks that were not run: a copy made for somebody else, or the proof of another leaf, is valid too. */
export function listUncompared({ kind, verdict, checks }: VerifierReport): string[] {
  if (verdict !== "valid") return [];
  const open = checks.filter(
    ({ name, status }) => status === "not_applicable" && comparable[kind]?.includes(name),
  );
  return open.map(({ name }) => name);
}

const subjects: Record<EvidenceKind, string> = {
  attestation: "record",
  bundle: "record",
  human_authorization: "human authorization",
  presentation: "presentation",
  tlog_proof: "log proof",
};

const isRecord = (kind: EvidenceKind) => kind === "attestation" || kind === "bundle";

/** "Authentic record, 2 warnings": never the one without the other. */
function titleFor({ kind, verdict, warnings, statedWarnings }: VerifierReport): string {
  const count = warnings.length + statedWarnings.length;
  const more = count === 0 ? "" : `, ${formatCount(count, "warning")}`;
  const titles: Record<Verdict, string> = {
    valid: isRecord(kind) ? `Authentic record${more}` : `Valid ${subjects[kind]}${more}`,
    invalid: isRecord(kind) ? "Not authentic" : `Not a valid ${subjects[kind]}`,
    incomplete: `Authentic as far as it can be checked${more}`,
    erased: "Erased",
  };
  return titles[verdict];
}

export function wordsFor(report: VerifierReport): { title: string; sentence: string } {
  const isWarned = report.warnings.length + report.statedWarnings.length > 0;
  const isLeafOfAny = report.kind === "tlog_proof" && listUncompared(report).length > 0;
  const passed = isLeafOfAny
    ? "The log has this leaf; whether it is your payload's was not compared."
    : "Every check passed.";
  const sentences: Record<Verdict, string> = {
    valid: isWarned ? "No check failed. Read what it says with its warnings." : passed,
    invalid: "A check failed: do not rely on anything in it.",
    incomplete: "No check failed, but this file does not carry everything that the checks read.",
    erased: "The owner erased the content; the log proves that it was recorded.",
  };
  return { title: titleFor(report), sentence: sentences[report.verdict] };
}

const toShown = (bound: TimeBound | null) =>
  bound && { at: new Date(bound.timeMs).toISOString(), by: bound.by };

/** Words for its time, as far as others vouch for it. */
export function wordsForTime({ madeAfter, madeBefore }: VerifierReport): string {
  return describeBounds(toShown(madeAfter), toShown(madeBefore));
}

/* Light enough for a page that loads the verifier later. */

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

export interface RecordSummary {
  slug: string;
  agentId: string;
  head: { sequence: number; link: string };
  claimed: number;
  checks: VerifierCheck[];
  /** The newest snapshot that counts it, if that is what it must be. */
  snapshot: { coversSize: number; at: string; agents: number; counted: number } | null;
  /** `incomplete`: nothing failed, and no fresh signed count says that this is all. */
  verdict: "valid" | "invalid" | "incomplete";
}

export function describeRecord({ verdict, head, claimed, checks, snapshot }: RecordSummary): string {
  if (verdict === "incomplete")
    return `Nothing failed, but not everything is counted: ${describeUncounted(checks)}.`;
  if (verdict === "valid")
    return `The record is complete: ${claimed.toLocaleString("en")} of ${formatCount(claimed, "entry", "entries")}, none missing, none moved, as counted at ${readableTime(snapshot?.at ?? "")}.`;
  if (head.sequence < claimed)
    return `The record does NOT hold: it could be followed to number ${head.sequence} of ${claimed}.`;
  return isMiscounted(checks)
    ? "The record does NOT hold: the signed count of all records is another one."
    : "The record does NOT hold: its entries are not those that were signed.";
}
