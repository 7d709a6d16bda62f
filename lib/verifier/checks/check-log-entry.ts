/** A leaf with its proof and checkpoint against the trusted keys: what every kind of evidence has in common. */

import { bytesEqual } from "#lib/protocol/encoding/bytes";
import { fail, failBy, pass } from "#lib/protocol/statement/outcome";
import type { Receipt } from "#lib/protocol/statement/receipt";
import { type Checkpoint, verifyCheckpoint } from "#lib/protocol/tlog/checkpoint";
import { type LogLeaf, parseLogLeaf } from "#lib/protocol/tlog/log-leaf";
import { leafHash, verifyInclusion } from "#lib/protocol/tlog/merkle";
import type { VerifierCheck } from "#lib/verifier/report/report";
import { chooseLogKey, type VerifierTrust } from "./trust";

type LogEvidence = Pick<Receipt["log"], "index" | "entry" | "inclusionProof" | "checkpoint">;

/** Checks `checkpoint_signature`, `log_inclusion` and `entry_key`; leaf and checkpoint if they are such. */
export function checkLogEntry(
  { index, entry, inclusionProof, checkpoint }: LogEvidence,
  trust: VerifierTrust,
): { checks: VerifierCheck[]; leaf: LogLeaf | null; checkpoint: Checkpoint | null } {
  const signed = verifyCheckpoint(checkpoint, chooseLogKey(checkpoint, trust));
  const { size, root } = signed.ok ? signed.checkpoint : { size: 0, root: new Uint8Array() };
  const isIn = verifyInclusion({ leafHash: leafHash(entry), index, size, proof: inclusionProof, root });
  const leaf = parseOrNull(entry);
  const origin = signed.ok ? signed.checkpoint.origin : "";
  const key =
    leaf &&
    trust.keys.find(
      ({ publicKey, logOrigin = origin, validFromIndex: from, validToIndex: to }) =>
        bytesEqual(publicKey, leaf.publicKey) &&
        logOrigin === origin &&
        index >= from &&
        (to === null || index < to),
    );
  const checks: VerifierCheck[] = [
    {
      name: "checkpoint_signature",
      ...(signed.ok ? pass(`checkpoint of ${origin} at size ${size}`) : failBy(signed)),
    },
    {
      name: "log_inclusion",
      ...(isIn ? pass(`leaf ${index} of ${size}`) : fail("inclusion_proof_invalid")),
    },
    {
      name: "entry_key",
      ...(key
        ? pass(`the entry names key ${key.keyId}, which signs for this index`)
        : fail("entry_key_unknown")),
    },
  ];
  return { checks, leaf, checkpoint: signed.ok ? signed.checkpoint : null };
}

function parseOrNull(entry: Uint8Array): LogLeaf | null {
  try {
    return parseLogLeaf(entry);
  } catch {
    return null;
  }
}
