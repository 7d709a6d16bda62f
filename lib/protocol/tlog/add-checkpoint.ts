/**
 * The body of a witness's `POST <prefix>/add-checkpoint` (c2sp.org/tlog-witness):
 *
 *     old 20852014
 *     PlRNCrwHpqhGrupue0L7gxbjbMiKA9temvuZZDDpkaw=      consistency proof, a hash a line
 *
 *     example.com/log …                                 the signed checkpoint
 */
import { base64Decode, base64Encode } from "#lib/protocol/encoding/bytes";
import { parseDecimal } from "./checkpoint";
import { HASH_BYTES, isTreeSize } from "./merkle";

const MAX_PROOF_HASHES = 63;

export type AddCheckpointRequest = {
  oldSize: number;
  /** From the old size to the checkpoint's; empty from 0. */
  proof: readonly Uint8Array[];
  /** The signed note, verbatim. */
  checkpoint: string;
};

export function encodeAddCheckpoint({ oldSize, proof, checkpoint }: AddCheckpointRequest): string {
  if (!isTreeSize(oldSize)) throw new RangeError("tree size");
  return `old ${oldSize}\n${encodeProofLines(proof)}\n${checkpoint}`;
}

/** Throws RangeError for a malformed body; the checkpoint in it is not looked at. */
export function parseAddCheckpoint(body: string): AddCheckpointRequest {
  const blank = body.indexOf("\n\n");
  if (blank < 0 || !body.startsWith("old ")) throw new RangeError("not an add-checkpoint body");
  const [sizeText = "", ...hashes] = body.slice("old ".length, blank).split("\n");
  return {
    oldSize: parseDecimal(sizeText),
    proof: parseProofLines(hashes),
    checkpoint: body.slice(blank + 2),
  };
}

/** A line for every hash, each with its newline. */
export function encodeProofLines(proof: readonly Uint8Array[]): string {
  if (proof.length > MAX_PROOF_HASHES) throw new RangeError("too many proof hashes");
  return proof.map((hash) => `${base64Encode(hash)}\n`).join("");
}

export function parseProofLines(lines: readonly string[]): Uint8Array[] {
  if (lines.length > MAX_PROOF_HASHES) throw new RangeError("too many proof hashes");
  const proof = lines.map(base64Decode);
  if (proof.some((hash) => hash.length !== HASH_BYTES)) throw new RangeError("a proof hash has 32 bytes");
  return proof;
}
