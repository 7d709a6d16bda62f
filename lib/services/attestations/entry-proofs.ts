/** Proofs by the log for a stored attestation: its leaf and, with anchors, its time; and how answers show both. */
import type { LogReceipt } from "#lib/api/schemas/attest";
import type { AnchorAnswer } from "#lib/api/schemas/time";
import type { Database } from "#lib/db/client";
import type { LogContext } from "#lib/log/context";
import { readOldEntry } from "#lib/log/reading/reader";
import { proveStored } from "#lib/log/reading/stored-proof";
import { readAnchors } from "#lib/log/time/anchors";
import { base64Encode } from "#lib/protocol/encoding/bytes";
import type { Anchor, TimeEvidence } from "#lib/protocol/statement/receipt";
import { addNoteSignatures } from "#lib/protocol/tlog/checkpoint";
import { parseSignatureLines } from "#lib/protocol/tlog/signed-note";
import type { StoredAttestation } from "./stored-receipt";

export interface StoredEntry {
  origin: string;
  index: number;
  treeSize: number;
  entry: Uint8Array;
  inclusionProof: Uint8Array[];
  checkpoint: string;
}

/** The leaf and its proof. Throws RangeError if the log's rows do not give one: a leaf or a tile is gone. */
export async function proveEntry(
  { database, oldEntries }: Pick<LogContext, "database" | "oldEntries">,
  stored: StoredAttestation,
): Promise<StoredEntry> {
  const { log_id: logId, leaf_index: index, origin, leaf, size, note, cosignatures, tiles } = stored;
  if (origin === null || size === null || note === null)
    throw new RangeError(`the database has no log ${logId}`);
  if (leaf === null && stored.record_agent === null)
    throw new RangeError(`leaf ${index} of log ${logId} is missing`);
  const entry = leaf ?? (await readOldEntry(database.db, oldEntries, logId, index, stored.payload_hash));
  const inclusionProof = await proveStored(database, logId, index, size, tiles);
  const checkpoint =
    cosignatures === null ? note : addNoteSignatures(note, parseSignatureLines(cosignatures));
  return { origin, index, treeSize: size, entry, inclusionProof, checkpoint };
}

/** Collects time evidence by others, only from the log's rows. */
export async function proveTime(database: Database, stored: StoredAttestation): Promise<TimeEvidence> {
  const named = stored.statement?.predicate.not_before;
  const { log_id: logId, leaf_index: index, cosigned_note: note = null } = stored;
  const anchors = readAnchors(stored.anchors).map(async ({ size, checkpoint, stamps, tiles }) => ({
    treeSize: size,
    inclusionProof: await proveStored(database, logId, index, size, tiles),
    checkpoint,
    timeStamps: stamps,
  }));
  return {
    checkpoint: named?.type === "tlog-cosignature" ? note : null,
    anchors: await Promise.all(anchors),
  };
}

export const describeAnchor = ({
  treeSize,
  inclusionProof,
  checkpoint,
  timeStamps,
}: Anchor): AnchorAnswer => ({
  tree_size: treeSize,
  inclusion_proof: inclusionProof.map(base64Encode),
  checkpoint,
  time_stamps: timeStamps.map(({ tsa, response }) => ({ tsa, response: base64Encode(response) })),
});

export function describeEntry({
  origin,
  index,
  treeSize,
  entry,
  inclusionProof,
  checkpoint,
}: StoredEntry): LogReceipt {
  return {
    origin,
    index,
    tree_size: treeSize,
    entry: base64Encode(entry),
    inclusion_proof: inclusionProof.map(base64Encode),
    checkpoint,
  };
}
