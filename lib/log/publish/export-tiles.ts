/**
 * The static tree that C2SP clients read (c2sp.org/tlog-tiles), as files: `checkpoint`, `tile/<L>/<N>[.p/<W>]` and
 * `tile/entries/<N>[.p/<W>]`. Later logs are below their number, as at `/log/<number>/`.
 *
 * Everything that a checkpoint needs is on the disk before the checkpoint is, so a run that ends anywhere leaves the tree
 * of the last whole run. What is there already is compared with the database first (exported-files.ts), and written again
 * only for a repair. Leaves hold hashes and signatures only, so an erased record leaves nothing here.
 */
import { mkdir, open, readFile, rename } from "node:fs/promises";
import path from "node:path";
import { bytesEqual } from "#lib/core/encoding/bytes";
import { type Checkpoint, verifyCheckpoint } from "#lib/core/tlog/checkpoint";
import { encodeTilePath } from "#lib/core/tlog/tile-path";
import { rootAtSize } from "#lib/core/tlog/tile-proofs";
import type { WitnessPolicySettings } from "#lib/core/tlog/witness-policy";
import type { Executor } from "#lib/db/client";
import { readShownCheckpoint } from "#lib/log/witness/cosigned-checkpoints";
import { readLogs } from "#lib/signing/log-keys";
import { findWrongFiles, tilesBetween, type WrongFile } from "./exported-files";
import { readTilePath } from "./public-log";
import { tileReader } from "./reader";

export interface ExportedLog {
  origin: string;
  /** What the folder held before, and what it holds now. */
  from: number;
  size: number;
  files: number;
  /** Files of before that were wrong and are written again. */
  repaired: number;
}

/** What to do with the files that are there: end with an error if one is wrong, write the wrong ones again, or don't look. */
export type ExistingFiles = "check" | "repair" | "trust";

async function readIfThere(file: string): Promise<string | null> {
  return readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return null;
    throw error;
  });
}

async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  await handle.sync().finally(() => handle.close());
}

/** Whole or not at all, and on the disk when this returns. */
async function writeWhole(file: string, data: Uint8Array | string): Promise<void> {
  const folder = path.dirname(file);
  await mkdir(folder, { recursive: true });
  const draft = path.join(folder, `.${path.basename(file)}.${process.pid}`);
  const handle = await open(draft, "w");
  await handle.writeFile(data);
  await handle.sync().finally(() => handle.close());
  await rename(draft, file);
  await syncFolder(folder);
}

type Log = Awaited<ReturnType<typeof readLogs>>[number];

/** The tiles are what is exported, so they must have the checkpoint's root. */
async function hasRoot(executor: Executor, log: Log, { size, root }: Checkpoint): Promise<boolean> {
  return size === 0 || bytesEqual(await rootAtSize(size, tileReader(executor, log.id)), root);
}

/** The size of the folder's checkpoint; 0 without one. Throws if it isn't a beginning of this log. */
async function readExported(executor: Executor, log: Log, folder: string, size: number): Promise<number> {
  const note = await readIfThere(path.join(folder, "checkpoint"));
  if (note === null) return 0;
  const verdict = verifyCheckpoint(note, log.key);
  if (!verdict.ok)
    throw new Error(
      `${folder} does not hold the log ${log.origin} (${verdict.problem}). Choose another one.`,
    );
  const { size: exported } = verdict.checkpoint;
  if (exported > size)
    throw new Error(
      `${folder} holds ${exported} entries of ${log.origin}, but the checkpoint to export has ${size}. The database may be an older copy.`,
    );
  if (!(await hasRoot(executor, log, verdict.checkpoint)))
    throw new Error(
      `${folder} holds another history of ${log.origin}: the roots at size ${exported} differ.`,
    );
  return exported;
}

/** How many files an error names. */
const namedAtMost = 20;

function wrongFilesError(folder: string, wrong: readonly WrongFile[]): Error {
  const named = wrong.slice(0, namedAtMost).map(({ name, problem }) => `  ${name} ${problem}`);
  const more = wrong.length > namedAtMost ? [`  and ${wrong.length - namedAtMost} more`] : [];
  return new Error(
    [
      `${folder} was changed since its last export:`,
      ...named,
      ...more,
      "Run `npm run log -- check` to see that the database is right, then run this again with --repair.",
    ].join("\n"),
  );
}

async function exportLog(
  executor: Executor,
  log: Log,
  policy: WitnessPolicySettings | undefined,
  folder: string,
  existing: ExistingFiles,
): Promise<ExportedLog> {
  const { size, note } = await readShownCheckpoint(executor, log, policy);
  const verdict = verifyCheckpoint(note, log.key);
  if (!verdict.ok || !(await hasRoot(executor, log, verdict.checkpoint)))
    throw new Error(
      `The stored tiles of ${log.origin} are not those of its checkpoint. Run \`npm run log -- check\`.`,
    );
  const from = await readExported(executor, log, folder, size);
  const writeTile = async (name: string) =>
    writeWhole(path.join(folder, name), await readTilePath(executor, log.id, name));
  const wrong =
    existing === "trust" ? [] : await findWrongFiles({ executor, logId: log.id, folder, from, size });
  if (wrong.length > 0 && existing === "check") throw wrongFilesError(folder, wrong);
  for (const { name } of wrong) await writeTile(name);
  let files = 0;
  for (const tile of tilesBetween(from, size)) {
    await writeTile(encodeTilePath(tile));
    files += 1;
  }
  // From here on the tree has its new size.
  await writeWhole(path.join(folder, "checkpoint"), note);
  return { origin: log.origin, from, size, files, repaired: wrong.length };
}

/** Every log of the service. */
export async function exportTiles(
  executor: Executor,
  policy: WitnessPolicySettings | undefined,
  folder: string,
  existing: ExistingFiles = "check",
): Promise<ExportedLog[]> {
  const exported: ExportedLog[] = [];
  for (const log of await readLogs(executor)) {
    const own = log.id === 1 ? folder : path.join(folder, String(log.id));
    exported.push(await exportLog(executor, log, policy, own, existing));
  }
  return exported;
}
