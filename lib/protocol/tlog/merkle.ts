/**
 * The Merkle tree of the log (RFC 6962 section 2.1; the verification loops are those of RFC 9162 sections
 * 2.1.3.2 and 2.1.4.2). Proofs are made from tiles (tiles.ts); here are the hashes and the checks.
 * Sizes and indices are safe integers, so halves are taken by arithmetic and never by 32-bit shifts.
 */
import { bytesEqual, sha256 } from "#lib/protocol/encoding/bytes";

export const HASH_BYTES = 32;

const LEAF_PREFIX = Uint8Array.of(0);
const NODE_PREFIX = Uint8Array.of(1);

/** SHA-256(0x00 ‖ data). */
export function leafHash(data: Uint8Array): Uint8Array {
  return sha256(LEAF_PREFIX, data);
}

/** SHA-256(0x01 ‖ left ‖ right). */
export function nodeHash(left: Uint8Array, right: Uint8Array): Uint8Array {
  return sha256(NODE_PREFIX, left, right);
}

/** The root of a tree without leaves: SHA-256 of nothing. */
export function emptyRoot(): Uint8Array {
  return sha256();
}

/** MTH over leaf hashes by the definition; O(n), for small trees and as the yardstick of the tiles. */
export function rootOfLeafHashes(leafHashes: readonly Uint8Array[]): Uint8Array {
  const [first] = leafHashes;
  if (first === undefined) return emptyRoot();
  if (leafHashes.length === 1) return first;
  const split = largestPowerOfTwoBelow(leafHashes.length);
  return nodeHash(rootOfLeafHashes(leafHashes.slice(0, split)), rootOfLeafHashes(leafHashes.slice(split)));
}

/** The largest power of two smaller than n, for n ≥ 2: where a tree of n leaves splits. */
function largestPowerOfTwoBelow(n: number): number {
  let power = 1;
  while (power * 2 < n) power *= 2;
  return power;
}

export type Branch = {
  leafHash: Uint8Array;
  index: number;
  size: number;
  /** Hashes from the leaf's sibling upwards. */
  proof: readonly Uint8Array[];
};

export type InclusionClaim = Branch & { root: Uint8Array };

/** Never throws: every field may come from an attacker, and anything malformed is false. */
export function verifyInclusion({ root, ...branch }: InclusionClaim): boolean {
  const led = rootOfBranch(branch);
  return led !== null && bytesEqual(led, root);
}

interface HashedPair {
  left: Uint8Array;
  right: Uint8Array;
  hash: Uint8Array;
}

/** The last pair of each height: most of a branch is that of the leaf beside it too, which is often the next to be verified. */
const lastPairs: (HashedPair | undefined)[] = [];

function hashAtHeight(height: number, left: Uint8Array, right: Uint8Array): Uint8Array {
  const last = lastPairs[height];
  if (last !== undefined && bytesEqual(last.left, left) && bytesEqual(last.right, right)) return last.hash;
  const hash = nodeHash(left, right);
  lastPairs[height] = { left: left.slice(), right: right.slice(), hash };
  return hash;
}

/** The root that a branch leads to; null for one that fits no tree of this size. */
export function rootOfBranch({ leafHash, index, size, proof }: Branch): Uint8Array | null {
  if (!isTreeSize(index) || !isTreeSize(size) || index >= size) return null;
  if (!isHash(leafHash) || !proof.every(isHash)) return null;
  let position = index;
  let last = size - 1;
  let hash = leafHash;
  for (const [height, sibling] of proof.entries()) {
    if (last === 0) return null;
    if (isOdd(position) || position === last) {
      hash = hashAtHeight(height, sibling, hash);
      // A node without a right sibling is its own parent: climb to the level that has one.
      while (!isOdd(position) && position !== 0) {
        position = half(position);
        last = half(last);
      }
    } else {
      hash = hashAtHeight(height, hash, sibling);
    }
    position = half(position);
    last = half(last);
  }
  return last === 0 ? hash : null;
}

export type ConsistencyClaim = {
  oldSize: number;
  oldRoot: Uint8Array;
  newSize: number;
  newRoot: Uint8Array;
  proof: readonly Uint8Array[];
};

/**
 * Verifies that the old tree is a prefix of the new one. From size 0 the proof is empty and the old root must be the
 * empty tree's; between equal sizes it is empty and the roots must be equal.
 */
export function verifyConsistency({ oldSize, oldRoot, newSize, newRoot, proof }: ConsistencyClaim): boolean {
  if (!isTreeSize(oldSize) || !isTreeSize(newSize) || oldSize > newSize) return false;
  if (!isHash(oldRoot) || !isHash(newRoot) || !proof.every(isHash)) return false;
  if (oldSize === newSize) return proof.length === 0 && bytesEqual(oldRoot, newRoot);
  if (oldSize === 0) return proof.length === 0 && bytesEqual(oldRoot, emptyRoot());
  let position = oldSize - 1;
  let last = newSize - 1;
  while (isOdd(position)) {
    position = half(position);
    last = half(last);
  }
  // A perfect old tree is itself a node of the new one, so the proof leaves it out.
  const [start, ...rest] = position === 0 ? [oldRoot, ...proof] : proof;
  if (start === undefined) return false;
  let oldHash = start;
  let newHash = start;
  for (const sibling of rest) {
    if (last === 0) return false;
    if (isOdd(position) || position === last) {
      oldHash = nodeHash(sibling, oldHash);
      newHash = nodeHash(sibling, newHash);
      while (!isOdd(position) && position !== 0) {
        position = half(position);
        last = half(last);
      }
    } else {
      newHash = nodeHash(newHash, sibling);
    }
    position = half(position);
    last = half(last);
  }
  return last === 0 && bytesEqual(oldHash, oldRoot) && bytesEqual(newHash, newRoot);
}

/** A size or an index that arithmetic represents exactly. */
export function isTreeSize(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}

function isHash(bytes: Uint8Array): boolean {
  return bytes.length === HASH_BYTES;
}

function isOdd(n: number): boolean {
  return n % 2 === 1;
}

function half(n: number): number {
  return Math.floor(n / 2);
}

/*
 * Parts of the tree that a proof is made of (RFC 6962 sections 2.1.1 and 2.1.2), as ranges of leaves [from, to), and how the
 * hash of a range follows from its perfect subtrees, wherever they are stored: the sequencer's memory (tiles.ts) or tiles that
 * are read (tiles.ts).
 */

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

/** Hashes ranges, and remembers each: the proofs of one batch share them. */
export function rangeHasher(readNode: PerfectNodeReader): (range: LeafRange) => Uint8Array {
  const remembered = new Map<string, Uint8Array>();
  const hashRange = ([from, to]: LeafRange): Uint8Array => {
    if (from === to) return emptyRoot();
    const name = `${from}-${to}`;
    const known = remembered.get(name);
    if (known !== undefined) return known;
    const [first, ...rest] = perfectNodes([from, to]);
    if (first === undefined) throw new RangeError("not a range of leaves");
    const node = readNode(first.height, first.index);
    const split = (first.index + 1) * 2 ** first.height;
    const hash = rest.length === 0 ? node : nodeHash(node, hashRange([split, to]));
    remembered.set(name, hash);
    return hash;
  };
  return hashRange;
}
