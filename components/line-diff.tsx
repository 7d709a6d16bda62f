/** Differences of two texts by the longest common subsequence of their lines, and by words where lines pair off. */

export interface DiffLine {
  kind: "same" | "removed" | "added";
  text: string;
}

function commonLengths(before: readonly string[], after: readonly string[]): Uint16Array[] {
  const rows = Array.from({ length: before.length + 1 }, () => new Uint16Array(after.length + 1));
  for (let i = before.length - 1; i >= 0; i -= 1) {
    const [row, below] = [rows[i] as Uint16Array, rows[i + 1] as Uint16Array];
    for (let j = after.length - 1; j >= 0; j -= 1) {
      row[j] = before[i] === after[j] ? (below[j + 1] ?? 0) + 1 : Math.max(below[j] ?? 0, row[j + 1] ?? 0);
    }
  }
  return rows;
}

const splitLines = (text: string) => (text === "" ? [] : text.replace(/\n$/, "").split("\n"));

/** Products of lines beyond which everything between the equal ends is shown as removed and added: others chose the texts. */
const maxCells = 1_000_000;

function countEqual(old: readonly string[], now: readonly string[]): number {
  const most = Math.min(old.length, now.length);
  let count = 0;
  while (count < most && old[count] === now[count]) count += 1;
  return count;
}

const toLines = (kind: DiffLine["kind"], texts: readonly string[]): DiffLine[] =>
  texts.map((text) => ({ kind, text }));

function diffMiddles(old: readonly string[], now: readonly string[]): DiffLine[] {
  if (old.length * now.length > maxCells) return [...toLines("removed", old), ...toLines("added", now)];
  const lengths = commonLengths(old, now);
  const lines: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < now.length) {
    const isSame = i < old.length && j < now.length && old[i] === now[j];
    const isRemoved =
      j >= now.length || (i < old.length && (lengths[i + 1]?.[j] ?? 0) >= (lengths[i]?.[j + 1] ?? 0));
    if (isSame) lines.push({ kind: "same", text: old[i] ?? "" });
    else if (isRemoved) lines.push({ kind: "removed", text: old[i] ?? "" });
    else lines.push({ kind: "added", text: now[j] ?? "" });
    if (isSame || isRemoved) i += 1;
    if (isSame || !isRemoved) j += 1;
  }
  return lines;
}

export function diffLines(before: string, after: string): DiffLine[] {
  const [old, now] = [splitLines(before), splitLines(after)];
  const atStart = countEqual(old, now);
  const [oldRest, nowRest] = [old.slice(atStart), now.slice(atStart)];
  const atEnd = countEqual(oldRest.toReversed(), nowRest.toReversed());
  return [
    ...toLines("same", old.slice(0, atStart)),
    ...diffMiddles(oldRest.slice(0, oldRest.length - atEnd), nowRest.slice(0, nowRest.length - atEnd)),
    ...toLines("same", oldRest.slice(oldRest.length - atEnd)),
  ];
}

interface Range {
  readonly from: number;
  readonly to: number;
}

/** Places in a text that the other one doesn't have. */
export interface Marks {
  readonly lines: readonly Range[];
  /** Changed words of a changed line. */
  readonly words: readonly Range[];
}

const isWithinWord = (text: string, at: number) => /^[^\s!-/:-@[-^`{-~]{2}/.test(text.slice(at - 1));

/** Two lines but for their equal ends, which end between words. */
function diffWords(before: string, after: string): [Range, Range] {
  const most = Math.min(before.length, after.length);
  let start = 0;
  while (start < most && before[start] === after[start]) start += 1;
  let end = 0;
  while (end < most - start && before.at(-1 - end) === after.at(-1 - end)) end += 1;
  const both = [before, after];
  while (start > 0 && both.some((text) => isWithinWord(text, start))) start -= 1;
  while (end > 0 && both.some((text) => isWithinWord(text, text.length - end))) end -= 1;
  return [
    { from: start, to: before.length - end },
    { from: start, to: after.length - end },
  ];
}

/** True if the text ends with a line break that the other one lacks: what follows it in its file joins the last line. */
const endsAlone = (text: string, other: string) =>
  text.endsWith("\n") && !other.endsWith("\n") && other !== "";

export function markChanges(before: string, after: string): { removed: Marks; added: Marks } {
  const [removed, added] = [0, 1].map(() => ({ lines: [] as Range[], words: [] as Range[], at: 0 })) as [
    Side,
    Side,
  ];
  let open: [Range[], Range[]] = [[], []];
  const close = () => {
    const [old, now] = open;
    open = [[], []];
    if (old.length !== now.length) return;
    for (const [i, { from, to }] of old.entries()) {
      const other = now[i] ?? { from: 0, to: 0 };
      if (before[from] === "\n" || after[other.from] === "\n") continue;
      const found = diffWords(before.slice(from, to), after.slice(other.from, other.to));
      for (const [side, start, range] of [
        [removed, from, found[0]],
        [added, other.from, found[1]],
      ] as const)
        if (range.to > range.from) side.words.push({ from: start + range.from, to: start + range.to });
    }
  };
  for (const { kind, text } of diffLines(before, after)) {
    if (kind === "same") close();
    for (const [i, side] of [removed, added].entries()) {
      if (kind === (i === 0 ? "added" : "removed")) continue;
      const [from, to] = [side.at, side.at + text.length];
      side.at = to + 1;
      if (kind === "same") continue;
      // A blank line has only its break.
      const range = { from, to: Math.max(to, from + 1) };
      side.lines.push(range);
      open[i as 0 | 1].push(range);
    }
  }
  close();
  for (const [side, text, other] of [
    [removed, before, after],
    [added, after, before],
  ] as const) {
    const end = { from: text.length - 1, to: text.length };
    if (!endsAlone(text, other) || side.lines.at(-1)?.to === end.to) continue;
    side.lines.push(end);
    side.words.push(end);
  }
  return { removed, added };
}

type Side = { lines: Range[]; words: Range[]; at: number };
