/**
 * Sentences about where this server and the visitor's browser differ. The server has spoken twice: in the page that it made and
 * in the answer of its API; each must agree with the other and with what the browser found.
 */

import { type BrowserStatus, isDisagreement } from "#components/checklist-row";
import type { VerifyResponse } from "#lib/api/schemas/receipts";
import { listFacts } from "#lib/protocol/record/facts";
import { isApprovalMethod } from "#lib/protocol/statement/human-approval";
import type { Reason } from "#lib/protocol/statement/reasons";
import type { Warning } from "#lib/protocol/statement/warnings";
import type { AttestationCheckName } from "#lib/verifier/checks/verify-statement";
import type { VerifierReport } from "#lib/verifier/report/report";
import { checkTitles } from "./check-titles";
import { toFacts, toVerdict, type Verification } from "./facts";
import { buildFindings } from "./findings";

/** Fields that a person reads on the page before the checks, each to be found again in the API's answer. */
const shownFields = [
  "attestation_id",
  "agent_slug",
  "action",
  "inputs_hash",
  "timestamp",
  "payload_hash",
  "key_id",
  "is_public",
  "status",
  "human_approved",
  "agent_authenticated",
  "code_hash_verified",
  "tools_authorized",
  "client_gap",
] as const;

type Result = Pick<VerifyResponse["checks"][number], "name" | "status" | "reason">;

export interface ServedClaims extends Pick<Verification, "keyStatus" | "isTest"> {
  readonly valid: boolean | null;
  readonly title: string;
  readonly sentence: string;
  /** About agent and approval, as one text. */
  readonly findings: string;
  /** Amount, deciders and time as one text. */
  readonly facts: string;
  readonly shown: Readonly<Record<(typeof shownFields)[number], unknown>>;
  readonly checks: readonly Result[];
  /** Codes. */
  readonly warnings: string;
}

/** Extracts the page's claims as the server made it, for the browser to compare with its own findings. */
export function toClaims(verification: Verification): ServedClaims {
  const { answer, keyStatus, isTest } = verification;
  const { title, sentence } = toVerdict(verification);
  const shown = Object.fromEntries(shownFields.map((name) => [name, answer[name]])) as ServedClaims["shown"];
  const checks = answer.checks.map(({ detail: _words, ...result }) => result);
  const warnings = listCodes(answer.warnings);
  const findings = listFindings(verification);
  const facts = writeFacts(answer);
  return {
    valid: answer.valid,
    title,
    sentence,
    findings,
    facts,
    keyStatus,
    isTest,
    shown,
    checks,
    warnings,
  };
}

const listCodes = (warnings: readonly Warning[]) => warnings.map(({ code }) => code).join(", ");

const writeFacts = (answer: VerifyResponse) =>
  listFacts(toFacts(answer))
    .map(({ label, text }) => `${label}: ${text}`)
    .join("; ");

const listFindings = (verification: Verification) =>
  Object.values(buildFindings(verification))
    .map(({ text, by }) => `${text} (${by})`)
    .join(". ");

const words = (valid: unknown) =>
  valid === true ? "authentic" : valid === false ? "not authentic" : valid === null ? "erased" : "nothing";

function listResults(checks: readonly Result[]): string {
  return checks.map(({ name, status, reason = "" }) => `${name} ${status} ${reason}`).join();
}

/** The one outcome that fits the page: only of a private attestation may a part be missing. */
function fittingVerdict({ valid, shown }: ServedClaims): VerifierReport["verdict"] {
  if (valid === null) return "erased";
  if (valid === false) return "invalid";
  return shown.is_public === false ? "incomplete" : "valid";
}

const found: Record<VerifierReport["verdict"], string> = {
  valid: "authentic",
  invalid: "not authentic",
  incomplete: "incomplete, because the response lacks what the page shows",
  erased: "erased",
};

/** Checks that read the content; the others run whatever is hidden. */
const needsContent: readonly AttestationCheckName[] = [
  "payload_hash",
  "signature",
  "agent_signature",
  "code_hash",
  "tools",
  "human_authorization",
  "record",
  "not_before",
  "not_after",
];

function findDifferentChecks(page: ServedClaims, report: VerifierReport): string[] {
  const isHidden = page.shown.is_public === false || page.valid === null;
  return page.checks.flatMap(({ name, status, reason }) => {
    const { status: own, reason: ownReason } = browserStatus(report, name);
    const title = checkTitles[name];
    const mayBeOpen = isHidden && (needsContent.includes(name) || status === "not_applicable");
    if (own === "unavailable")
      return mayBeOpen ? [] : [`Your browser wasn't given what it needs for: ${title}.`];
    if (isDisagreement(status, own)) return [`Different results: ${title}.`];
    const isWithheld = page.shown.is_public === false && reason === "owner_only";
    return isWithheld || reason === ownReason ? [] : [`Different reasons: ${title}.`];
  });
}

