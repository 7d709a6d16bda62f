/**
 * `log check`: the log as an outsider follows it (c2sp.org/tlog-tiles). The checkpoint's signature, that it
 * extends the one seen last time, and on demand every entry and every hash again. Tiles are not trusted: a
 * proof made of them must lead from one signed root to the other.
 */

import { fail, failBy, type Outcome, pass, skip } from "#lib/protocol/statement/outcome";
import { countOf } from "#lib/protocol/text/count";
import { type Checkpoint, verifyCheckpoint } from "#lib/protocol/tlog/checkpoint";
import { decodeEntryBundle } from "#lib/protocol/tlog/entry-bundle";
import { verifyConsistency } from "#lib/protocol/tlog/merkle";
import { encodeTilePath, TILE_WIDTH, type TilePath, tileWidth } from "#lib/protocol/tlog/tile-path";
import { proveConsistency } from "#lib/protocol/tlog/tile-proofs";
import type { VerifierCheck } from "#lib/verifier/report/report";
import { checkLog } from "./check-log";
import { chooseLogKey, type VerifierTrust } from "./trust";

export interface LogSource {
  checkpoint: string;
  /** Undefined if there is no such file. */
  readFile(path: string): Promise<Uint8Array | undefined>;
}

export interface LogCheckRequest {
  /** The note that was kept last time. */
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
    { name: "consistency", ...(await checkConsistency(source, trust, checkpoint, request.remembered)) },
    { name: "entries", ...(await checkEntries(source, checkpoint, request)) },
  ];
}

/** Proves from the log's tiles that the log with this checkpoint extends the remembered one. */
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
      ? pass(`${countOf(size, "entry", "entries")} and ${countOf(verdict.tiles, "tile")} have this root`)
      : failBy(verdict);
  } catch (error) {
    if (error instanceof RangeError) return fail("log_unreadable", { problem: error.message });
    throw error;
  }
}

/** Each tile once: a consistency proof and a whole check read the right edge again and again. */
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

/** True if a check of the log may replace the remembered checkpoint. */
export function holds(checks: readonly VerifierCheck[]): boolean {
  return checks.length > 0 && checks.every(({ status }) => status === "pass" || status === "not_applicable");
}
