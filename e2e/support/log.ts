/** An outsider's view of the public log, for tests: everything through its public paths alone. */
import { base64Encode, bytesEqual } from "#lib/protocol/encoding/bytes";
import { type VerifierKey, verifyCheckpoint } from "#lib/protocol/tlog/checkpoint";
import { decodeEntryBundle } from "#lib/protocol/tlog/log-leaf";
import { verifyConsistency } from "#lib/protocol/tlog/merkle";
import {
  encodeTilePath,
  proveConsistency,
  rootAtSize,
  type TileReader,
  tileWidth,
} from "#lib/protocol/tlog/tiles";
import { checkLog, type LogCheck } from "#lib/verifier/checks/check-log";

export type FetchLog = (path: string) => Promise<{ status: number; bytes: Uint8Array }>;

export interface RememberedCheckpoint {
  size: number;
  root: Uint8Array;
}

export interface LogVisitor {
  checkpoint(): Promise<RememberedCheckpoint>;
  /** Computes all leaves, tiles and the root of the newest checkpoint again. */
  check(): Promise<LogCheck & { size: number }>;
  /** base64 of the entry */
  entry(index: number, size: number): Promise<string>;
  /** True if the tree of this size begins with the checkpoint's. */
  isPrefix(checkpoint: RememberedCheckpoint, size: number): Promise<boolean>;
  /** True if each of the checkpoints is a prefix of every later one. */
  areConsistent(checkpoints: RememberedCheckpoint[]): Promise<boolean>;
}

/** `prefix`: the log's path, for example `/log`. */
export function visitLog(fetchLog: FetchLog, prefix: string, key: VerifierKey): LogVisitor {
  async function get(path: string): Promise<Uint8Array> {
    const { status, bytes } = await fetchLog(`${prefix}/${path}`);
    if (status !== 200) throw new Error(`${prefix}/${path} answered ${status}`);
    return bytes;
  }
  const tiles =
    (size: number): TileReader =>
    async (level, index) => {
      const width = tileWidth(level, index, size);
      return width === 0 ? undefined : get(encodeTilePath({ level, index, width }));
    };
  let decoded: { bytes: Uint8Array; bundle: readonly Uint8Array[] } | undefined;
  const entries = async (index: number, width: number) => {
    const bytes = await get(encodeTilePath({ level: "entries", index, width }));
    // Receipts are looked up one after the other, mostly in the bundle that was read last.
    if (decoded?.bytes !== bytes) decoded = { bytes, bundle: decodeEntryBundle(bytes) };
    return decoded.bundle;
  };
  async function checkpoint(): Promise<RememberedCheckpoint> {
    const verdict = verifyCheckpoint(new TextDecoder().decode(await get("checkpoint")), key);
    if (!verdict.ok) throw new Error(verdict.problem);
    return verdict.checkpoint;
  }
  return {
    checkpoint,
    check: async () => {
      const { size, root } = await checkpoint();
      return { ...(await checkLog(size, tiles(size), entries, { root })), size };
    },
    entry: async (index, size) => {
      const bundle = await entries(Math.floor(index / 256), tileWidth(0, Math.floor(index / 256), size));
      return base64Encode(bundle[index % 256] as Uint8Array);
    },
    isPrefix: async ({ size: oldSize, root }, size) =>
      oldSize <= size && bytesEqual(await rootAtSize(oldSize, tiles(size)), root),
    areConsistent: async (checkpoints) => {
      const sorted = [...checkpoints].sort((a, b) => a.size - b.size);
      const { size } = sorted.at(-1) ?? { size: 0 };
      for (const [i, older] of sorted.entries()) {
        for (const newer of sorted.slice(i + 1)) {
          if (older.size === newer.size && !bytesEqual(older.root, newer.root)) return false;
          const proof = await proveConsistency(older.size, newer.size, tiles(size));
          const claim = {
            oldSize: older.size,
            oldRoot: older.root,
            newSize: newer.size,
            newRoot: newer.root,
          };
          if (!verifyConsistency({ ...claim, proof })) return false;
        }
      }
      return sorted.length > 0;
    },
  };
}