/** The approval's grade by the verified payload, or by the proof if the payload is hidden. */
function ownApprovalMethod(
  answer: VerifyResponse,
  report: VerifierReport,
  warnings: readonly Warning[],
): Verification["approvalMethod"] {
  if (answer.human_approval !== null) return answer.human_approval.method;
  if (warnings.some(({ code }) => code === "approval_asserted_only")) return "hash";
  const shown = report.disclosed.find(({ name }) => name === "human_approval_method")?.value;
  return isApprovalMethod(shown) ? shown : null;
}

/** Warnings that the browser draws by itself, and those of hidden content that it can't; in the answer's order. */
function ownWarnings(answer: VerifyResponse, { warnings: own, statedWarnings }: VerifierReport): Warning[] {
  const agreed = answer.warnings.filter(
    ({ code }) => statedWarnings.includes(code) || own.some((one) => one.code === code),
  );
  return [...agreed, ...own.filter(({ code }) => !agreed.some((one) => one.code === code))];
}

function compareWords(page: ServedClaims, answer: VerifyResponse, report: VerifierReport): string[] {
  const differing: string[] = shownFields.filter((name) => page.shown[name] !== answer[name]);
  if (listCodes(answer.warnings) !== page.warnings) differing.push("warnings");
  const isHidden = answer.payload === null;
  const all = ownWarnings(answer, report);
  const verification: Verification = {
    answer: { ...answer, warnings: all },
    keyStatus: page.keyStatus,
    isTest: report.isTest || (isHidden && page.isTest),
    approvalMethod: ownApprovalMethod(answer, report, all),
  };
  const own = toVerdict(verification);
  const findings = listFindings(verification);
  const facts = writeFacts(answer);
  return [
    ...(differing.length === 0
      ? []
      : [`This server's page and API differ: ${differing.join(", ").replaceAll("_", " ")}.`]),
    ...(listCodes(all) === page.warnings
      ? []
      : [`Your browser's warnings: ${listCodes(all) || "none"}. This page's: ${page.warnings || "none"}.`]),
    ...(own.title === page.title && own.sentence === page.sentence
      ? []
      : [`Your browser would say: ${own.title}. ${own.sentence}`]),
    ...(findings === page.findings ? [] : [`Your browser would say: ${findings}.`]),
    ...(facts === page.facts ? [] : [`Your browser reads: ${facts}.`]),
  ];
}

function compareAll(page: ServedClaims, answer: VerifyResponse, report: VerifierReport): string[] {
  const wanted = fittingVerdict(page);
  return [
    ...(report.kind === "attestation" && report.verdict === wanted
      ? []
      : [
          `This page says ${words(page.valid)}; your browser finds ${report.kind === "attestation" ? `it ${found[report.verdict]}` : "no attestation"}.`,
        ]),
    ...(answer.valid === page.valid
      ? []
      : [`This page says ${words(page.valid)}, the same server's API says ${words(answer.valid)}.`]),
    ...(listResults(answer.checks) === listResults(page.checks)
      ? []
      : ["This server's page and API report different check results."]),
    ...(report.verdict === wanted ? findDifferentChecks(page, report) : []),
    ...(report.verdict === "invalid" ? [] : compareWords(page, answer, report)),
  ];
}

/** `answer`: of the API, parsed and otherwise unseen; what breaks the comparison is a disagreement too. */
export function compareWithServer(page: ServedClaims, answer: unknown, report: VerifierReport): string[] {
  try {
    return compareAll(page, answer as VerifyResponse, report);
  } catch {
    return ["This server's API returned something other than an attestation."];
  }
}

/** The browser's result of one check, as a row of the checklist shows it. */
export function browserStatus(
  report: VerifierReport,
  name: string,
): { status: BrowserStatus; reason?: Reason; detail: string } {
  const check = report.checks.find((one) => one.name === name);
  if (check === undefined || check.status === "not_run") return { status: "unavailable", detail: "" };
  // Erased content leaves nothing to check, for the server neither.
  if (report.missing.includes(name) && report.verdict !== "erased")
    return { status: "unavailable", detail: check.detail };
  const { status, reason, detail } = check;
  return { status, detail, ...(reason !== undefined && { reason }) };
}
