/** Changes an installed package, and only the very text that the change was made for. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";

const read = (file) => (existsSync(file) ? readFileSync(file, "utf8") : "");

export const isPatched = (edits) => edits.every(({ file, to }) => read(file).includes(to));

/** Changes nothing if it was done before. Throws if the package is another than `by` was made for. */
export function patch(edits, by) {
  for (const { file, from, to } of edits) {
    const source = read(file);
    if (source.includes(to)) continue;
    if (source.split(from).length !== 2)
      throw new Error(`${file} is another than the one that ${by} was made for`);
    writeFileSync(
      file,
      source.replace(from, () => to),
    );
  }
}
