/**
 * Entry bundles (c2sp.org/tlog-tiles, "Log entries"): for each entry `uint16be length ‖ data`, at most 256.
 */
import { concatBytes } from "#lib/protocol/encoding/bytes";
import { TILE_WIDTH } from "./tile-path";

const MAX_ENTRY_BYTES = 0xffff;

/** Throws RangeError if there are none or more than 256 entries, or one is too long. */
export function encodeEntryBundle(entries: readonly Uint8Array[]): Uint8Array {
  if (entries.length === 0 || entries.length > TILE_WIDTH)
    throw new RangeError("a bundle has 1 to 256 entries");
  const parts: Uint8Array[] = [];
  for (const entry of entries) {
    if (entry.length > MAX_ENTRY_BYTES) throw new RangeError("an entry has at most 65,535 bytes");
    parts.push(Uint8Array.of(entry.length >> 8, entry.length & 0xff), entry);
  }
  return concatBytes(...parts);
}

/** Throws RangeError for anything but 1 to 256 whole entries. */
export function decodeEntryBundle(bytes: Uint8Array): Uint8Array[] {
  const entries: Uint8Array[] = [];
  for (let offset = 0; offset < bytes.length; ) {
    const [high, low] = bytes.subarray(offset, offset + 2);
    if (high === undefined || low === undefined) throw new RangeError("truncated entry bundle");
    const end = offset + 2 + high * 256 + low;
    if (end > bytes.length) throw new RangeError("truncated entry bundle");
    entries.push(bytes.slice(offset + 2, end));
    offset = end;
  }
  if (entries.length === 0 || entries.length > TILE_WIDTH)
    throw new RangeError("a bundle has 1 to 256 entries");
  return entries;
}
