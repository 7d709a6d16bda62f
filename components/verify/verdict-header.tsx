/** The verdict in an icon and words, never by colour alone; the first thing that a visitor on a phone sees. */

import type { ReactNode } from "react";
import { AgentText } from "#components/agent-text";
import {
  BeakerIcon,
  CheckCircleIcon,
  ExclamationTriangleIcon,
  LockClosedIcon,
  QuestionMarkCircleIcon,
  TrashIcon,
  XCircleIcon,
} from "#components/ui/icons";
import type { Verdict, VerdictKind } from "./verdict";

const looks = {
  authentic: { Icon: CheckCircleIcon, frame: "border-pass", part: "bg-pass-soft", ink: "text-pass" },
  warned: { Icon: ExclamationTriangleIcon, frame: "border-warn", part: "bg-warn-soft", ink: "text-warn" },
  test: { Icon: BeakerIcon, frame: "border-test", part: "bg-test-soft", ink: "text-test" },
  private: { Icon: LockClosedIcon, frame: "border-line-strong", part: "bg-sunken", ink: "text-ink" },
  invalid: { Icon: XCircleIcon, frame: "border-fail", part: "bg-fail-soft", ink: "text-fail" },
  erased: { Icon: TrashIcon, frame: "border-line-strong", part: "bg-sunken", ink: "text-ink" },
  unknown: { Icon: QuestionMarkCircleIcon, frame: "border-line-strong", part: "bg-sunken", ink: "text-ink" },
} as const satisfies Record<VerdictKind | "unknown", object>;

/**
 * Frame of a verdict with which the visitor's browser disagrees (browser-summary.tsx): that of a failure. The disagreement
 * comes first, and the server's verdict is struck out.
 */
const disputed = {
  frame: "group/verdict has-data-disagrees:border-fail",
  part: "group-has-data-disagrees/verdict:bg-surface",
  word: "group-has-data-disagrees/verdict:text-muted group-has-data-disagrees/verdict:line-through",
};

interface VerdictHeaderProps {
  readonly verdict: Pick<Verdict, "title" | "record" | "notes" | "warnings"> & {
    readonly kind: VerdictKind | "unknown";
  };
  /** Subject of the verdict, below it and in its frame; without the verdict's colour. */
  readonly children?: ReactNode;
  /** Result of the visitor's browser: below that, or first if it disagrees. */
  readonly browser?: ReactNode;
}

export function VerdictHeader({ verdict, children, browser }: VerdictHeaderProps) {
  const { Icon, frame, part, ink } = looks[verdict.kind];
  return (
    <header
      className={`flex flex-col overflow-hidden rounded-lg border-2 bg-surface ${frame} ${disputed.frame}`}
    >
      <div className={`flex items-start gap-3 px-4 py-4 sm:gap-5 sm:px-7 sm:py-6 ${part} ${disputed.part}`}>
        <Icon aria-hidden="true" className={`mt-0.5 size-9 shrink-0 sm:size-12 ${ink} ${disputed.word}`} />
        <div className="min-w-0">
          <h1
            className={`font-semibold text-3xl leading-tight tracking-[-0.02em] sm:text-4xl ${ink} ${disputed.word}`}
          >
            {verdict.title}
          </h1>
          <p className={`mt-2 max-w-[62ch] text-[17px] sm:text-lg ${disputed.word}`}>{verdict.record}</p>
          {verdict.warnings.length === 0 ? null : (
            <ul className="mt-3 max-w-[62ch] list-disc pl-5 font-medium [overflow-wrap:anywhere]">
              {verdict.warnings.map(({ code, message }) => (
                <li key={code} data-warning={code}>
                  <AgentText value={message} />
                </li>
              ))}
            </ul>
          )}
          {verdict.notes.map((note) => (
            <p key={note} className="mt-2 max-w-[62ch] text-[15px]">
              {note}
            </p>
          ))}
        </div>
      </div>
      {children === undefined ? null : <div className="px-4 sm:px-7">{children}</div>}
      {browser}
    </header>
  );
}
