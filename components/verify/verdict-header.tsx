/** The verdict in an icon and words, never by colour alone; the first thing that a visitor on a phone sees. */
import { CircleCheck, CircleHelp, CircleX, Eraser, FlaskConical, Lock, TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";
import { AgentText } from "#components/agent-text";
import type { Verdict, VerdictKind } from "./verdict";

const looks = {
  authentic: { Icon: CircleCheck, className: "border-pass bg-pass-soft", ink: "text-pass" },
  warned: { Icon: TriangleAlert, className: "border-warn bg-warn-soft", ink: "text-warn" },
  test: { Icon: FlaskConical, className: "border-test bg-test-soft", ink: "text-test" },
  private: { Icon: Lock, className: "border-line-strong bg-surface", ink: "text-ink" },
  invalid: { Icon: CircleX, className: "border-fail bg-fail-soft", ink: "text-fail" },
  erased: { Icon: Eraser, className: "border-line-strong bg-surface", ink: "text-ink" },
  unknown: { Icon: CircleHelp, className: "border-line-strong bg-surface", ink: "text-ink" },
} as const satisfies Record<VerdictKind | "unknown", object>;

/**
 * Where the visitor's browser disagrees (browser-summary.tsx) the frame is no longer the verdict's: it is that of a
 * failure, the disagreement comes first, and the server's verdict is struck out.
 */
const disputed = {
  frame:
    "group/verdict has-data-disagrees:flex has-data-disagrees:flex-col has-data-disagrees:border-fail has-data-disagrees:bg-fail-soft",
  word: "group-has-data-disagrees/verdict:text-muted group-has-data-disagrees/verdict:line-through",
};

interface VerdictHeaderProps {
  readonly verdict: Pick<Verdict, "title" | "sentence" | "notes" | "warnings"> & {
    readonly kind: VerdictKind | "unknown";
  };
  /** What the visitor's browser found, below the verdict and in its frame. */
  readonly children?: ReactNode;
}

export function VerdictHeader({ verdict, children }: VerdictHeaderProps) {
  const { Icon, className, ink } = looks[verdict.kind];
  return (
    <header className={`rounded-lg border-2 px-4 py-5 sm:px-7 sm:py-7 ${className} ${disputed.frame}`}>
      <div className="flex items-start gap-3 sm:gap-5">
        <Icon aria-hidden="true" className={`mt-0.5 size-9 shrink-0 sm:size-12 ${ink} ${disputed.word}`} />
        <div className="min-w-0">
          <h1
            className={`font-semibold text-3xl leading-tight tracking-[-0.02em] sm:text-4xl ${ink} ${disputed.word}`}
          >
            {verdict.title}
          </h1>
          <p className={`mt-2 max-w-[62ch] text-[17px] sm:text-lg ${disputed.word}`}>{verdict.sentence}</p>
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
      {children}
    </header>
  );
}
