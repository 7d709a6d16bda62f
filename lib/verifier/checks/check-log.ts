/**
 * The log's full check of itself: everything is computed again from the entries alone (every leaf hash, every
 * tile of every level, the root) and compared with what is stored. Memory stays at one bundle and the edge.
 */
import { bytesEqual, hexEncode } from "#lib/protocol/encoding/bytes";
import { isJsonObject, type JsonObject, type JsonValue } from "#lib/protocol/encoding/canonical-json";
import { type Fault, fail, failBy, fault, type Outcome, pass, skip } from "#lib/protocol/statement/outcome";
import { formatCount } from "#lib/protocol/text/display-text";
import { type Checkpoint, verifyCheckpoint } from "#lib/protocol/tlog/checkpoint";
import { decodeEntryBundle } from "#lib/protocol/tlog/log-leaf";
import { HASH_BYTES, leafHash, verifyConsistency } from "#lib/protocol/tlog/merkle";
import {
  appendLeafHashes,
  emptyRightEdge,
  encodeTilePath,
  proveConsistency,
  TILE_WIDTH,
  type Tile,
  type TilePath,
  type TileReader,
  tileWidth,
} from "#lib/protocol/tlog/tiles";
import type { VerifierCheck } from "#lib/verifier/report/report";
import { checkPostQuantum } from "./check-post-quantum";
import { chooseLogKey, type VerifierTrust } from "./trust";

/** Entries [index·256, index·256 + width), in order; more than asked for count by their prefix. */
export type EntriesReader = (bundleIndex: number, width: number) => Promise<readonly Uint8Array[]>;

export type LogCheck = { ok: true; root: Uint8Array; tiles: number } | Fault;

export type LogCheckOptions = {
  /** The root that the head or a checkpoint claims. */
  root?: Uint8Array;
  onProgress?: (checkedLeaves: number) => void;
};

export async function checkLog(
  size: number,
  readTile: TileReader,
  readEntries: EntriesReader,
  options: LogCheckOptions = {},
): Promise<LogCheck> {
  let edge = emptyRightEdge();
  let tiles = 0;
  for (let bundle = 0; edge.size < size; bundle++) {
    const width = tileWidth(0, bundle, size);
    const entries = (await readEntries(bundle, width)).slice(0, width);
    if (entries.length < width)
      return fault("entry_missing", { index: bundle * TILE_WIDTH + entries.length, size });
    const batch = appendLeafHashes(edge, entries.map(leafHash));
    edge = batch.edge;
    for (const tile of batch.changedTiles) {
      // A tile that a later bundle makes longer is compared then.
      if (tile.hashes.length !== tileWidth(tile.level, tile.index, size) * HASH_BYTES) continue;
      const wrong = compareTile(tile, await readTile(tile.level, tile.index));
      if (wrong !== undefined) return wrong;
      tiles++;
    }
    options.onProgress?.(edge.size);
  }
  if (options.root !== undefined && !bytesEqual(options.root, edge.root))
    return fault("log_root_mismatch", { size, root: hexEncode(edge.root) });
  return { ok: true, root: edge.root, tiles };
}

function compareTile({ level, index, hashes }: Tile, stored: Uint8Array | undefined): Fault | undefined {
  const tile = `${level}/${index}`;
  if (stored === undefined) return fault("tile_missing", { tile });
  if (stored.length < hashes.length) return fault("tile_too_short", { tile });
  if (!bytesEqual(stored.subarray(0, hashes.length), hashes)) return fault("tile_mismatch", { tile });
  return undefined;
}

/*
 * `log check`: the log as an outsider follows it (c2sp.org/tlog-tiles). The checkpoint's signature, that it
 * extends the one seen last time, and on demand every entry and every hash again. Tiles are not trusted: a
 * proof made of them must lead from one signed root to the other.
 */

export interface LogSource {
  checkpoint: string;
  readFile(path: string): Promise<Uint8Array | undefined>;
}

export interface LogCheckRequest {
  remembered: string | null;
  isWhole: boolean;
  onProgress?: (checked: number, total: number) => void;
}

export async function checkWholeLog(
  source: LogSource,
  trust: VerifierTrust,
  request: LogCheckRequest,
): Promise<VerifierCheck[]> {
  const key = chooseLogKey(source.checkpoint, trust);
  const signed = verifyCheckpoint(source.checkpoint, key);
  if (!signed.ok) return [{ name: "checkpoint_signature", ...failBy(signed) }];
  const { checkpoint } = signed;
  return [
    {
      name: "checkpoint_signature",
      ...pass(`checkpoint of ${checkpoint.origin} at size ${checkpoint.size}`),
    },
    ...(await checkPostQuantum(source.checkpoint, trust, {
      isPublished: true,
      remembered: request.remembered,
    })),
    { name: "consistency", ...(await checkConsistency(source, trust, checkpoint, request.remembered)) },
    { name: "entries", ...(await checkEntries(source, checkpoint, request)) },
  ];
}

