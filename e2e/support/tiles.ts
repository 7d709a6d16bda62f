/** Shared by tests of the log's tree: a store as a database keeps it, and entries to put in. */
import { bytesEqual, utf8Encode } from "#lib/protocol/encoding/bytes";
import { leafHash } from "#lib/protocol/tlog/merkle";
import { appendLeafHashes, emptyRightEdge, type RightEdge, type Tile } from "#lib/protocol/tlog/tiles";

export const ENTRIES = Array.from({ length: 66_000 }, (_, i) => utf8Encode(`entry ${i}`));
export const HASHES = ENTRIES.map(leafHash);

/** One row per (level, index), replaced only by a longer one that begins with it. */
export class TileStore {
  readonly rows = new Map<string, Uint8Array>();
  reads: string[] = [];
  edge: RightEdge = emptyRightEdge();

  append(count: number) {
    const batch = appendLeafHashes(this.edge, HASHES.slice(this.edge.size, this.edge.size + count));
    for (const { level, index, hashes } of batch.changedTiles) {
      const before = this.rows.get(`${level}/${index}`) ?? new Uint8Array();
      if (hashes.length <= before.length || !bytesEqual(hashes.subarray(0, before.length), before)) {
        throw new Error(`tile ${level}/${index} was replaced, not made longer`);
      }
      this.rows.set(`${level}/${index}`, hashes);
    }
    this.edge = batch.edge;
    return batch;
  }

  readTile = async (level: number, index: number) => {
    this.reads.push(`${level}/${index}`);
    return this.rows.get(`${level}/${index}`);
  };

  storedTiles(): Tile[] {
    return [...this.rows].map(([name, hashes]) => {
      const [level = 0, index = 0] = name.split("/").map(Number);
      return { level, index, hashes };
    });
  }
}

export async function readEntries(bundle: number, width: number): Promise<Uint8Array[]> {
  return ENTRIES.slice(bundle * 256, bundle * 256 + width);
}

export function grownTo(size: number): TileStore {
  const store = new TileStore();
  store.append(size);
  return store;
}

export function flipBit(bytes: Uint8Array): Uint8Array {
  return bytes.map((byte, i) => (i === 0 ? byte ^ 1 : byte));
}
