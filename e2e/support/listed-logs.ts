/** A log list for tests that do not care about its keys, in a folder as `npm run log -- list` makes one. */
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";

/** `bases`: in the order of their numbers. Returns the folder, which is in `parent`. */
export function writeLogList(parent: string, bases: readonly string[]): string {
  const folder = path.join(parent, "list");
  mkdirSync(folder);
  const logs = bases.map((base, at) => ({
    number: at + 1,
    submission_url: `${base}/`,
    origin: `${new URL(base).host}/log`,
  }));
  writeFileSync(path.join(folder, "log-list.json"), JSON.stringify({ operators: [{ tiled_logs: logs }] }));
  writeFileSync(path.join(folder, "log-list.sig"), "");
  return folder;
}