export async function checkConsistency(
  source: LogSource,
  trust: VerifierTrust,
  checkpoint: Checkpoint,
  remembered: string | null,
): Promise<Outcome> {
  if (remembered === null) return skip("nothing_remembered");
  const before = verifyCheckpoint(remembered, chooseLogKey(remembered, trust));
  if (!before.ok) return fail("remembered_checkpoint_invalid", { problem: before.problem });
  const { origin, size: oldSize, root: oldRoot } = before.checkpoint;
  const { size: newSize, root: newRoot } = checkpoint;
  if (origin !== checkpoint.origin) return fail("another_log", { origin });
  if (oldSize > newSize) return fail("log_shrunk", { size: oldSize });
  try {
    const proof = await proveConsistency(oldSize, newSize, tileReader(source, newSize));
    return verifyConsistency({ oldSize, oldRoot, newSize, newRoot, proof })
      ? pass(`extends the remembered tree of ${oldSize}`)
      : fail("log_forked", { size: oldSize });
  } catch (error) {
    if (error instanceof RangeError) return fail("log_unreadable", { problem: error.message });
    throw error;
  }
}

async function checkEntries(
  source: LogSource,
  { size, root }: Checkpoint,
  { isWhole, onProgress }: LogCheckRequest,
): Promise<Outcome> {
  if (!isWhole) return skip("not_requested", { option: "--all" });
  try {
    const verdict = await checkLog(size, tileReader(source, size), entriesReader(source), {
      root,
      onProgress: (checked) => onProgress?.(checked, size),
    });
    return verdict.ok
      ? pass(
          `${formatCount(size, "entry", "entries")} and ${formatCount(verdict.tiles, "tile")} have this root`,
        )
      : failBy(verdict);
  } catch (error) {
    if (error instanceof RangeError) return fail("log_unreadable", { problem: error.message });
    throw error;
  }
}

/** Reads each tile once: a consistency proof and a whole check need the right edge again and again. */
export function tileReader(source: LogSource, size: number) {
  const seen = new Map<string, Promise<Uint8Array | undefined>>();
  return (level: number, index: number): Promise<Uint8Array | undefined> => {
    const path = { level, index, width: tileWidth(level, index, size) };
    const name = `${level}/${index}`;
    const tile = seen.get(name) ?? readTileFile(source, path);
    if (path.width < TILE_WIDTH) seen.set(name, tile);
    return tile;
  };
}

function entriesReader(source: LogSource) {
  return async (index: number, width: number): Promise<Uint8Array[]> => {
    const file = await readTileFile(source, { level: "entries", index, width });
    return file === undefined ? [] : decodeEntryBundle(file);
  };
}

/** A log may drop a partial tile once the full one is there. */
async function readTileFile(source: LogSource, path: TilePath): Promise<Uint8Array | undefined> {
  const file = await source.readFile(encodeTilePath(path));
  if (file !== undefined || path.width === TILE_WIDTH) return file;
  return source.readFile(encodeTilePath({ ...path, width: TILE_WIDTH }));
}

export function holds(checks: readonly VerifierCheck[]): boolean {
  return checks.length > 0 && checks.every(({ status }) => status === "pass" || status === "not_applicable");
}

/* Keys to trust from the list of logs side by side: each attestation key counts in its own log alone. */

/** The answer of GET /v1/pubkey as far as the list has it, or the answer itself. `base`: the service that is asked for. */
export function readKeysOfList(answer: JsonObject, base: string | undefined): JsonObject {
  const { operators } = answer;
  if (!Array.isArray(operators)) return answer;
  const lists = operators.filter(isJsonObject).map((operator) => operator["tiled_logs"]);
  const logs = lists.flatMap((list): JsonValue[] => (Array.isArray(list) ? list : [])).filter(isJsonObject);
  const isUsable = ({ state }: JsonObject) => isJsonObject(state) && "usable" in state;
  const usable = logs.filter(isUsable);
  const log = usable.find(({ submission_url: url }) => url === `${base}/`) ?? usable[0] ?? {};
  const keys = logs.flatMap(({ attestation_keys: listed, origin }): JsonObject[] =>
    (Array.isArray(listed) ? listed : [])
      .filter(isJsonObject)
      .map((key) => ({ ...key, log_origin: origin ?? "" })),
  );
  return { log: { ...log, url: log["monitoring_url"] ?? "" }, logs, keys };
}
