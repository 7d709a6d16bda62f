/** A leaf with its proof and checkpoint against the trusted keys: what every kind of evidence has in common. */
import { bytesEqual, sha256 } from "#lib/protocol/encoding/bytes";
import { fail, failBy, type Outcome, pass, skip } from "#lib/protocol/statement/outcome";
import type { Receipt } from "#lib/protocol/statement/receipt";
import { type Checkpoint, verifyCheckpoint } from "#lib/protocol/tlog/checkpoint";
import { type LogLeaf, parseLogLeaf } from "#lib/protocol/tlog/log-leaf";
import { leafHash, verifyInclusion } from "#lib/protocol/tlog/merkle";
import { parseTlogProof } from "#lib/protocol/tlog/tlog-proof";
import type { VerifierCheck } from "#lib/verifier/report/report";
import { UnreadableError } from "./evidence";
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

/*
 * A tlog-proof file (c2sp.org/tlog-proof). Ours carry the leaf's bytes in `extra`, so that the file is complete: they
 * are the attacker's until the inclusion proof has led from them to the signed root.
 */

/** `payload`: the bytes that the leaf must be about, if the verifier has them. */
export function checkTlogProof(
  file: string,
  trust: VerifierTrust,
  payload: Uint8Array | undefined,
): VerifierCheck[] {
  const { index, proof, checkpoint, extra } = parseTlogProof(file);
  if (extra === undefined) throw new UnreadableError("a tlog-proof without the leaf in its extra line");
  const evidence = { index, entry: extra, inclusionProof: [...proof], checkpoint };
  const { checks, leaf } = checkLogEntry(evidence, trust);
  return [...checks, { name: "payload_hash", ...checkPayload(leaf?.payloadHash, payload) }];
}

function checkPayload(payloadHash: Uint8Array | undefined, payload: Uint8Array | undefined): Outcome {
  if (payload === undefined) return skip("payload_not_given");
  return payloadHash !== undefined && bytesEqual(payloadHash, sha256(payload))
    ? pass("the leaf is about this payload")
    : fail("entry_payload_mismatch");
}
