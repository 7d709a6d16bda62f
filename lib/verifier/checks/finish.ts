/** From what was found to the report. */

import type { ActionStatement } from "#lib/protocol/statement/statement";
import type { Warning, WarningCode, WarningFacts } from "#lib/protocol/statement/warnings";
import type { Verdict, VerifierCheck, VerifierReport } from "#lib/verifier/report/report";
import type { Evidence } from "./evidence";
import type { TimeBound } from "./time-checks";
import type { AuthorizationReport } from "./verify-human-authorization";

interface Findings {
  missing?: readonly string[];
  unproven?: string[];
  statement?: ActionStatement | null;
  warnings?: Warning[];
  statedWarnings?: WarningCode[];
  disclosed?: VerifierReport["disclosed"];
  madeAfter?: TimeBound | null;
  madeBefore?: TimeBound | null;
  presentationHeader?: VerifierReport["presentationHeader"];
  authorization?: AuthorizationReport | null;
  isErased?: boolean;
  claimed?: boolean | null;
}

/** Overrides in the report of a file that failed a check. */
export const nothingProven = {
  unproven: [],
  statement: null,
  warnings: [],
  statedWarnings: [],
  disclosed: [],
  madeAfter: null,
  madeBefore: null,
  presentationHeader: null,
  authorization: null,
} satisfies Partial<VerifierReport>;

export async function finish(
  kind: Evidence["kind"],
  checks: VerifierCheck[],
  findings: Findings = {},
): Promise<VerifierReport> {
  const { missing = [], unproven = [], statedWarnings = [], authorization = null, claimed = null } = findings;
  const { statement = null, presentationHeader = null, madeAfter = null, madeBefore = null } = findings;
  const failed =
    checks.length === 0 || checks.some(({ status }) => status === "fail" || status === "not_run");
  const whole: Verdict = missing.length === 0 ? "valid" : "incomplete";
  const verdict: Verdict = failed ? "invalid" : findings.isErased ? "erased" : whole;
  const disclosed = (findings.disclosed ?? []).map(({ name, value }) => ({ name, value }));
  const warnings = failed ? [] : await gatherWarnings(findings);
  const isTest = authorization?.grade === "test" || warnings.some(({ code }) => code === "approval_test");
  return {
    kind,
    verdict,
    checks,
    missing: [...missing],
    unproven,
    statement,
    warnings,
    statedWarnings,
    disclosed,
    madeAfter,
    madeBefore,
    presentationHeader,
    authorization,
    ...(failed && nothingProven),
    isTest,
    claimed,
    disagrees: claimed !== null && claimed !== (verdict !== "invalid"),
  };
}

/** A disclosed value is as good as the payload's; an authorization by itself is a TEST or none. */
async function gatherWarnings({
  warnings = [],
  disclosed = [],
  authorization,
}: Findings): Promise<Warning[]> {
  if (disclosed.length === 0 && authorization?.grade !== "test") return warnings;
  const { findWarnings, warningOf } = await import("#lib/protocol/statement/warnings");
  const shown: WarningFacts = Object.fromEntries(disclosed.map(({ name, value }) => [name, value]));
  const test: WarningCode[] = authorization?.grade === "test" ? ["approval_test"] : [];
  const known = warnings.map(({ code }) => code);
  const more = new Set([...findWarnings(shown), ...test].filter((code) => !known.includes(code)));
  return [...warnings, ...[...more].map(warningOf)];
}
