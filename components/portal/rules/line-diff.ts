/** Which lines of a text another one has no longer, and which are new: the longest common subsequence of lines. */

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
