/**
 * Every string that an agent supplied is shown by this component: plain text in its own left-to-right isolate, white
 * space kept, nothing cut, hidden characters as ⟨U+202E⟩ (a run of them as one mark), and a warning if letters of
 * several scripts are mixed. Use it for action, context, metadata, agent name and description, denial reason.
 */
import type { ReactNode } from "react";
import type { Marks } from "#components/line-diff";
import { ExclamationTriangleIcon } from "#components/ui/icons";
import { type DisplayRun, groupSegments, type HiddenMark, runToText } from "#lib/protocol/text/display-text";
import { findTextWarnings, type TextWarning } from "#lib/protocol/text/mixed-script";

type HiddenRun = DisplayRun & { kind: "hidden" };

interface AgentTextProps {
  readonly value: string;
  /** A name (slug, agent name, field name) is judged as a whole; other text word by word. */
  readonly isName?: boolean;
  /** Set where the warning is beside the text. */
  readonly hideWarnings?: boolean;
  /** Set in lists whose rows have their own pages: the first lines, without warnings. */
  readonly isExcerpt?: boolean;
  /** For what runs: it breaks at its spaces, where each break is one. */
  readonly isCommand?: boolean;
  readonly className?: string;
  /** Places that another text doesn't have. */
  readonly changes?: (Marks & { readonly kind: "removed" | "added" }) | undefined;
}

const maxWarnings = 5;

/**
 * At most this many runs of hidden characters get an element each, so that an agent that hides thousands does not make the page
 * cost thousands of elements. The rest is the same marks as plain text.
 */
const maxChips = 32;

const describeMark = ({ label, count }: HiddenMark) =>
  count === 1 ? `⟨${label}⟩` : `⟨${label}⟩ × ${count} `;

function explainMarks([first, ...others]: readonly HiddenMark[]): string {
  if (first !== undefined && others.length === 0 && first.count === 1)
    return `Invisible or confusable character ${first.label}`;
  return "Invisible or confusable characters";
}

/** A line break, or a blank line; more of them would push what follows off the screen, and are marked. */
const isPlainBreak = ({ value }: HiddenRun) => /^\n(?: *\n)?$/.test(value);

/** Indentation of a change's first line, which its sign and its monospaced lines show. */
const isIndentation = ({ value }: HiddenRun) => /^ {1,40}$/.test(value);

/** A longer run is summed up: its marks, one by one, would fill the screen as the characters would. */
const maxMarks = 16;

function sumUp(marks: readonly HiddenMark[]): string {
  const counts = new Map<string, number>();
  for (const { label, count } of marks) counts.set(label, (counts.get(label) ?? 0) + count);
  const kinds = [...counts].map(([label, count]) => describeMark({ label, count }));
  const others = kinds.length - maxMarks;
  const total = marks.reduce((sum, { count }) => sum + count, 0);
  const listed = kinds.slice(0, maxMarks).join("").trimEnd();
  return `${listed}${others > 0 ? ` and ${others} other kinds` : ""}: ${total} invisible characters`;
}

const describeRun = ({ marks }: HiddenRun) =>
  marks.length > maxMarks ? sumUp(marks) : marks.map(describeMark).join("").trimEnd();

function HiddenCharacters({ run }: { readonly run: HiddenRun }) {
  return (
    <>
      <span className="agent-text-chip" title={explainMarks(run.marks)}>
        {describeRun(run)}
      </span>
      {run.value.endsWith("\n") ? "\n" : null}
    </>
  );
}

/** A line break that is marked is also made. */
function writePlainly(run: DisplayRun): string {
  const isLong = run.kind === "hidden" && run.marks.length > maxMarks;
  return `${isLong ? `⟨${sumUp(run.marks)}⟩` : runToText(run)}${run.value.endsWith("\n") ? "\n" : ""}`;
}

/** A text with more hyphens breaks behind them. */
const maxJoined = 256;

/** "--force-with-lease" stays on one line if it has room there: a break after a hyphen would look like a space. */
function joinHyphens(text: string): ReactNode {
  const parts = text.split(/(-(?!\s))/);
  if (parts.length === 1 || parts.length > 2 * maxJoined + 1) return text;
  return parts.map((part, i) =>
    i % 2 === 0 ? (
      part
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: the text never changes in place
      <span key={i} className="agent-text-joined">
        {part}
      </span>
    ),
  );
}

type Piece = readonly [at: number, node: ReactNode];

/** A text in pieces that begin where one of the places begins or ends. */
function cutAt(value: string, start: number, { lines, words }: Marks): [at: number, text: string][] {
  const near = [...lines, ...words].filter(({ from, to }) => from < start + value.length && to > start);
  const ends = near.flatMap(({ from, to }) => [from - start, to - start]);
  const inside = ends.filter((end) => end > 0 && end < value.length);
  const cuts = [...new Set([0, ...inside])].sort((one, other) => one - other);
  return cuts.map((from, i) => [start + from, value.slice(from, cuts[i + 1])]);
}

