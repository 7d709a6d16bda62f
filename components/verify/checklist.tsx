"use client";
/** The checks, each with the server's and the browser's result side by side; those that don't apply are folded. */
import { ChecklistRow, isDisagreement } from "#components/checklist-row";
import { StatusPill } from "#components/ui/status-pill";
import type { VerifyResponse } from "#lib/api/schemas/receipts";
import type { Warning } from "#lib/protocol/statement/warnings";
import { formatCount, toVisibleText } from "#lib/protocol/text/display-text";
import { findRowWarning } from "#lib/verifier/checks/warning-rows";
import { type BrowserCheck, useBrowserCheck } from "./browser-check";
import type { CheckText } from "./check-texts";
import { checkTitles } from "./check-titles";
import { browserStatus } from "./compare";

type Check = VerifyResponse["checks"][number] & CheckText;

interface ChecklistProps {
  readonly checks: readonly Check[];
  readonly warnings: readonly Warning[];
}

/** Written once if both agree: what the browser adds then moves nothing. */
function Details({ server, browser }: { readonly server: string; readonly browser: string }) {
  if (browser === "" || browser === server)
    return (
      <p>
        <bdi>{toVisibleText(server)}</bdi>
      </p>
    );
  return (
    <>
      <p>
        Server: <bdi>{toVisibleText(server)}</bdi>
      </p>
      <p>
        Your browser: <bdi>{toVisibleText(browser)}</bdi>
      </p>
    </>
  );
}

function ownStatus(check: BrowserCheck, name: string) {
  if (check.phase === "done") return browserStatus(check.report, name);
  return { status: check.phase === "failed" ? ("unavailable" as const) : ("waiting" as const), detail: "" };
}

interface RowsProps extends ChecklistProps {
  readonly check: BrowserCheck;
}

function Rows({ checks, warnings, check }: RowsProps) {
  const ownWarnings = check.phase === "done" ? check.report.warnings : [];
  return checks.map(({ name, status, detail, question, repeat }) => {
    const own = ownStatus(check, name);
    const warned = findRowWarning(name, warnings);
    const ownWarned = findRowWarning(name, ownWarnings);
    return (
      <ChecklistRow
        key={name}
        name={name}
        title={checkTitles[name]}
        server={status}
        browser={own.status}
        serverWarned={warned}
        browserWarned={ownWarned}
        detail={
          <>
            <p>{question}</p>
            <Details server={warned?.message ?? detail} browser={ownWarned?.message ?? own.detail} />
          </>
        }
        howToRepeat={<p className="max-w-[68ch]">{repeat}</p>}
      />
    );
  });
}

/** The decoded fields are compared by the browser alone. Its row is there from the beginning, so that nothing moves. */
export function DecodedRow({ check }: { readonly check: BrowserCheck }) {
  const restated =
    check.phase === "done" ? check.report.checks.find(({ name }) => name === "restated_fields") : undefined;
  if (check.phase === "done" && restated === undefined) return null;
  const unproven = check.phase === "done" && check.report.statement === null ? check.report.unproven : [];
  const passed = unproven.length === 0 ? "pass" : "unknown";
  const tone = restated === undefined ? "pending" : restated.status === "pass" ? passed : "fail";
  const word = { pending: "not checked yet", pass: "yes", unknown: "can't check this", fail: "fails" }[tone];
  return (
    <li className="py-4">
      <div className="flex flex-col justify-between gap-x-4 gap-y-2 sm:flex-row sm:items-center">
        <h3 className="font-medium">Decoded fields</h3>
        <span>
          <StatusPill tone={tone}>Your browser: {word}</StatusPill>
        </span>
      </div>
      <div className="mt-1.5 text-[15px] text-muted [overflow-wrap:anywhere]">
        <p>Do the fields shown beside the signed bytes say what the bytes say?</p>
        {tone === "unknown" ? (
          <p>
            The signed bytes aren't shown, so these are only the server's word:{" "}
            {unproven.join(", ").replaceAll("_", " ")}.
          </p>
        ) : null}
        {restated === undefined || restated.status === "pass" ? null : (
          <p>
            Your browser: <bdi>{toVisibleText(restated.detail)}</bdi>
          </p>
        )}
      </div>
    </li>
  );
}

/** "7 passed · 1 warning · 6 not applicable" */
function countResults(checks: readonly Check[], applying: readonly Check[], warnings: readonly Warning[]) {
  const warned = applying.filter(({ name, status }) => status !== "fail" && findRowWarning(name, warnings));
  const failed = applying.filter(({ status }) => status === "fail").length;
  return [
    `${applying.length - warned.length - failed} passed`,
    ...(failed === 0 ? [] : [`${failed} failed`]),
    ...(warned.length === 0 ? [] : [formatCount(warned.length, "warning")]),
    ...(checks.length === applying.length ? [] : [`${checks.length - applying.length} not applicable`]),
  ].join(" · ");
}

export function Checklist({ checks, warnings }: ChecklistProps) {
  const check = useBrowserCheck();
  const doesApply = ({ name, status }: Check) =>
    status !== "not_applicable" || findRowWarning(name, warnings) !== undefined;
  const applying = checks.filter(doesApply);
  const folded = checks.filter((one) => !doesApply(one));
  const isDisputed = folded.some(({ name, status }) => isDisagreement(status, ownStatus(check, name).status));
  return (
    <>
      <p className="mb-3 font-medium" data-check-counts>
        {countResults(checks, applying, warnings)}
      </p>
      <ul className="rounded-lg border border-line bg-surface px-4 sm:px-5">
        <Rows checks={applying} warnings={warnings} check={check} />
        <DecodedRow check={check} />
      </ul>
      {folded.length === 0 ? null : (
        <details open={isDisputed} className="mt-3">
          <summary className="inline-flex min-h-9 items-center text-accent text-sm underline decoration-1 underline-offset-[3px]">
            {folded.length === 1 ? "1 check that doesn't" : `${folded.length} checks that don't`} apply to
            this record
          </summary>
          <ul className="mt-2 rounded-lg border border-line bg-surface px-4 sm:px-5">
            <Rows checks={folded} warnings={warnings} check={check} />
          </ul>
        </details>
      )}
    </>
  );
}
