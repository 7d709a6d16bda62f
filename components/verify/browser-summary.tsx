"use client";
import { Callout } from "#components/ui/callout";
/** Result of the visitor's browser, in one sentence below the verdict. A disagreement is loud. */
import { CheckCircleIcon, ClockIcon, ExclamationTriangleIcon, XCircleIcon } from "#components/ui/icons";
import { formatCount } from "#lib/protocol/text/display-text";
import { findRowWarning } from "#lib/verifier/checks/warning-rows";
import { type BrowserCheck, useBrowserCheck } from "./browser-check";
import { checkTitles } from "./check-titles";

type Done = Extract<BrowserCheck, { phase: "done" }>;

function agreement({ report }: Done): string {
  const { checks, missing, verdict, warnings, statedWarnings } = report;
  if (verdict === "invalid") return "Your browser repeated the checks and also found it not authentic.";
  const passed = checks.filter(
    ({ name, status }) => name in checkTitles && status === "pass" && !findRowWarning(name, warnings),
  );
  const count = warnings.length + statedWarnings.length;
  const warned = count === 0 || verdict === "erased" ? "" : `, ${formatCount(count, "warning")}`;
  const repeated = `Your browser repeated the checks (${passed.length} passed, none failed${warned}) and agrees.`;
  return missing.length === 0
    ? repeated
    : `${repeated} ${missing.length} need the content, which ${verdict === "erased" ? "is gone" : "is not public"}.`;
}

function Mark({ report }: Pick<Done, "report">) {
  const size = "mt-0.5 size-5 shrink-0";
  if (report.verdict === "invalid") return <XCircleIcon aria-hidden="true" className={`${size} text-fail`} />;
  return report.warnings.length + report.statedWarnings.length > 0 && report.verdict !== "erased" ? (
    <ExclamationTriangleIcon aria-hidden="true" className={`${size} text-warn`} />
  ) : (
    <CheckCircleIcon aria-hidden="true" className={`${size} text-pass`} />
  );
}

export function BrowserSummary() {
  const check = useBrowserCheck();
  const disagrees = check.phase === "done" && check.disagreements.length > 0;
  return (
    <div
      className="mt-3 border-line border-t px-4 py-3 text-[15px] data-disagrees:order-first data-disagrees:mt-0 data-disagrees:border-t-0 sm:px-7"
      data-browser-check={check.phase}
      data-disagrees={disagrees || undefined}
    >
      {/* Tall as the longest of its sentences: the result must not move what a person reads below it. */}
      <div role="status" className={disagrees ? "" : "min-h-[4.25rem] sm:min-h-12 lg:min-h-6"}>
        {check.phase === "done" && check.disagreements.length === 0 ? (
          <p className="flex items-start gap-2">
            <Mark report={check.report} />
            {agreement(check)}
          </p>
        ) : null}
        {check.phase === "waiting" ? (
          <p className="flex items-start gap-2 text-muted">
            <ClockIcon aria-hidden="true" className="mt-0.5 size-5 shrink-0" />
            <span>
              This is the server's result. With JavaScript, your own browser repeats every check and shows
              here whether it agrees.
            </span>
          </p>
        ) : null}
      </div>
      {check.phase === "failed" ? (
        <Callout tone="warn" alert title="Your browser couldn't repeat the checks">
          You're seeing only the server's result ({check.reason}). Download the files and use the offline
          verifier, or reload the page.
        </Callout>
      ) : null}
      {disagrees ? (
        <Callout tone="fail" alert title="Your browser disagrees with this server">
          <ul className="list-disc pl-5">
            {check.disagreements.map((sentence) => (
              <li key={sentence}>{sentence}</li>
            ))}
          </ul>
          <p className="mt-1">
            Don't rely on this page. Download the files and run the offline verifier on another machine.
          </p>
        </Callout>
      ) : null}
    </div>
  );
}
