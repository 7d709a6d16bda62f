/**
 * The highest (size, root) that this machine has signed, kept outside the database: a restored backup, or an
 * embedded database that lost its tail with the machine, must not make the log sign a second history.
 */
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import path from "node:path";

export interface SignedHead {
  logId: number;
  size: number;
  rootHex: string;
}

export interface ForkGuard {
  /** The highest head signed here; null before the first. */
  current(): SignedHead | null;
  /** Throws where signing on top of this head would fork the log. */
  check(head: SignedHead): void;
  /** Called after the commit and before a receipt leaves the process. */
  advance(head: SignedHead): Promise<void>;
}

export class ForkGuardError extends Error {
  constructor(kept: SignedHead, head: SignedHead) {
    super(
      `Countersign refuses to sign: the database holds log ${head.logId} at size ${head.size} (root ${head.rootHex}), but this machine has already signed size ${kept.size} (root ${kept.rootHex}). ` +
        "The database is older than what was signed (a restored backup, or its tail was lost with the machine). Bring the newest database back, or go on honestly in a new log with `npm run log -- new-epoch`.",
    );
    this.name = "ForkGuardError";
  }
}

function checkHead(kept: SignedHead | null, head: SignedHead): void {
  if (kept === null || kept.logId < head.logId) return;
  const isBehind = kept.logId > head.logId || kept.size > head.size;
  if (isBehind || (kept.size === head.size && kept.rootHex !== head.rootHex))
    throw new ForkGuardError(kept, head);
}

/** `folder: null` keeps it in memory only, for tests. */
export async function openForkGuard(folder: string | null): Promise<ForkGuard> {
  const file = folder === null ? null : path.join(folder, "log-guard.json");
  let kept: SignedHead | null = null;
  if (file !== null) {
    await mkdir(path.dirname(file), { recursive: true });
    const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return null;
      throw error;
    });
    if (text !== null) kept = JSON.parse(text) as SignedHead;
  }
  return {
    current: () => kept,
    check: (head) => checkHead(kept, head),
    advance: async (head) => {
      checkHead(kept, head);
      kept = head;
      if (file === null) return;
      await writeFile(`${file}.new`, JSON.stringify(head));
      await rename(`${file}.new`, file);
    },
  };
}
