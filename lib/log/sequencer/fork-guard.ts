/**
 * The highest (log, size, root) that this machine has signed, kept outside the database: a restored backup, or
 * an embedded database that lost its tail with the machine, must not make the log sign a second history.
 *
 * Kept in DATA_DIR/log-guard as `<log>-<size>-<root>`. Each process writes into a file of its own, `head-<random>`, with
 * two places that take turns: if the machine dies while one is written, the other still holds. The highest head of all
 * files counts, so processes that share the folder need no lock.
 */
import { randomBytes } from "node:crypto";
import { closeSync, fdatasync, fstatSync, openSync, writeSync } from "node:fs";
import { open as openHandle, readdir, readFile, rm, stat } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { crc32 } from "node:zlib";
import { makeFolder } from "#lib/make-folder";
import { bytesEqual, hexDecode } from "#lib/protocol/encoding/bytes";
import { rootAtSize, type TileReader } from "#lib/protocol/tlog/tiles";

export interface SignedHead {
  logId: number;
  size: number;
  rootHex: string;
}

export interface ForkGuard {
  current(): SignedHead | null;
  /** Throws if signing on top of this head would fork the log. */
  check(head: SignedHead): void;
  /** Called after the commit and before a receipt leaves the process. */
  advance(head: SignedHead): Promise<void>;
}

export interface OpenForkGuard extends ForkGuard {
  close(): void;
}

const remedy =
  "Bring the newest database back, or go on honestly in a new log with `npm run log -- new-epoch`. " +
  "If several machines share the database without LOG_STORE, read docs/several-instances.md, When the primary dies, before: each knows only what it has signed itself.";

export class ForkGuardError extends Error {
  constructor(problem: string) {
    super(`Countersign refuses to sign: ${problem} ${remedy}`);
    this.name = "ForkGuardError";
  }
}

export const describeHead = ({ logId, size, rootHex }: SignedHead) =>
  `log ${logId} at size ${size} (root ${rootHex})`;

export function isHigher(a: SignedHead, b: SignedHead): boolean {
  return a.logId > b.logId || (a.logId === b.logId && a.size > b.size);
}

/** Throws if signing on top of this head would fork the log. */
export function checkHead(kept: SignedHead | null, head: SignedHead): void {
  if (kept === null || isHigher(head, kept)) return;
  if (kept.logId === head.logId && kept.size === head.size && kept.rootHex === head.rootHex) return;
  throw new ForkGuardError(
    `the database holds ${describeHead(head)}, but this machine has already signed ${describeHead(kept)}. ` +
      "The database is older than what was signed (a restored backup, or its tail was lost with the machine), or it has another history.",
  );
}

/** Subset of the guard for comparing heads. */
export type KnownHeads = Pick<ForkGuard, "current" | "check">;

/** Throws if the tree of a larger size does not begin with what was signed here. */
export async function requirePrefix(
  guard: KnownHeads,
  head: SignedHead,
  readTile: TileReader,
): Promise<void> {
  const kept = guard.current();
  if (kept === null || kept.logId !== head.logId || kept.size === 0 || kept.size >= head.size) return;
  const root = await rootAtSize(kept.size, readTile).catch((error: unknown) => {
    if (error instanceof RangeError) return null;
    throw error;
  });
  if (root !== null && bytesEqual(root, hexDecode(kept.rootHex))) return;
  throw new ForkGuardError(
    `the database holds ${describeHead(head)}, which does not begin with what this machine has signed, ${describeHead(kept)}. It has another history.`,
  );
}

const encodeHead = ({ logId, size, rootHex }: SignedHead) => `${logId}-${size}-${rootHex}`;

function parseHead(text: string): SignedHead | null {
  const match = /^(\d{1,9})-(\d{1,16})-([0-9a-f]{64})$/.exec(text);
  if (match === null) return null;
  const [, logId, size, rootHex = ""] = match;
  return { logId: Number(logId), size: Number(size), rootHex };
}

function findHighest(heads: SignedHead[]): SignedHead | null {
  let highest: SignedHead | null = null;
  for (const head of heads) {
    if (highest === null || isHigher(head, highest)) highest = head;
    else if (!isHigher(highest, head) && highest.rootHex !== head.rootHex) {
      throw new ForkGuardError(
        `this machine has signed both ${describeHead(highest)} and ${describeHead(head)}.`,
      );
    }
  }
  return highest;
}

