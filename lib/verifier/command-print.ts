/** The report in words. Every string of the receipt is made visible: it may hold terminal escapes. */
import { toVisibleText } from "#lib/domain/display-text";
import type { ActionStatement } from "#lib/domain/statement";
import type { VerifierCheck, VerifierReport } from "./report";

const words: Record<VerifierCheck["status"], string> = {
  pass: "pass",
  fail: "FAIL",
  not_applicable: "n/a ",
  not_run: "----",
};

export function formatChecks(checks: readonly VerifierCheck[]): string {
  const width = Math.max(...checks.map(({ name }) => name.length));
  return checks
    .map(({ name, status, detail }) => `  ${words[status]}  ${name.padEnd(width)}  ${toVisibleText(detail)}`)
    .join("\n");
}

export function formatReport(report: VerifierReport, keysNote: string): string {
  const { statement, authorization, unproven, missing } = report;
  const parts = [
    statement === null ? "" : formatStatement(statement),
    formatChecks(report.checks),
    authorization === null ? "" : `Human approval: ${authorization.grade_text}.`,
    unproven.length === 0 ? "" : `Shown in the file, but proven by nothing in it: ${unproven.join(", ")}.`,
    missing.length === 0 ? "" : `Could not be checked from this file: ${missing.join(", ")}.`,
    report.disagrees ? `The file says valid: ${report.claimed}. This verifier says otherwise.` : "",
    toVisibleLines(keysNote),
    report.sentence,
  ];
  return `${parts.filter((part) => part !== "").join("\n\n")}\n`;
}

function toVisibleLines(text: string): string {
  return text.split("\n").map(toVisibleText).join("\n");
}

function formatStatement({ predicate }: ActionStatement): string {
  const { request, human_approval: approval } = predicate;
  const approvals = {
    none: "none",
    hash: "asserted by the caller, not proven",
    proof_of_personhood: "proof of personhood (World ID)",
  };
  const facts: [string, unknown][] = [
    ["attestation", predicate.attestation_id],
    ["agent", request["agent_slug"]],
    ["action", request["action"]],
    ["inputs hash", request["inputs_hash"]],
    ["time", predicate.timestamp],
    ["approval", approvals[approval.method]],
  ];
  return facts.map(([name, value]) => `${name.padEnd(12)} ${toVisibleText(String(value))}`).join("\n");
}
