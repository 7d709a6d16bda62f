/** A leaf with its proof and checkpoint against the trusted keys: what every kind of evidence has in common. */

import { bytesEqual } from "#lib/domain/bytes";
import { type Checkpoint, verifyCheckpoint } from "#lib/domain/checkpoint";
import { type LogLeaf, parseLogLeaf } from "#lib/domain/log-leaf";
import { leafHash, verifyInclusion } from "#lib/domain/merkle";
import type { Receipt } from "#lib/domain/receipt";
import type { VerifierCheck } from "./report";
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
    signed.ok
      ? passed("checkpoint_signature", `checkpoint of ${origin} at size ${size}`)
      : failed("checkpoint_signature", signed.problem),
    isIn
      ? passed("log_inclusion", `leaf ${index} of ${size}`)
      : failed("log_inclusion", "the inclusion proof does not lead to the root"),
    key
      ? passed("entry_key", `the entry names key ${key.keyId}, which signs for this index`)
      : failed("entry_key", "the entry names no key that is trusted for this index"),
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

export function passed(name: string, detail: string): VerifierCheck {
  return { name, status: "pass", detail };
}

export function failed(name: string, detail: string): VerifierCheck {
  return { name, status: "fail", detail };
}
