/** From what was found to the report. */

import type { JsonObject } from "#lib/protocol/encoding/canonical-json";
import type { Fact } from "#lib/protocol/record/facts";
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
  /** The verified object itself. */
  authorizationObject?: JsonObject | null;
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
  facts: [],
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
    facts: failed ? [] : await gatherFacts(findings),
    ...(failed && nothingProven),
    isTest,
    claimed,
    disagrees: claimed !== null && claimed !== (verdict !== "invalid"),
  };
}

async function gatherFacts({
  statement = null,
  authorizationObject: object = null,
}: Findings): Promise<Fact[]> {
  if (statement === null && object === null) return [];
  const { factsOfApproval, factsOfReceipt, listFacts } = await import("#lib/protocol/record/facts");
  if (statement !== null) return listFacts(factsOfReceipt(statement.predicate, object));
  return object === null ? [] : listFacts(factsOfApproval(object));
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
