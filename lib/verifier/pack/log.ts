/** All checkpoints in an evidence pack: each signed by its log, and each log the same, only larger. */
import { base64Decode, bytesEqual } from "#lib/protocol/encoding/bytes";
import { isJsonObject, type JsonObject } from "#lib/protocol/encoding/canonical-json";
import { findCheckpoints } from "#lib/protocol/pack/pack-files";
import { type PackCheck, packFault, packPass } from "#lib/protocol/pack/pack-reasons";
import { countOf } from "#lib/protocol/text/count";
import { type Checkpoint, verifyCheckpoint } from "#lib/protocol/tlog/checkpoint";
import { verifyConsistency } from "#lib/protocol/tlog/merkle";
import { chooseLogKey, type VerifierTrust } from "#lib/verifier/checks/trust";

/** `add` answers the fault of the first checkpoint in a file that is none of this log. */
export function createCheckpointList(trust: VerifierTrust) {
  const notes = new Set<string>();
  const logs = new Map<string, Map<number, Checkpoint>>();
  function addOne(file: string, note: string): PackCheck | null {
    if (notes.has(note)) return null;
    notes.add(note);
    const signed = verifyCheckpoint(note, chooseLogKey(note, trust));
    if (!signed.ok) return packFault("log", "checkpoint_invalid", { file, problem: signed.problem });
    const { checkpoint } = signed;
    const { origin, size, root } = checkpoint;
    const sizes = logs.get(origin) ?? new Map<number, Checkpoint>();
    logs.set(origin, sizes);
    const known = sizes.get(size);
    if (known !== undefined && !bytesEqual(known.root, root))
      return packFault("log", "checkpoints_differ", { origin, size });
    sizes.set(size, checkpoint);
    return null;
  }
  return {
    add(file: string, json: JsonObject): PackCheck | null {
      for (const note of findCheckpoints(json)) {
        const fault = addOne(file, note);
        if (fault !== null) return fault;
      }
      return null;
    },
    /** `proofs`: log.json of the pack. */
    judge: (proofs: JsonObject) => judgeGrowth(logs, proofs),
  };
}

function readProof(shown: unknown): Uint8Array[] | null {
  try {
    return Array.isArray(shown) ? shown.map((hash) => base64Decode(String(hash))) : null;
  } catch {
    return null;
  }
}

function judgeGrowth(logs: ReadonlyMap<string, ReadonlyMap<number, Checkpoint>>, log: JsonObject): PackCheck {
  const listed = Array.isArray(log["consistency"]) ? log["consistency"].filter(isJsonObject) : [];
  const proofs = new Map(
    listed.map(({ origin, from, to, proof }) => [JSON.stringify([origin, from, to]), proof]),
  );
  let count = 0;
  for (const [origin, checkpoints] of logs) {
    const sorted = [...checkpoints.values()].sort((a, b) => a.size - b.size);
    count += sorted.length;
    for (const [i, newer] of sorted.entries()) {
      const older = sorted[i - 1];
      if (older === undefined) continue;
      const proof = readProof(proofs.get(JSON.stringify([origin, older.size, newer.size])));
      const claim = { oldSize: older.size, oldRoot: older.root, newSize: newer.size, newRoot: newer.root };
      if (proof === null || !verifyConsistency({ ...claim, proof }))
        return packFault("log", "consistency_unproven", { origin, from: older.size, to: newer.size });
    }
  }
  return packPass(
    "log",
    `${countOf(count, "checkpoint")} of ${countOf(logs.size, "log")}, each extends the one before`,
  );
}
