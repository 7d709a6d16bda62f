/**
 * The static tree that C2SP clients read (c2sp.org/tlog-tiles), in a store: `checkpoint`, `tile/<L>/<N>[.p/<W>]` and
 * `tile/entries/<N>[.p/<W>]`. Later logs are below their number, as at `/log/<number>/`.
 *
 * Everything that a checkpoint needs is in the store before the checkpoint is, so a run that ends anywhere leaves the tree
 * of the last whole run, and the next one goes on from its checkpoint. What is there already is compared with the database
 * first, unless the caller trusts it, and written again only for a repair. Leaves hold hashes and
 * signatures only, so an erased record leaves nothing here.
 */
import type { Database, Executor } from "#lib/db/client";
import { oneAtATime, restFor, startInterval, takeLease } from "#lib/jobs/due-work";
import type { ObjectStore } from "#lib/log/object-storage/object-store";
import { readLogs } from "#lib/log/signing/signing-keys";
import { readShownCheckpoint } from "#lib/log/witness/cosigned-checkpoints";
import type { Logger } from "#lib/logger";
import { bytesEqual, utf8Decode, utf8Encode } from "#lib/protocol/encoding/bytes";
import { readTextAtMost } from "#lib/protocol/encoding/read-stream";
import { formatCount } from "#lib/protocol/text/display-text";
import { type Checkpoint, type VerifierKey, verifyCheckpoint } from "#lib/protocol/tlog/checkpoint";
import { decodeEntryBundle, pathOfLog } from "#lib/protocol/tlog/log-leaf";
import { HASH_BYTES, leafHash } from "#lib/protocol/tlog/merkle";
import {
  encodeTilePath,
  parseTilePath,
  rootAtSize,
  TILE_WIDTH,
  type TilePath,
  tileWidth,
  treeHasTile,
} from "#lib/protocol/tlog/tiles";
import type { WitnessPolicySettings } from "#lib/protocol/tlog/witness-policy";
import { storeOfLog } from "./compact";
import { type OldEntries, readTilePath, tileReader } from "./reader";

/* Files of an exported tree, and those in a store that differ from the database. */

