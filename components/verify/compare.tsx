/**
 * Where this server and the visitor's browser differ, in sentences. The server has spoken twice: in the page that it
 * made and in the answer of its API; each must agree with the other and with what the browser found.
 */
import type { AttestationCheck } from "#lib/domain/verify";
import type { VerifierReport } from "#lib/verifier/report";

export interface ServedClaims {
  readonly valid: boolean | null;
  readonly payloadHash: string;
  readonly checks: readonly Pick<AttestationCheck, "name" | "status">[];
}

const words = (valid: unknown) =>
  valid === true ? "valid" : valid === false ? "invalid" : valid === null ? "erased" : "nothing";

function listResults(checks: unknown): string {
  return Array.isArray(checks) ? checks.map(({ name, status }) => `${name} ${status}`).join() : "none";
}

export function compareWithServer(
  page: ServedClaims,
  answer: { valid?: unknown; payload_hash?: unknown; checks?: unknown },
  report: VerifierReport,
): string[] {
  const found: string[] = [];
  const browserValid = report.verdict !== "invalid";
  if (page.valid === false ? browserValid : !browserValid) {
    found.push(
      `This page says ${words(page.valid)}; your browser finds it ${browserValid ? "intact" : "invalid"}.`,
    );
  }
  if (answer.valid !== page.valid)
    found.push(`This page says ${words(page.valid)}, the same server's API says ${words(answer.valid)}.`);
  if (listResults(answer.checks) !== listResults(page.checks))
    found.push("The page and the API of this server name different results of the checks.");
  if (answer.payload_hash !== page.payloadHash)
    found.push("The page and the API of this server name different payload hashes.");
  return found;
}

/** The browser's result of one check, as a row of the checklist shows it. */
export function browserStatus(report: VerifierReport, name: string) {
  const check = report.checks.find((one) => one.name === name);
  if (check === undefined || check.status === "not_run")
    return { status: "unavailable", detail: "" } as const;
  // Of erased content there is nothing to check, for the server neither.
  if (report.missing.includes(name) && report.verdict !== "erased")
    return { status: "unavailable", detail: check.detail } as const;
  return { status: check.status, detail: check.detail } as const;
}
