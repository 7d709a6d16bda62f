"use client";
/** The checks, each with the server's and the browser's result side by side. */
import { ChecklistRow } from "#components/checklist-row";
import { StatusPill } from "#components/ui/status-pill";
import type { VerifyResponse } from "#lib/contract/verify";
import { findRowWarning } from "#lib/core/statement/warning-rows";
import type { Warning } from "#lib/core/statement/warnings";
import { toVisibleText } from "#lib/core/text/display-text";
import { useBrowserCheck } from "./browser-check";
import type { CheckText } from "./check-texts";
import { checkTitles } from "./check-titles";
import { browserStatus } from "./compare";

interface ChecklistProps {
  readonly checks: readonly (VerifyResponse["checks"][number] & CheckText)[];
  readonly warnings: readonly Warning[];
}

/** Both results in words, once if they say the same. */
function Details({ server, browser }: { readonly server: string; readonly browser: string }) {
  if (browser === "" || browser === server)
    return (
      <p>
        {browser === "" ? "Server: " : "Server and your browser: "}
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

export function Checklist({ checks, warnings }: ChecklistProps) {
  const check = useBrowserCheck();
  const report = check.phase === "done" ? check.report : null;
  const restated = report?.checks.find(({ name }) => name === "restated_fields");
  return (
    <ul className="rounded-lg border border-line bg-surface px-4 sm:px-5">
      {checks.map(({ name, status, detail, question, repeat }) => {
        const own =
          report === null
            ? ({ status: check.phase === "failed" ? "unavailable" : "waiting", detail: "" } as const)
            : browserStatus(report, name);
        const warned = findRowWarning(name, warnings);
        const ownWarned = findRowWarning(name, report?.warnings ?? []);
        return (
          <ChecklistRow
            key={name}
            name={name}
            title={checkTitles[name]}
            server={status}
            browser={own.status}
            serverWarned={warned?.answer}
            browserWarned={ownWarned?.answer}
            detail={
              <>
                <p>{question}</p>
                <Details server={warned?.message ?? detail} browser={ownWarned?.message ?? own.detail} />
              </>
            }
            howToRepeat={<p className="max-w-[68ch]">{repeat}</p>}
          />
        );
      })}
      {restated === undefined ? null : (
        <li className="flex flex-wrap items-center justify-between gap-x-4 gap-y-2 py-4">
          <div>
            <h3 className="font-medium">Decoded fields</h3>
            <div className="mt-1.5 text-[15px] text-muted [overflow-wrap:anywhere]">
              <p>Do the fields shown beside the signed bytes say what the bytes say?</p>
              <p>
                Your browser: <bdi>{toVisibleText(restated.detail)}</bdi>
              </p>
            </div>
          </div>
          <StatusPill tone={restated.status === "pass" ? "pass" : "fail"}>
            Your browser: {restated.status === "pass" ? "yes" : "fails"}
          </StatusPill>
        </li>
      )}
    </ul>
  );
}