/** The tiles and bundles of a tree of `size` that one of `from` did not have. */
function* tilesBetween(from: number, size: number): Generator<TilePath> {
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

export interface WrongFile {
  name: string;
  problem: string;
}

interface Exported {
  executor: Executor;
  logId: number;
  store: ObjectStore;
  from: number;
  size: number;
}

/** The file that a tree of `from` needs, and the partial ones that smaller trees left beside it. */
async function listFiles(tile: TilePath, { store, size }: Exported): Promise<Set<string>> {
  const partial = `${encodeTilePath({ ...tile, width: TILE_WIDTH })}.p`;
  const widths = await store.list(partial);
  const isOfTree = (name: string) => {
    const parsed = parseTilePath(name);
    return parsed !== undefined && treeHasTile(parsed, size);
  };
  return new Set([encodeTilePath(tile), ...widths.map((width) => `${partial}/${width}`).filter(isOfTree)]);
}

/** `hashes`: the stored tile; of a bundle the one of its leaves. */
function isRight(bytes: Uint8Array, { level, width }: TilePath, hashes: Uint8Array): boolean {
  const wanted = hashes.subarray(0, width * HASH_BYTES);
  if (level !== "entries") return bytesEqual(bytes, wanted);
  try {
    const found = decodeEntryBundle(bytes).map(leafHash);
    return bytesEqual(Buffer.concat(found), wanted);
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

async function findProblem(store: ObjectStore, name: string, hashes: Uint8Array): Promise<string | null> {
  const found = await store.read(name);
  if (found === null) return "is missing";
  return isRight(found.bytes, parseTilePath(name) as TilePath, hashes) ? null : "differs from the database";
}

/** Reads every file of the store's tree once, and the stored hashes: entries are compared by their hashes. */
async function findWrongFiles(exported: Exported): Promise<WrongFile[]> {
  const readTile = tileReader(exported.executor, exported.logId);
  const wrong: WrongFile[] = [];
  let hashes: Uint8Array = new Uint8Array();
  for (const tile of tilesBetween(0, exported.from)) {
    // A bundle follows the tile of its leaves.
    if (tile.level !== "entries") hashes = (await readTile(tile.level, tile.index)) ?? new Uint8Array();
    for (const name of await listFiles(tile, exported)) {
      const problem = await findProblem(exported.store, name, hashes);
      if (problem !== null) wrong.push({ name, problem });
    }
  }
  return wrong;
}

/** The database, and what the store has that the database has no longer. */
export interface ExportSource {
  db: Executor;
  old: OldEntries | null;
}

export interface ExportedLog {
  origin: string;
  from: number;
  size: number;
  files: number;
  /** Files of before that were wrong and are written again. */
  repaired: number;
}

/** Existing files: end with an error if one is wrong, rewrite the wrong ones, or don't look. */
export type ExistingFiles = "check" | "repair" | "trust";

type Log = Awaited<ReturnType<typeof readLogs>>[number];

/** The tiles are what is exported, so they must have the checkpoint's root. */
async function hasRoot(executor: Executor, log: Log, { size, root }: Checkpoint): Promise<boolean> {
  return size === 0 || bytesEqual(await rootAtSize(size, tileReader(executor, log.id)), root);
}

/** The size of the store's checkpoint; 0 without one. Throws if it isn't a beginning of this log, unless that is closed. */
async function readExported(executor: Executor, log: Log, store: ObjectStore, size: number): Promise<number> {
  const found = await store.read("checkpoint");
  if (found === null) return 0;
  const verdict = verifyCheckpoint(utf8Decode(found.bytes), log.key);
  if (!verdict.ok)
    throw new Error(
      `${store.name} does not hold the log ${log.origin} (${verdict.problem}). Choose another place.`,
    );
  const { size: exported } = verdict.checkpoint;
  // Entries that the database lost before a new log was begun are still whole in the store.
  if (exported > size && log.closed_at !== null) return exported;
  if (exported > size)
    throw new Error(
      `${store.name} holds ${formatCount(exported, "entry", "entries")} of ${log.origin}, but the checkpoint to export has ${size}. The database may be an older copy.`,
    );
  if (!(await hasRoot(executor, log, verdict.checkpoint)))
    throw new Error(
      `${store.name} holds another history of ${log.origin}: the roots at size ${exported} differ.`,
    );
  return exported;
}

/** Most files that an error names. */
const namedAtMost = 20;

function wrongFilesError(name: string, wrong: readonly WrongFile[]): Error {
  const named = wrong.slice(0, namedAtMost).map((one) => `  ${one.name} ${one.problem}`);
  const more = wrong.length > namedAtMost ? [`  and ${wrong.length - namedAtMost} more`] : [];
  return new Error(
    [
      `${name} was changed since its last export:`,
      ...named,
      ...more,
      "Run `npm run log -- check` to see that the database is right, then run this again with --repair.",
    ].join("\n"),
  );
}

/** A store far away takes its time for each, and little of ours. */
const writtenAtOnce = 16;

async function forEachAtOnce<T>(items: Iterable<T>, work: (item: T) => Promise<void>): Promise<void> {
  const left = items[Symbol.iterator]();
  const next = async () => {
    for (let one = left.next(); !one.done; one = left.next()) await work(one.value);
  };
  await Promise.all(Array.from({ length: writtenAtOnce }, next));
}

/** Existing tiles, of a run that broke off, must be the same: a tile never changes. */
async function addTile(store: ObjectStore, name: string, bytes: Uint8Array, mayReplace: boolean) {
  if (await store.create(name, bytes, "immutable")) return;
  const found = await store.read(name);
  if (found !== null && bytesEqual(found.bytes, bytes)) return;
  if (!mayReplace) throw wrongFilesError(store.name, [{ name, problem: "differs from the database" }]);
  await store.write(name, bytes, "immutable");
}

interface ExportOptions {
  existing: ExistingFiles;
  /** Keyed by log: the checkpoint that the caller published last. With the same one there is nothing to do. */
  published: Map<number, string>;
}

async function exportLog(
  { db: executor, old }: ExportSource,
  log: Log,
  policy: WitnessPolicySettings | undefined,
  store: ObjectStore,
  { existing, published }: ExportOptions,
): Promise<ExportedLog> {
  const { size, note } = await readShownCheckpoint(executor, log, policy);
  const { origin } = log;
  if (published.get(log.id) === note) return { origin, from: size, size, files: 0, repaired: 0 };
  const verdict = verifyCheckpoint(note, log.key);
  if (!verdict.ok || !(await hasRoot(executor, log, verdict.checkpoint)))
    throw new Error(
      `The stored tiles of ${log.origin} are not those of its checkpoint. Run \`npm run log -- check\`.`,
    );
  const from = await readExported(executor, log, store, size);
  if (from > size) return { origin, from, size: from, files: 0, repaired: 0 };
  const readTile = (name: string) => readTilePath(executor, old, log.id, name);
  const wrong =
    existing === "trust" ? [] : await findWrongFiles({ executor, logId: log.id, store, from, size });
  if (wrong.length > 0 && existing === "check") throw wrongFilesError(store.name, wrong);
  for (const { name } of wrong) await store.write(name, await readTile(name), "immutable");
  let files = 0;
  await forEachAtOnce(tilesBetween(from, size), async (tile) => {
    const name = encodeTilePath(tile);
    await addTile(store, name, await readTile(name), existing === "repair");
    files += 1;
  });
  // The tree has its new size from here on, unless another publisher was first.
  if ((await readExported(executor, log, store, Number.MAX_SAFE_INTEGER)) <= size)
    await store.write("checkpoint", utf8Encode(note), "checkpoint");
  published.set(log.id, note);
  return { origin, from, size, files, repaired: wrong.length };
}

/** Exports every log of the service. One that fails holds up no other, and is reported when all have had their turn. */
export async function exportTiles(
  source: ExportSource,
  policy: WitnessPolicySettings | undefined,
  store: ObjectStore,
  existing: ExistingFiles = "check",
  published = new Map<number, string>(),
): Promise<ExportedLog[]> {
  const exported: ExportedLog[] = [];
  const failures: Error[] = [];
  for (const log of await readLogs(source.db)) {
    const own = storeOfLog(store, log.id);
    try {
      exported.push(await exportLog(source, log, policy, own, { existing, published }));
    } catch (error) {
      failures.push(error as Error);
    }
  }
  if (failures.length > 1)
    throw new AggregateError(failures, failures.map(({ message }) => message).join("\n"));
  if (failures[0] !== undefined) throw failures[0];
  return exported;
}

/*
 * Publishes the logs to LOG_STORE again and again, in the background of one process at a time. Nobody waits for it: it reads
 * what is committed. The store's own checkpoint says what it has, so the process with the next turn goes on from there.
 */

interface PublisherOptions {
  database: Database;
  store: ObjectStore;
  policy: WitnessPolicySettings | undefined;
  logger: Logger;
  everySeconds: number;
}

const turnName = "publish the log";
/** Seconds after which another process may begin, though this one is still at it: both write the same bytes. */
const turnSeconds = 60;

/** Never the reason that a process stays. Returns the function that ends it. */
export function startPublisher(options: PublisherOptions): () => Promise<void> {
  const { database, store, policy, logger, everySeconds } = options;
  const published = new Map<number, string>();
  let isFailing = false;

  async function publish(): Promise<void> {
    if (!(await takeLease(database.db, turnName, Math.max(turnSeconds, everySeconds)))) return;
    try {
      await exportTiles({ db: database.db, old: null }, policy, store, "trust", published);
      if (isFailing) logger.info({ store: store.name }, "the log is published again");
      isFailing = false;
    } finally {
      await restFor(database.db, turnName, everySeconds);
    }
  }

  const tell = (error: unknown) => {
    if (!isFailing)
      logger.warn({ err: error, store: store.name }, "the log can't be published; it is tried again");
    isFailing = true;
  };
  return startInterval(everySeconds * 1_000, oneAtATime(publish), tell);
}

/*
 * The exported tree at LOG_TILES_URL, another URL prefix of the same logs (c2sp.org/tlog-tiles, Parameters). Full tiles and
 * bundles that its checkpoint covers are redirected there: they never change, so storage or a CDN can answer them. Nobody
 * waits for that address: what it holds is read beside requests, and while it is unknown they are answered here.
 */

const lifetimeMs = 60_000;
const timeoutMs = 5_000;
const maxNoteBytes = 64 * 1024;

export interface StaticTiles {
  /** Address of the file; null if this service must answer. `path` starts at `tile/`. */
  addressOf(logId: number, path: string): string | null;
}

interface Settings {
  url: string | undefined;
  clock: () => Date;
  logger: Logger;
  findKey(logId: number): Promise<VerifierKey>;
}

interface Known {
  size: number;
  atMs: number;
}

export function createStaticTiles({ url, clock, logger, findKey }: Settings): StaticTiles {
  const logs = new Map<number, Known>();
  const buildPrefix = (logId: number) =>
    `${url?.replace(/\/+$/, "")}${pathOfLog(logId).slice("/log".length)}`;

  async function readSize(logId: number): Promise<number> {
    const response = await fetch(`${buildPrefix(logId)}/checkpoint`, {
      signal: AbortSignal.timeout(timeoutMs),
    });
    const note = response.ok ? await readTextAtMost(response, maxNoteBytes) : null;
    const verdict = verifyCheckpoint(note ?? "", await findKey(logId));
    if (!verdict.ok) throw new Error(`no checkpoint of log ${logId} is there (HTTP ${response.status})`);
    return verdict.checkpoint.size;
  }

  async function refresh(logId: number): Promise<void> {
    try {
      logs.set(logId, { size: await readSize(logId), atMs: clock().getTime() });
    } catch (error) {
      logs.set(logId, { size: 0, atMs: clock().getTime() });
      logger.warn({ err: error }, "LOG_TILES_URL has no readable tree; tiles are answered here");
    }
  }

  return {
    addressOf: (logId, path) => {
      const tile = url === undefined ? undefined : parseTilePath(path);
      if (tile === undefined || tile.width !== TILE_WIDTH) return null;
      const nowMs = clock().getTime();
      const known = logs.get(logId) ?? { size: 0, atMs: Number.NEGATIVE_INFINITY };
      if (nowMs - known.atMs > lifetimeMs) {
        logs.set(logId, { ...known, atMs: nowMs });
        void refresh(logId);
      }
      return treeHasTile(tile, known.size) ? `${buildPrefix(logId)}/${encodeTilePath(tile)}` : null;
    },
  };
}
