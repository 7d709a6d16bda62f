/** Shows the changes between two texts, line by line. */
import { toVisibleText } from "#lib/protocol/text/display-text";

/** Lines that go begin with "-", lines that come with "+", and what stays between them is three dots. */
export function describeChange(before: string, after: string): string {
  if (before === after) return "";
  const [old, fresh] = [listLines(before), listLines(after)];
  const common = measureCommon(old, fresh);
  const shown: string[] = [];
  let [i, j] = [0, 0];
  while (i < old.length || j < fresh.length) {
    if (i < old.length && j < fresh.length && old[i] === fresh[j]) {
      if (shown.at(-1) !== "  …") shown.push("  …");
      [i, j] = [i + 1, j + 1];
    } else if (j === fresh.length || (i < old.length && common(i + 1, j) >= common(i, j + 1)))
      shown.push(`- ${old[i++]}`);
    else shown.push(`+ ${fresh[j++]}`);
  }
  return shown.map((line) => `${line}\n`).join("");
}

const listLines = (text: string) =>
  text === ""
    ? []
    : text
        .trimEnd()
        .split("\n")
        .map((line) => line.replace(/^([ \t]*)(.*)$/, (_, indent, rest) => indent + toVisibleText(rest)));

/** How many lines the rests from two places on have in common, in order. */
function measureCommon(old: readonly string[], fresh: readonly string[]) {
  const width = fresh.length + 1;
  const lengths = new Uint32Array((old.length + 1) * width);
  const at = (i: number, j: number) => lengths[i * width + j] ?? 0;
  for (let i = old.length - 1; i >= 0; i -= 1)
    for (let j = fresh.length - 1; j >= 0; j -= 1)
      lengths[i * width + j] =
        old[i] === fresh[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  return at;
}
