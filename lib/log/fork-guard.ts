/**
 * The highest (log, size, root) that this machine has signed, kept outside the database: a restored backup, or
 * an embedded database that lost its tail with the machine, must not make the log sign a second history.
 *
 * Kept as the name of an empty file in DATA_DIR/log-guard, `<log>-<size>-<root>`: the highest name counts, and
 * a process removes only names below one that exists, so processes that share the folder need no lock.
 */
import { mkdir, open, readdir, rm } from "node:fs/promises";
import path from "node:path";
import { bytesEqual, hexDecode } from "#lib/domain/bytes";
import { rootAtSize, type TileReader } from "#lib/domain/tile-proofs";

export interface SignedHead {
  logId: number;
  size: number;
  rootHex: string;
}

export interface ForkGuard {
  /** The highest head signed here; null before the first. */
  current(): SignedHead | null;
  /** Throws if signing on top of this head would fork the log. */
  check(head: SignedHead): void;
  /** Called after the commit and before a receipt leaves the process. */
  advance(head: SignedHead): Promise<void>;
}

const remedy =
  "Bring the newest database back, or go on honestly in a new log with `npm run log -- new-epoch`.";

export class ForkGuardError extends Error {
  constructor(problem: string) {
    super(`Countersign refuses to sign: ${problem} ${remedy}`);
    this.name = "ForkGuardError";
  }
}

const describeHead = ({ logId, size, rootHex }: SignedHead) =>
  `log ${logId} at size ${size} (root ${rootHex})`;

function isHigher(a: SignedHead, b: SignedHead): boolean {
  return a.logId > b.logId || (a.logId === b.logId && a.size > b.size);
}

function checkHead(kept: SignedHead | null, head: SignedHead): void {
  if (kept === null || isHigher(head, kept)) return;
  if (kept.logId === head.logId && kept.size === head.size && kept.rootHex === head.rootHex) return;
  throw new ForkGuardError(
    `the database holds ${describeHead(head)}, but this machine has already signed ${describeHead(kept)}. ` +
      "The database is older than what was signed (a restored backup, or its tail was lost with the machine), or it has another history.",
  );
}

/** Throws if the tree of a larger size does not begin with what was signed here. */
export async function requirePrefix(guard: ForkGuard, head: SignedHead, readTile: TileReader): Promise<void> {
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

const fileName = ({ logId, size, rootHex }: SignedHead) => `${logId}-${size}-${rootHex}`;

function parseFileName(name: string): SignedHead | null {
  const match = /^(\d{1,9})-(\d{1,16})-([0-9a-f]{64})$/.exec(name);
  if (match === null) return null;
  const [, logId, size, rootHex = ""] = match;
  return { logId: Number(logId), size: Number(size), rootHex };
}

/** The highest of the folder's heads; two roots of one size are a fork that has already happened. */
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

/** Makes the name, and if `durable`, waits until it survives the machine; Windows cannot sync a folder. */
async function writeName(folder: string, name: string, durable: boolean): Promise<void> {
  await (await open(path.join(folder, name), "a", 0o600)).close();
  if (!durable || process.platform === "win32") return;
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

export interface ForkGuardOptions {
  /** The embedded database does not survive the machine for certain, so its guard must. */
  durable: boolean;
}

/** `folder` is made if it does not exist. */
export async function openForkGuard(folder: string, { durable }: ForkGuardOptions): Promise<ForkGuard> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const heads = (await readdir(folder)).map(parseFileName).filter((head) => head !== null);
  let kept = findHighest(heads);
  const remove = (head: SignedHead) => rm(path.join(folder, fileName(head)), { force: true });
  for (const head of heads) if (kept !== null && isHigher(kept, head)) await remove(head);
  return {
    current: () => kept,
    check: (head) => checkHead(kept, head),
    advance: async (head) => {
      checkHead(kept, head);
      const before = kept;
      if (before !== null && !isHigher(head, before)) return;
      await writeName(folder, fileName(head), durable);
      kept = head;
      if (before !== null) await remove(before);
    },
  };
}