/** Removed and added lines as such, and in bold what differs within them. */
function markPieces(
  pieces: readonly Piece[],
  { kind, lines, words }: NonNullable<AgentTextProps["changes"]>,
) {
  const find = (ranges: Marks["lines"], at: number) => ranges.find(({ from, to }) => at >= from && at < to);
  const groups: { line: object | undefined; at: number; nodes: ReactNode[] }[] = [];
  for (const [at, node] of pieces) {
    const line = find(lines, at);
    if (groups.at(-1)?.line !== line || line === undefined) groups.push({ line, at, nodes: [] });
    groups.at(-1)?.nodes.push(find(words, at) === undefined ? node : <b key={at}>{node}</b>);
  }
  const Line = kind === "removed" ? "del" : "ins";
  return groups.map(({ line, at, nodes }) => (line === undefined ? nodes : <Line key={at}>{nodes}</Line>));
}

interface SegmentsProps extends Pick<AgentTextProps, "value" | "changes" | "isCommand"> {
  readonly breaks: boolean;
}

function Segments({ value, breaks, changes, isCommand = false }: SegmentsProps) {
  const runs = groupSegments(value);
  const isPlain = (run: DisplayRun) =>
    run.kind === "hidden" &&
    ((breaks && isPlainBreak(run)) ||
      (changes !== undefined && run === runs[0] && runs.length > 1 && isIndentation(run)));
  const lastChip = runs.filter((run) => run.kind === "hidden" && !isPlain(run))[maxChips - 1];
  const end = lastChip === undefined ? runs.length : runs.indexOf(lastChip) + 1;
  const rest = runs
    .slice(end)
    .map((run) => (isPlain(run) ? run.value : writePlainly(run)))
    .join("");
  // Runs have no identity but their place, and the string never changes in place.
  let offset = 0;
  const shown = (changes === undefined ? runs.slice(0, end) : runs).flatMap((run, i): Piece[] => {
    const at = offset;
    offset += run.value.length;
    const word = changes?.words.find(({ from, to }) => from < offset && to > at);
    if (run.kind === "hidden" && (!isPlain(run) || word !== undefined)) {
      const own = i < end ? <HiddenCharacters key={at} run={run} /> : writePlainly(run);
      return [[Math.max(at, word?.from ?? at), own]];
    }
    if (changes === undefined) return [[at, run.value]];
    const pieces = cutAt(run.value, at, changes);
    return i < end ? pieces : pieces.map(([from, value]) => [from, runToText({ kind: "text", value })]);
  });
  const joined = shown.map(
    ([at, node]): Piece => [at, isCommand && typeof node === "string" ? joinHyphens(node) : node],
  );
  if (changes !== undefined) return markPieces(joined, changes);
  const drawn = joined.map(([, node]) => node);
  return rest === "" ? drawn : [...drawn, rest];
}

function explain(warning: TextWarning): string {
  switch (warning.kind) {
    case "mixed-script":
      return `mixes letters of different scripts (${warning.scripts.join(", ").replaceAll("_", " ")}) that can look alike:`;
    case "styled-letters":
      return "uses stylized letters that aren't the ordinary ones:";
    case "right-to-left":
      return "contains right-to-left letters, so nearby digits and signs may appear in a different order than they are stored.";
  }
}

function Warnings({ warnings }: { readonly warnings: readonly TextWarning[] }) {
  const shown = warnings.slice(0, maxWarnings);
  return (
    <span className="mt-1 flex flex-col gap-1 font-normal font-sans text-sm text-warn">
      {shown.map((warning) => (
        <span key={`${warning.kind} ${warning.word}`} className="flex items-start gap-1.5">
          <ExclamationTriangleIcon aria-hidden="true" className="mt-0.5 size-4 shrink-0" />
          <span>
            Careful: this text {explain(warning)}
            {warning.word === "" ? null : (
              <>
                {" "}
                <bdi dir="ltr" className="agent-text font-mono">
                  <Segments value={warning.word} breaks={false} />
                </bdi>
              </>
            )}
          </span>
        </span>
      ))}
      {warnings.length > shown.length ? <span>… and {warnings.length - shown.length} more.</span> : null}
    </span>
  );
}

export function AgentText(props: AgentTextProps) {
  const { value, isName = false, hideWarnings = false, isExcerpt = false, className = "" } = props;
  const { changes, isCommand = false } = props;
  const found = hideWarnings || isExcerpt ? [] : findTextWarnings(value, isName ? "whole" : "words");
  const warnings = [
    ...new Map(found.map((warning) => [`${warning.kind} ${warning.word}`, warning])).values(),
  ];
  return (
    <>
      <bdi dir="ltr" className={`agent-text ${isExcerpt ? "line-clamp-4 " : ""}${className}`}>
        {value === "" ? (
          <span className="text-muted italic">(empty)</span>
        ) : (
          <Segments value={value} breaks={!isName} changes={changes} isCommand={isCommand} />
        )}
      </bdi>
      {warnings.length > 0 ? <Warnings warnings={warnings} /> : null}
    </>
  );
}
