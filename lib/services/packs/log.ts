/** The log in an evidence pack: the newest checkpoint of each log that is named, and the proofs that it only grew. */

import { readCheckpoint } from "#lib/log/reading/public-log";
import { tileReader } from "#lib/log/reading/reader";
import { readLogs } from "#lib/log/signing/log-keys";
import { base64Encode } from "#lib/protocol/encoding/bytes";
import type { JsonValue } from "#lib/protocol/encoding/canonical-json";
import { findCheckpoints } from "#lib/protocol/pack/pack-files";
import { parseCheckpoint } from "#lib/protocol/tlog/checkpoint";
import { parseNote } from "#lib/protocol/tlog/signed-note";
import { proveConsistency } from "#lib/protocol/tlog/tile-proofs";
import type { Context } from "#lib/services/approvals/context";

/** Null for what a changed row may hold instead: checking the pack finds it. */
function readPlace(note: string) {
  try {
    return parseCheckpoint(parseNote(note).text);
  } catch {
    return null;
  }
}

/** Origin → sizes at which it was shown. */
export function createSizeList() {
  const sizes = new Map<string, Set<number>>();
  return {
    sizes,
    add(json: unknown): void {
      for (const note of findCheckpoints(json as JsonValue)) {
        const place = readPlace(note);
        if (place === null) continue;
        const { origin, size } = place;
        sizes.set(origin, (sizes.get(origin) ?? new Set()).add(size));
      }
    },
  };
}

export async function describeGrowth(
  { database, settings }: Context,
  { sizes, add }: ReturnType<typeof createSizeList>,
) {
  const named = (await readLogs(database.db)).filter(({ origin }) => sizes.has(origin));
  const checkpoints = [];
  for (const { id, origin } of named) {
    const checkpoint = await readCheckpoint(database.db, id, settings.WITNESSES);
    add({ checkpoint });
    checkpoints.push({ origin, checkpoint });
  }
  const consistency = [];
  for (const { id, origin } of named) {
    const sorted = [...(sizes.get(origin) ?? [])].sort((a, b) => a - b);
    for (const [i, to] of sorted.slice(1).entries()) {
      const from = sorted[i] ?? 0;
      const proof = await proveConsistency(from, to, tileReader(database.db, id));
      consistency.push({ origin, from, to, proof: proof.map(base64Encode) });
    }
  }
  return { checkpoints, consistency };
}
