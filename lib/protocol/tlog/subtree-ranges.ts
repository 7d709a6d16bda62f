/**
 * Which parts of the tree a proof is made of (RFC 6962 sections 2.1.1 and 2.1.2), as ranges of leaves
 * [from, to), and how the hash of a range follows from its perfect subtrees, wherever they are kept: the
 * sequencer's memory (tiles.ts) or tiles that are read (tile-proofs.ts).
 */
import { emptyRoot, isTreeSize, largestPowerOfTwoBelow, nodeHash } from "./merkle";

export type LeafRange = readonly [from: number, to: number];

/** The hash of the perfect subtree over the leaves [index·2^height, (index+1)·2^height). */
export type PerfectNodeReader = (height: number, index: number) => Uint8Array;

/** PATH(index, D[0:size]), from the leaf's sibling upwards. */
export function inclusionRanges(index: number, size: number): LeafRange[] {
  if (!isTreeSize(index) || !isTreeSize(size) || index >= size)
    throw new RangeError("index outside the tree");
  const ranges: LeafRange[] = [];
  let from = 0;
  let to = size;
  while (to - from > 1) {
    const split = from + largestPowerOfTwoBelow(to - from);
    if (index < split) {
      ranges.push([split, to]);
      to = split;
    } else {
      ranges.push([from, split]);
      from = split;
    }
  }
  return ranges.reverse();
}

/** PROOF(oldSize, D[0:newSize]); empty from size 0 and between equal sizes. */
export function consistencyRanges(oldSize: number, newSize: number): LeafRange[] {
  if (!isTreeSize(oldSize) || !isTreeSize(newSize) || oldSize > newSize) {
    throw new RangeError("the old tree must not be larger than the new one");
  }
  if (oldSize === 0 || oldSize === newSize) return [];
  const ranges: LeafRange[] = [];
  let from = 0;
  let to = newSize;
  while (to !== oldSize) {
    const split = from + largestPowerOfTwoBelow(to - from);
    if (oldSize <= split) {
      ranges.push([split, to]);
      to = split;
    } else {
      ranges.push([from, split]);
      from = split;
    }
  }
  // The verifier holds the old root, so the last subtree is left out if it is the whole old tree.
  if (from > 0) ranges.push([from, to]);
  return ranges.reverse();
}

/** The perfect subtrees that a range is folded from, largest first. */
export function perfectNodes([from, to]: LeafRange): { height: number; index: number }[] {
  const nodes = [];
  for (let start = from; start < to; ) {
    let height = 0;
    let width = 1;
    while (width * 2 <= to - start) {
      width *= 2;
      height++;
    }
    nodes.push({ height, index: start / width });
    start += width;
  }
  return nodes;
}

/** Hashes ranges, and remembers the imperfect ones: the proofs of one batch share them. */
export function rangeHasher(readNode: PerfectNodeReader): (range: LeafRange) => Uint8Array {
  const remembered = new Map<string, Uint8Array>();
  const hashRange = ([from, to]: LeafRange): Uint8Array => {
    if (from === to) return emptyRoot();
    const [first, ...rest] = perfectNodes([from, to]);
    if (first === undefined) throw new RangeError("not a range of leaves");
    if (rest.length === 0) return readNode(first.height, first.index);
    const name = `${from}-${to}`;
    const known = remembered.get(name);
    if (known !== undefined) return known;
    const split = (first.index + 1) * 2 ** first.height;
    const hash = nodeHash(readNode(first.height, first.index), hashRange([split, to]));
    remembered.set(name, hash);
    return hash;
  };
  return hashRange;
}
