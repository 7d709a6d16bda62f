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
import { encodeProofLines, parseProofLines } from "./add-checkpoint";
import { parseDecimal } from "./checkpoint";
import { isTreeSize } from "./merkle";

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
