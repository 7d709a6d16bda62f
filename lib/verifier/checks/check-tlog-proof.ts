/**
 * A tlog-proof file (c2sp.org/tlog-proof). Ours carry the leaf's bytes in `extra`, so that the file is complete: they
 * are the attacker's until the inclusion proof has led from them to the signed root.
 */
import { bytesEqual, sha256 } from "#lib/protocol/encoding/bytes";
import { fail, type Outcome, pass, skip } from "#lib/protocol/statement/outcome";
import { parseTlogProof } from "#lib/protocol/tlog/tlog-proof";
import type { VerifierCheck } from "#lib/verifier/report/report";
import { checkLogEntry } from "./check-log-entry";
import { UnreadableError } from "./read-json";
import type { VerifierTrust } from "./trust";

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
