/**
 * Entries that were dropped from the database (`npm run log -- compact`), from the store: a whole bundle at a time, compared
 * with the leaf hashes that the database keeps (its tile), and kept in memory as long as there is room.
 */
import { LRUCache } from "lru-cache";
import { AppError } from "#lib/errors";
import { type ObjectStore, within } from "#lib/log/object-storage/object-store";
import { bytesEqual, concatBytes } from "#lib/protocol/encoding/bytes";
import { decodeEntryBundle } from "#lib/protocol/tlog/entry-bundle";
import { HASH_BYTES, leafHash } from "#lib/protocol/tlog/merkle";
import { encodeTilePath, TILE_WIDTH } from "#lib/protocol/tlog/tile-path";
import type { TileReader } from "#lib/protocol/tlog/tile-proofs";

export interface OldEntries {
  /**
   * All 256 entries of a full bundle. Throws RangeError if the store's are missing or not those of the tile, and
   * service_unavailable if the store doesn't answer.
   */
  readBundle(logId: number, index: number, readTile: TileReader): Promise<readonly Uint8Array[]>;
}

/** Bundles have some 140 kB. */
const maxBytes = 16_000_000;

/** Where the log lies in a store that has others beside it. */
export const storeOfLog = (store: ObjectStore, logId: number) =>
  within(store, logId === 1 ? "" : String(logId));

async function load(store: ObjectStore, logId: number, index: number, readTile: TileReader) {
  const name = encodeTilePath({ level: "entries", index, width: TILE_WIDTH });
  const found = await storeOfLog(store, logId)
    .read(name)
    .catch((cause: unknown) => {
      throw new AppError("service_unavailable", "the log's store did not respond; try again shortly", {
        cause,
      });
    });
  if (found === null) throw new RangeError(`${name} of log ${logId} is missing in ${store.name}`);
  const entries = decodeEntryBundle(found.bytes);
  const tile = await readTile(0, index);
  const wanted = tile?.subarray(0, TILE_WIDTH * HASH_BYTES);
  if (wanted === undefined || !bytesEqual(concatBytes(...entries.map(leafHash)), wanted))
    throw new RangeError(`${name} of log ${logId} in ${store.name} is not that of the database's tile`);
  return { entries, bytes: found.bytes.length };
}

export function createOldEntries(store: ObjectStore): OldEntries {
  type Bundle = Awaited<ReturnType<typeof load>>;
  const bundles = new LRUCache<string, Bundle>({ maxSize: maxBytes, sizeCalculation: ({ bytes }) => bytes });
  const loading = new Map<string, Promise<Bundle>>();
  return {
    readBundle: async (logId, index, readTile) => {
      const name = `${logId}/${index}`;
      const known = bundles.get(name);
      if (known !== undefined) return known.entries;
      const begun = loading.get(name) ?? load(store, logId, index, readTile);
      loading.set(name, begun);
      try {
        const bundle = await begun;
        bundles.set(name, bundle);
        return bundle.entries;
      } finally {
        loading.delete(name);
      }
    },
  };
}