const ownFile = /^head-[0-9a-f]{16}$/;
/** A disk writes at least so much at once, so the two places never share a broken write. */
const placeBytes = 512;
const recordBytes = 128;

const encodeRecord = (text: string) => `${text} ${crc32(text).toString(16)}`;

/** A record that was read or left half written counts as none. */
function parseRecord(line: string): SignedHead | null {
  const [text = ""] = line.split(" ");
  return line === encodeRecord(text) ? parseHead(text) : null;
}

/** Null for a file that another process has tidied away. */
const unlessGone = <T>(work: Promise<T>): Promise<T | null> =>
  work.catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return null;
    throw error;
  });

/** Read again if a file goes meanwhile: what made it needless may be in one that came since. */
async function readFolder(folder: string): Promise<{ name: string; heads: SignedHead[] }[]> {
  const readOne = async (name: string) => {
    const lines = (await readFile(path.join(folder, name), "latin1")).split("\n");
    return { name, heads: lines.map(parseRecord).filter((head) => head !== null) };
  };
  for (let attempt = 0; attempt < 20; attempt += 1) {
    const names = (await readdir(folder)).filter((name) => ownFile.test(name));
    const files = await Promise.all(names.map((name) => unlessGone(readOne(name))));
    const there = files.filter((file) => file !== null);
    if (there.length === files.length) return there;
  }
  throw new Error(`${folder} lists files that are not there`);
}

const aDayMs = 86_400_000;

async function tidy(
  folder: string,
  files: Awaited<ReturnType<typeof readFolder>>,
  kept: SignedHead,
  now: Date,
) {
  for (const { name, heads } of files) {
    if (heads.length === 0 || !heads.every((head) => isHigher(kept, head))) continue;
    const file = path.join(folder, name);
    const found = await unlessGone(stat(file));
    if (found !== null && found.mtimeMs < now.getTime() - aDayMs) await rm(file, { force: true });
  }
}

/** A new file survives the machine only if its name in the folder does. Windows cannot sync a folder. */
async function syncFolder(folder: string): Promise<void> {
  if (process.platform === "win32") return;
  const handle = await openHandle(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function createRecord(folder: string, isDurable: boolean) {
  let fd: number | null = null;
  let turn = 0;
  const write = (file: number, head: SignedHead) => {
    const record = Buffer.from(`\n${encodeRecord(encodeHead(head))}\n`.padEnd(recordBytes, "\0"), "latin1");
    turn = 1 - turn;
    writeSync(file, record, 0, recordBytes, turn * placeBytes);
  };
  const open = () => openSync(path.join(folder, `head-${randomBytes(8).toString("hex")}`), "wx", 0o600);
  return {
    async put(head: SignedHead): Promise<void> {
      const isNew = fd === null;
      fd ??= open();
      write(fd, head);
      // Tidied away by another process: what was written is nowhere.
      if (fstatSync(fd).nlink === 0) {
        closeSync(fd);
        fd = open();
        write(fd, head);
        if (isDurable) await syncFolder(folder);
      }
      if (!isDurable) return;
      await promisify(fdatasync)(fd);
      if (isNew) await syncFolder(folder);
    },
    close: () => {
      if (fd !== null) closeSync(fd);
      fd = null;
    },
  };
}

export interface ForkGuardOptions {
  /** The embedded database does not survive the machine for certain, so its guard must. */
  durable: boolean;
  now: Date;
}

/** Changes nothing; a folder that doesn't exist has no heads. */
export async function readForkGuard(folder: string): Promise<KnownHeads> {
  const files = await readFolder(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
  const kept = findHighest(files.flatMap(({ heads }) => heads));
  return { current: () => kept, check: (head) => checkHead(kept, head) };
}

export async function openForkGuard(
  folder: string,
  { durable, now }: ForkGuardOptions,
): Promise<OpenForkGuard> {
  await makeFolder(folder, 0o700);
  const files = await readFolder(folder);
  let kept = findHighest(files.flatMap(({ heads }) => heads));
  if (kept !== null) await tidy(folder, files, kept, now);
  const record = createRecord(folder, durable);
  return {
    current: () => kept,
    check: (head) => checkHead(kept, head),
    advance: async (head) => {
      checkHead(kept, head);
      if (kept !== null && !isHigher(head, kept)) return;
      await record.put(head);
      kept = head;
    },
    close: record.close,
  };
}
