/**
 * Offline proofs that data is in the log (c2sp.org/tlog-proof), files named `*.tlog-proof`:
 *
 *     c2sp.org/tlog-proof@v1
 *     index 73894
 *     gSKyXoYZUgZ6jduWYrkDOARinOMGJveXjgMkBTcdPlQ=      inclusion proof, a hash a line
 *
 *     example.com/log …                                 the signed checkpoint, cosignatures included
 */

import { base64Decode, base64Encode } from "#lib/core/encoding/bytes";
import type { VerifyEd25519 } from "#lib/core/keys/ed25519";
import { encodeProofLines, parseProofLines } from "./add-checkpoint";
import { type Checkpoint, parseDecimal, verifyCheckpoint } from "./checkpoint";
import { checkWitnesses, type WitnessPolicy } from "./cosignature";
import { isTreeSize, leafHash, verifyInclusion } from "./merkle";
import type { VerifierKey } from "./signed-note";

const HEADER = "c2sp.org/tlog-proof@v1";

export type TlogProof = {
  index: number;
  proof: readonly Uint8Array[];
  /** The signed note, verbatim. */
  checkpoint: string;
  /** Opaque and not authenticated. */
  extra?: Uint8Array;
};

export type TlogProofPolicy = { logKey: VerifierKey; witnesses?: WitnessPolicy; verify?: VerifyEd25519 };

export type TlogProofVerdict =
  | { ok: true; index: number; checkpoint: Checkpoint; cosigned: { name: string; timeSeconds: number }[] }
  | { ok: false; problem: string };

export function encodeTlogProof({ index, proof, checkpoint, extra }: TlogProof): string {
  if (!isTreeSize(index)) throw new RangeError("leaf index");
  const extraLine = extra === undefined ? "" : `extra ${base64Encode(extra)}\n`;
  return `${HEADER}\n${extraLine}index ${index}\n${encodeProofLines(proof)}\n${checkpoint}`;
}

/** Throws RangeError for a malformed file; the checkpoint in it is not looked at. */
export function parseTlogProof(file: string): TlogProof {
  const blank = file.indexOf("\n\n");
  const lines = file.slice(0, Math.max(blank, 0)).split("\n");
  if (lines.shift() !== HEADER) throw new RangeError("not a tlog-proof");
  const extra = lines[0]?.startsWith("extra ")
    ? base64Decode(lines.shift()?.slice("extra ".length) ?? "")
    : undefined;
  const indexLine = lines.shift() ?? "";
  if (!indexLine.startsWith("index ")) throw new RangeError("a tlog-proof without an index");
  return {
    index: parseDecimal(indexLine.slice("index ".length)),
    proof: parseProofLines(lines),
    checkpoint: file.slice(blank + 2),
    ...(extra !== undefined && { extra }),
  };
}

/** Whether the file proves that these leaf bytes are in the log. Never throws for the file. */
export function verifyTlogProof(file: string, leaf: Uint8Array, policy: TlogProofPolicy): TlogProofVerdict {
  let parsed: TlogProof;
  try {
    parsed = parseTlogProof(file);
  } catch {
    return { ok: false, problem: "not a tlog-proof" };
  }
  const signed = verifyCheckpoint(parsed.checkpoint, policy.logKey, policy.verify);
  if (!signed.ok) return signed;
  const { size, root } = signed.checkpoint;
  const { index, proof } = parsed;
  if (!verifyInclusion({ leafHash: leafHash(leaf), index, size, proof, root })) {
    return { ok: false, problem: "the inclusion proof does not lead to the checkpoint's root" };
  }
  if (policy.witnesses === undefined) return { ok: true, index, checkpoint: signed.checkpoint, cosigned: [] };
  const witnessed = checkWitnesses(signed.note, policy.witnesses, policy.verify);
  if (!witnessed.ok) return { ok: false, problem: "too few witnesses cosigned the checkpoint" };
  return { ok: true, index, checkpoint: signed.checkpoint, cosigned: witnessed.cosigned };
}
