/**
 * The static tree that C2SP clients read (c2sp.org/tlog-tiles), as files: `checkpoint`, `tile/<L>/<N>[.p/<W>]` and
 * `tile/entries/<N>[.p/<W>]`. Later logs are below their number, as at `/log/<number>/`.
 *
 * Everything that a checkpoint needs is on the disk before the checkpoint is, so a run that ends anywhere leaves the tree
 * of the last whole run. What is there already isn't read or written again. Leaves hold hashes and signatures only, so an
 * erased record leaves nothing here.
 */
import { mkdir, open, readFile, rename } from "node:fs/promises";
import path from "node:path";
import { bytesEqual } from "#lib/core/encoding/bytes";
import { type Checkpoint, verifyCheckpoint } from "#lib/core/tlog/checkpoint";
import { encodeTilePath, TILE_WIDTH, type TilePath, tileWidth } from "#lib/core/tlog/tile-path";
import { rootAtSize } from "#lib/core/tlog/tile-proofs";
import type { WitnessPolicySettings } from "#lib/core/tlog/witness-policy";
import type { Executor } from "#lib/db/client";
import { readShownCheckpoint } from "#lib/log/witness/cosigned-checkpoints";
import { readLogs } from "#lib/signing/log-keys";
import { readTilePath } from "./public-log";
import { tileReader } from "./reader";

export interface ExportedLog {
  origin: string;
  /** What the folder held before, and what it holds now. */
  from: number;
  size: number;
  files: number;
}

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

/** The tiles and bundles of a tree of `size` that one of `from` did not have. */
function* newTiles(from: number, size: number): Generator<TilePath> {
  for (let level = 0, span = 1; Math.floor(size / span) > 0; level += 1, span *= TILE_WIDTH) {
    const first = Math.floor(Math.floor(from / span) / TILE_WIDTH);
    for (let index = first; tileWidth(level, index, size) > 0; index += 1) {
      const width = tileWidth(level, index, size);
      if (width === tileWidth(level, index, from)) continue;
      yield { level, index, width };
      if (level === 0) yield { level: "entries", index, width };
    }
  }
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

async function exportLog(
  executor: Executor,
  log: Log,
  policy: WitnessPolicySettings | undefined,
  folder: string,
): Promise<ExportedLog> {
  const { size, note } = await readShownCheckpoint(executor, log, policy);
  const verdict = verifyCheckpoint(note, log.key);
  if (!verdict.ok || !(await hasRoot(executor, log, verdict.checkpoint)))
    throw new Error(
      `The stored tiles of ${log.origin} are not those of its checkpoint. Run \`npm run log -- check\`.`,
    );
  const from = await readExported(executor, log, folder, size);
  let files = 0;
  for (const tile of newTiles(from, size)) {
    const name = encodeTilePath(tile);
    await writeWhole(path.join(folder, name), await readTilePath(executor, log.id, name));
    files += 1;
  }
  // From here on the tree has its new size.
  await writeWhole(path.join(folder, "checkpoint"), note);
  return { origin: log.origin, from, size, files };
}

/** Every log of the service. */
export async function exportTiles(
  executor: Executor,
  policy: WitnessPolicySettings | undefined,
  folder: string,
): Promise<ExportedLog[]> {
  const exported: ExportedLog[] = [];
  for (const log of await readLogs(executor)) {
    const own = log.id === 1 ? folder : path.join(folder, String(log.id));
    exported.push(await exportLog(executor, log, policy, own));
  }
  return exported;
}
