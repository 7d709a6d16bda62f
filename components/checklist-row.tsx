/**
 * One check of an attestation: what the server says, what this browser found by itself, what was checked and how to
 * repeat it. Put rows into a <ul>. A disagreement between the two is loud.
 */
import type { ReactNode } from "react";
import type { WarningCode } from "#lib/protocol/statement/warnings";
import { Callout } from "./ui/callout";
import { StatusPill, type Tone } from "./ui/status-pill";
import { warningTone } from "./warning-tones";

export type ServerStatus = "pass" | "fail" | "not_applicable";
/** `waiting`: not begun or running. `unavailable`: this browser cannot run it; `detail` should say why. */
export type BrowserStatus = ServerStatus | "waiting" | "unavailable";

export interface RowWarning {
  readonly code: WarningCode;
  /** "no" */
  readonly answer: string;
}

interface ChecklistRowProps {
  /** The check's name in the API: "log_inclusion". */
  readonly name: string;
  readonly title: string;
  readonly server: ServerStatus;
  readonly browser: BrowserStatus;
  /** If the check passes and what it found is bad news; undefined if it is a plain yes. */
  readonly serverWarned?: RowWarning | undefined;
  readonly browserWarned?: RowWarning | undefined;
  readonly detail: ReactNode;
  readonly howToRepeat?: ReactNode;
}

/** A row asks a question; these are the answers. */
const words: Record<BrowserStatus, { tone: Tone; text: string }> = {
  pass: { tone: "pass", text: "yes" },
  fail: { tone: "fail", text: "fails" },
  not_applicable: { tone: "neutral", text: "does not apply" },
  waiting: { tone: "pending", text: "not checked yet" },
  unavailable: { tone: "unknown", text: "can't check this" },
};

function Answer(props: {
  readonly who: string;
  readonly status: BrowserStatus;
  readonly warned: RowWarning | undefined;
}) {
  const { who, status, warned } = props;
  const isWarned = warned !== undefined && (status === "pass" || status === "not_applicable");
  const { tone, text } = isWarned ? { tone: warningTone(warned.code), text: warned.answer } : words[status];
  return (
    <StatusPill tone={tone}>
      {who}: {text}
    </StatusPill>
  );
}

export function isDisagreement(server: ServerStatus, browser: BrowserStatus): boolean {
  return browser !== "waiting" && browser !== "unavailable" && browser !== server;
}

export function ChecklistRow(props: ChecklistRowProps) {
  const { name, title, server, browser, serverWarned, browserWarned, detail, howToRepeat } = props;
  return (
    <li id={`check-${name}`} className="keep-together border-line border-b py-4 last:border-0">
      <div className="flex flex-col justify-between gap-x-4 gap-y-2 sm:flex-row sm:items-center">
        <h3 className="font-medium">{title}</h3>
        <div className="flex flex-wrap gap-2">
          <Answer who="Server" status={server} warned={serverWarned} />
          <Answer who="Your browser" status={browser} warned={browserWarned} />
        </div>
      </div>
      <div className="mt-1.5 text-[15px] text-muted [overflow-wrap:anywhere]">{detail}</div>
      {isDisagreement(server, browser) ? (
        <div className="mt-3">
          <Callout tone="fail" alert title="Your browser disagrees with this server">
            The same bytes gave two different results. Don't rely on the server's verdict. Download the files
            and run the offline verifier.
          </Callout>
        </div>
      ) : null}
      {howToRepeat ? (
        <details className="mt-2">
          <summary className="inline-flex min-h-8 items-center text-accent text-sm underline decoration-1 underline-offset-[3px]">
            How to repeat this check
          </summary>
          <div className="mt-2 text-[15px]">{howToRepeat}</div>
        </details>
      ) : null}
    </li>
  );
}
