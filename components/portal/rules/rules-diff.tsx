/** Two versions of the rules, line by line. */
import { type DiffLine, diffLines } from "#components/line-diff";

const marks: Record<DiffLine["kind"], { sign: string; word: string; className: string }> = {
  same: { sign: " ", word: "", className: "" },
  removed: { sign: "-", word: "removed: ", className: "bg-fail-soft" },
  added: { sign: "+", word: "added: ", className: "bg-pass-soft" },
};

interface RulesDiffProps {
  readonly before: string;
  readonly after: string;
  /** Names the region. */
  readonly label: string;
}

export function RulesDiff({ before, after, label }: RulesDiffProps) {
  if (before === "" && after === "") return <p className="text-muted text-sm">There are no rules in it.</p>;
  return (
    // biome-ignore lint/a11y/useSemanticElements: a section would be a landmark
    <div
      role="group"
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
      tabIndex={0}
      className="overflow-x-auto rounded-md border border-line"
    >
      <pre className="w-max min-w-full py-2 font-mono text-[13px] leading-[1.6]">
        {diffLines(before, after).map(({ kind, text }, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: lines have no other name
          <span key={i} className={`block px-3 ${marks[kind].className}`}>
            <span aria-hidden="true">{marks[kind].sign} </span>
            <span className="sr-only">{marks[kind].word}</span>
            {text}
            {"\n"}
          </span>
        ))}
      </pre>
    </div>
  );
}
