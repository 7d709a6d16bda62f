/**
 * Offline proofs that data is in the log (c2sp.org/tlog-proof), files named `*.tlog-proof`:
 *
 *     c2sp.org/tlog-proof@v1
 *     index 73894
 *     gSKyXoYZUgZ6jduWYrkDOARinOMGJveXjgMkBTcdPlQ=      inclusion proof, a hash a line
 *
 *     example.com/log …                                 the signed checkpoint, cosignatures included
 */
import { base64Decode, base64Encode } from "#lib/protocol/encoding/bytes";
import { parseDecimal } from "./checkpoint";
import { HASH_BYTES, isTreeSize } from "./merkle";

/*
 * The body of a witness's `POST <prefix>/add-checkpoint` (c2sp.org/tlog-witness):
 *
 *     old 20852014
 *     PlRNCrwHpqhGrupue0L7gxbjbMiKA9temvuZZDDpkaw=      consistency proof, a hash a line
 *
 *     example.com/log …                                 the signed checkpoint
 */

const MAX_PROOF_HASHES = 63;

export type AddCheckpointRequest = {
  oldSize: number;
  /** Hashes from the old size to the checkpoint's; empty from 0. */
  proof: readonly Uint8Array[];
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
function encodeProofLines(proof: readonly Uint8Array[]): string {
  if (proof.length > MAX_PROOF_HASHES) throw new RangeError("too many proof hashes");
  return proof.map((hash) => `${base64Encode(hash)}\n`).join("");
}

function parseProofLines(lines: readonly string[]): Uint8Array[] {
  if (lines.length > MAX_PROOF_HASHES) throw new RangeError("too many proof hashes");
  const proof = lines.map(base64Decode);
  if (proof.some((hash) => hash.length !== HASH_BYTES)) throw new RangeError("a proof hash has 32 bytes");
  return proof;
}

const HEADER = "c2sp.org/tlog-proof@v1";

export type TlogProof = {
  index: number;
  proof: readonly Uint8Array[];
  /** The signed note, verbatim. */
  checkpoint: string;
  /** Opaque and not authenticated. */
  extra?: Uint8Array;
};

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
