/** The report in words. Every string of the receipt is made visible: it may hold terminal escapes. */
import { canonicalJson } from "#lib/protocol/encoding/canonical-json";
import type { PresentationHeader } from "#lib/protocol/presentation/presentation";
import { type Warning, warningOf } from "#lib/protocol/statement/warnings";
import { countOf, toVisibleText } from "#lib/protocol/text/display-text";
import { findRowWarning } from "#lib/verifier/checks/warning-rows";
import {
  listUncompared,
  type VerifierCheck,
  type VerifierReport,
  wordsFor,
  wordsForTime,
} from "#lib/verifier/report/report";
import type { CommandIo } from "./io";

const words: Record<VerifierCheck["status"], string> = {
  pass: "pass",
  fail: "FAIL",
  not_applicable: "n/a ",
  not_run: "----",
};

type ShownCheck = Pick<VerifierCheck, "name" | "status" | "detail">;

/** A check that passes over bad news does not say "pass". */
export function formatChecks(checks: readonly ShownCheck[], warnings: readonly Warning[] = []): string {
  const width = Math.max(...checks.map(({ name }) => name.length));
  const wordOf = ({ name, status }: ShownCheck) =>
    status !== "fail" && findRowWarning(name, warnings) ? "WARN" : words[status];
  return checks
    .map((check) => `  ${wordOf(check)}  ${check.name.padEnd(width)}  ${toVisibleText(check.detail)}`)
    .join("\n");
}

export function formatReport(report: VerifierReport, keysNote: string): string {
  const { statement, presentationHeader, authorization, unproven, missing } = report;
  const { title, sentence } = wordsFor(report);
  const uncompared = listUncompared(report);
  const parts = [
    formatRecord(report),
    statement === null ? "" : toVisibleText(wordsForTime(report)),
    presentationHeader === null ? "" : formatHeader(presentationHeader),
    formatDisclosed(report),
    formatChecks(report.checks, report.warnings),
    authorization === null ? "" : `Human approval: ${authorization.grade_text}.`,
    formatWarnings(report),
    unproven.length === 0
      ? ""
      : `Shown in the file, but proven by nothing in it: ${unproven.map(toVisibleText).join(", ")}.`,
    missing.length === 0 ? "" : `Could not be checked from this file: ${missing.join(", ")}.`,
    uncompared.length === 0 ? "" : `Not compared: ${uncompared.join(", ")}. ${hintFor(report)}`,
    report.disagrees ? `The file says valid: ${report.claimed}. This verifier says otherwise.` : "",
    toVisibleLines(keysNote),
    `${title}. ${sentence}`,
  ];
  return `${parts.filter((part) => part !== "").join("\n\n")}\n`;
}

const hintFor = ({ kind }: VerifierReport) =>
  kind === "tlog_proof"
    ? "The proof of another leaf would pass too. Use --payload."
    : "A copy of what was made for someone else would pass too. Use --audience and --nonce.";

function formatWarnings({ warnings, statedWarnings }: VerifierReport): string {
  const stated = statedWarnings.map((code) => ({
    code,
    message: `${warningOf(code).message} (The service says so. Nothing in this file shows it.)`,
  }));
  return [...warnings, ...stated]
    .map(({ code, message }) => `Warning: ${toVisibleText(message)} [${code}]`)
    .join("\n");
}

function toVisibleLines(text: string): string {
  return text.split("\n").map(toVisibleText).join("\n");
}

function formatFacts(facts: readonly (readonly [string, unknown])[], width: number): string {
  return facts.map(([name, value]) => `${name.padEnd(width)} ${toVisibleText(String(value))}`).join("\n");
}

function formatHeader(header: PresentationHeader): string {
  if (header.kind === "public") return "made for     everybody (the public proof of an attestation)";
  const { audience, nonce, issuedAtSeconds, expiresAtSeconds } = header;
  return formatFacts(
    [
      ["made for", audience],
      ["nonce", nonce],
      ["made at", `${issuedAtSeconds} (seconds after 1970)`],
      ["valid until", `${expiresAtSeconds} (seconds after 1970)`],
    ],
    12,
  );
}

function formatDisclosed({ kind, verdict, disclosed }: VerifierReport): string {
  if (kind !== "presentation" || verdict !== "valid") return "";
  if (disclosed.length === 0) return "It shows only that such an attestation exists.";
  return formatFacts(
    disclosed.map(({ name, value }) => [name, canonicalJson(value)]),
    26,
  );
}

/** Business facts first, then what names the record. */
function formatRecord({ facts, statement }: VerifierReport): string {
  const names: [string, unknown][] =
    statement === null
      ? []
      : [
          ["attestation", statement.predicate.attestation_id],
          ["inputs hash", statement.predicate.request["inputs_hash"]],
        ];
  const rows = facts.map(({ label, text }): [string, unknown] => [label.toLowerCase(), text]);
  return formatFacts([...rows, ...names], 12);
}

const barWidth = 40;

export function showProgress({ progress }: CommandIo) {
  return (checked: number, total: number): void => {
    const done = Math.floor((checked / total) * barWidth);
    const bar = `${"#".repeat(done)}${".".repeat(barWidth - done)}`;
    progress?.(
      `\r[${bar}] ${checked.toLocaleString("en")} of ${countOf(total, "entry", "entries")}${checked === total ? "\n" : ""}`,
    );
  };
}

export function printJson(io: CommandIo, value: unknown): void {
  io.print(`${JSON.stringify(value, null, 2)}\n`);
}
