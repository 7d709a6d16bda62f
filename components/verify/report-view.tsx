/** A report of this browser's own verification of a file; there is no server's word beside it. */

import { AgentText } from "#components/agent-text";
import { Callout, type CalloutTone } from "#components/ui/callout";
import { type Definition, DefinitionList } from "#components/ui/definition-list";
import { StatusPill, TestMark, type Tone } from "#components/ui/status-pill";
import { TextLink } from "#components/ui/text-link";
import { warningTone } from "#components/warning-tones";
import type { Fact, FactId } from "#lib/protocol/record/facts";
import type { ActionStatement } from "#lib/protocol/statement/statement";
import { toVisibleText } from "#lib/protocol/text/display-text";
import { findRowWarning } from "#lib/verifier/checks/warning-rows";
import {
  listUncompared,
  type VerifierCheck,
  type VerifierReport,
  wordsFor,
  wordsForTime,
} from "#lib/verifier/report/report";
import { checkTitles } from "./check-titles";

const tones: Record<VerifierReport["verdict"], CalloutTone> = {
  valid: "pass",
  invalid: "fail",
  incomplete: "warn",
  erased: "info",
};
const statuses: Record<VerifierCheck["status"], { tone: Tone; text: string }> = {
  pass: { tone: "pass", text: "passes" },
  fail: { tone: "fail", text: "fails" },
  not_applicable: { tone: "neutral", text: "does not apply" },
  not_run: { tone: "unknown", text: "did not run" },
};

function findTitle(name: string): string {
  const known = Object.entries(checkTitles).find(([check]) => check === name)?.[1];
  return known ?? name.replaceAll("_", " ").replace(/^./, (letter) => letter.toUpperCase());
}

interface FactsProps {
  readonly report: VerifierReport;
  readonly isOurs: boolean;
}

function describePage(statement: ActionStatement, isOurs: boolean): Definition {
  const { request, attestation_id: id } = statement.predicate;
  const path = `/verify/${encodeURIComponent(String(request["agent_slug"]))}/${encodeURIComponent(id)}`;
  return {
    id: "page",
    name: isOurs ? "Public page" : "Attestation",
    value: isOurs ? <TextLink href={path}>{id}</TextLink> : <AgentText value={id} />,
  };
}

const isProminent: Partial<Record<FactId, true>> = { amount: true, what: true };
const isName: Partial<Record<FactId, true>> = { tool: true, agent: true };

const toItem = ({ id, label, text }: Fact): Definition => ({
  id,
  name: label,
  value: <AgentText value={text} isName={isName[id] ?? false} />,
  prominent: isProminent[id] ?? false,
});

/** Facts that this browser has verified. An approval's grade says too if it is a TEST, or if only World can check it. */
function Facts({ report: { facts, statement, authorization }, isOurs }: FactsProps) {
  if (facts.length === 0) return null;
  const grade =
    authorization === null ? [] : [{ id: "grade", name: "Grade", value: `${authorization.grade_text}.` }];
  const page = statement === null ? [] : [describePage(statement, isOurs)];
  return (
    <div className="mt-4">
      <DefinitionList items={[...facts.map(toItem), ...grade, ...page]} />
    </div>
  );
}

/** A check that passes over bad news answers its question with it. */
function CheckAnswer({ report, check }: { readonly report: VerifierReport; readonly check: VerifierCheck }) {
  const { name, status } = check;
  if (report.missing.includes(name))
    return <StatusPill tone="unknown">can't be checked from this file</StatusPill>;
  const warned = status === "fail" ? undefined : findRowWarning(name, report.warnings);
  if (warned !== undefined) return <StatusPill tone={warningTone(warned.code)}>{warned.answer}</StatusPill>;
  return <StatusPill tone={statuses[status].tone}>{statuses[status].text}</StatusPill>;
}

/** Shows this browser's own warnings first, then those that only the file states, marked as such. */
function Warnings({ report: { warnings, statedWarnings } }: { readonly report: VerifierReport }) {
  if (warnings.length + statedWarnings.length === 0) return null;
  return (
    <ul className="mt-2 list-disc pl-5 font-medium [overflow-wrap:anywhere]">
      {warnings.map(({ code, message }) => (
        <li key={code} data-warning={code}>
          <AgentText value={message} />
        </li>
      ))}
      {statedWarnings.map((code) => (
        <li key={code} data-warning={code}>
          The service warns of {code.replaceAll("_", " ")}. Nothing in this file shows it.
        </li>
      ))}
    </ul>
  );
}

function chooseTone({ verdict, warnings, statedWarnings }: VerifierReport): CalloutTone {
  const isWarned = warnings.length + statedWarnings.length > 0;
  return verdict === "valid" && isWarned ? "warn" : tones[verdict];
}

interface ReportViewProps {
  readonly report: VerifierReport;
  /** Signed with a key of this instance, which therefore has its page. */
  readonly isOurs?: boolean;
  /** Name of the verified input. */
  readonly input?: string;
}

export function ReportView({ report, isOurs = false }: ReportViewProps) {
  const { checks, unproven, statement, authorization } = report;
  const { title, sentence } = wordsFor(report);
  const uncompared = listUncompared(report);
  return (
    <div>
      <Callout tone={chooseTone(report)} title={title}>
        <p>{sentence}</p>
        <Warnings report={report} />
        {report.isTest ? (
          <p className="mt-2">
            <TestMark method={statement?.predicate.human_approval.method ?? authorization?.grade ?? null} />
          </p>
        ) : null}
        {statement === null ? null : (
          <p className="mt-2 [overflow-wrap:anywhere]">{toVisibleText(wordsForTime(report))}</p>
        )}
        {unproven.length === 0 ? null : (
          <p className="mt-2">
            Shown in the file, but not proven by anything in it: {unproven.map(toVisibleText).join(", ")}.
          </p>
        )}
      </Callout>
      {uncompared.length === 0 ? null : (
        <div className="mt-3">
          <Callout tone="warn" title={`Not compared: ${uncompared.join(" and ")}`}>
            {report.kind === "tlog_proof" ? (
              "The proof of another leaf would pass too: verify.mjs compares it with --payload."
            ) : (
              <>
                A copy of a presentation made for someone else would pass too. Compare them on{" "}
                <TextLink href="/verify/presentation">the page for presentations</TextLink>, which also shows
                its values.
              </>
            )}
          </Callout>
        </div>
      )}
      {report.disagrees ? (
        <div className="mt-3">
          <Callout tone="fail" alert title="The file contradicts this result">
            It claims to be {report.claimed ? "authentic" : "not authentic"}. Your browser found the opposite.
            Trust the checks below.
          </Callout>
        </div>
      ) : null}
      <Facts report={report} isOurs={isOurs} />
      <ul className="mt-4 rounded-lg border border-line bg-surface px-4 sm:px-5">
        {checks.map((check) => (
          <li key={check.name} className="border-line border-b py-3 last:border-0">
            <div className="flex flex-wrap items-center justify-between gap-x-4 gap-y-1">
              <h3 className="font-medium">{findTitle(check.name)}</h3>
              <CheckAnswer report={report} check={check} />
            </div>
            <p className="mt-1 text-[15px] text-muted [overflow-wrap:anywhere]">
              <bdi>{toVisibleText(findRowWarning(check.name, report.warnings)?.message ?? check.detail)}</bdi>
            </p>
          </li>
        ))}
      </ul>
    </div>
  );
}
