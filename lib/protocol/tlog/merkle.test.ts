import { describe, expect, it } from "vitest";
import { hexDecode, hexEncode, utf8Encode } from "#lib/protocol/encoding/bytes";
import {
  emptyRoot,
  leafHash,
  nodeHash,
  rootOfLeafHashes,
  verifyConsistency,
  verifyInclusion,
} from "./merkle";

// The reference tree of the Certificate Transparency implementations (transparency-dev/merkle, testonly).
const LEAVES = [
  "",
  "00",
  "10",
  "2021",
  "3031",
  "40414243",
  "5051525354555657",
  "606162636465666768696a6b6c6d6e6f",
].map((hex) => leafHash(hexDecode(hex)));
const ROOTS = [
  "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
  "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
  "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
  "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
  "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
  "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
  "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
  "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
  "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
].map(hexDecode);
const INCLUSION = [
  {
    index: 0,
    size: 8,
    proof: [
      "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7",
      "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
      "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4",
    ],
  },
  {
    index: 5,
    size: 8,
    proof: [
      "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
      "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
      "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    ],
  },
].map((vector) => ({ ...vector, proof: vector.proof.map(hexDecode) }));
const CONSISTENCY = [
  {
    oldSize: 6,
    newSize: 8,
    proof: [
      "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a",
      "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0",
      "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    ],
  },
  {
    oldSize: 2,
    newSize: 5,
    proof: [
      "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e",
      "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b",
    ],
  },
].map((vector) => ({ ...vector, proof: vector.proof.map(hexDecode) }));

describe("RFC 6962 hashes", () => {
  it("hash leaves and nodes in separate domains (transparency-dev/merkle, rfc6962_test.go)", () => {
    expect(hexEncode(leafHash(utf8Encode("L123456")))).toBe(
      "395aa064aa4c29f7010acfe3f25db9485bbd4b91897b6ad7ad547639252b4d56",
    );
    expect(hexEncode(nodeHash(utf8Encode("N123"), utf8Encode("N456")))).toBe(
      "aa217fe888e47007fa15edab33c2b492a722cb106c64667fc2b044444de66bbb",
    );
    expect(emptyRoot()).toEqual(ROOTS[0]);
  });

  it.each(ROOTS.map((root, size) => ({ size, root })))(
    "give the reference root of $size leaves",
    ({ size, root }) => {
      expect(rootOfLeafHashes(LEAVES.slice(0, size))).toEqual(root);
    },
  );
});

describe("verifyInclusion", () => {
  it.each(INCLUSION)("accepts the reference proof of leaf $index in $size", ({ index, size, proof }) => {
    const claim = { leafHash: LEAVES[index]!, index, size, proof, root: ROOTS[size]! };
    expect(verifyInclusion(claim)).toBe(true);
    for (let other = 0; other < 8; other++) {
      expect(verifyInclusion({ ...claim, index: other })).toBe(other === index);
    }
    expect(verifyInclusion({ ...claim, leafHash: LEAVES[1]! })).toBe(false);
    expect(verifyInclusion({ ...claim, proof: proof.slice(1) })).toBe(false);
    expect(verifyInclusion({ ...claim, proof: [...proof, ROOTS[1]!] })).toBe(false);
    expect(verifyInclusion({ ...claim, proof: [] })).toBe(false);
  });

  it("accepts the only leaf of a tree with an empty proof, and refuses malformed numbers", () => {
    const claim = { leafHash: LEAVES[0]!, index: 0, size: 1, proof: [], root: ROOTS[1]! };
    expect(verifyInclusion(claim)).toBe(true);
    for (const index of [-1, 1, 0.5, Number.NaN, 2 ** 53]) {
      expect(verifyInclusion({ ...claim, index })).toBe(false);
    }
    for (const size of [0, -1, 1.5, Number.POSITIVE_INFINITY, 2 ** 53]) {
      expect(verifyInclusion({ ...claim, size })).toBe(false);
    }
  });

  it("refuses an interior node passed off as a leaf hash of a shallower tree with a short proof", () => {
    const node = nodeHash(LEAVES[0]!, LEAVES[1]!);
    const claim = {
      leafHash: node,
      index: 0,
      size: 4,
      proof: INCLUSION[0]!.proof.slice(1, 2),
      root: ROOTS[4]!,
    };
    expect(verifyInclusion(claim)).toBe(false);
  });
});

describe("verifyConsistency", () => {
  it.each(CONSISTENCY)(
    "accepts the reference proof from $oldSize to $newSize",
    ({ oldSize, newSize, proof }) => {
      const claim = { oldSize, newSize, proof, oldRoot: ROOTS[oldSize]!, newRoot: ROOTS[newSize]! };
      expect(verifyConsistency(claim)).toBe(true);
      expect(verifyConsistency({ ...claim, oldRoot: ROOTS[1]! })).toBe(false);
      expect(verifyConsistency({ ...claim, newRoot: ROOTS[1]! })).toBe(false);
      expect(verifyConsistency({ ...claim, oldSize: oldSize - 1 })).toBe(false);
      expect(verifyConsistency({ ...claim, proof: proof.slice(0, -1) })).toBe(false);
      expect(verifyConsistency({ ...claim, proof: [...proof, ROOTS[1]!] })).toBe(false);
      expect(verifyConsistency({ ...claim, proof: [] })).toBe(false);
    },
  );

  it("takes only an empty proof from nothing and between equal sizes", () => {
    const fromNothing = { oldSize: 0, oldRoot: ROOTS[0]!, newSize: 8, newRoot: ROOTS[8]!, proof: [] };
    expect(verifyConsistency(fromNothing)).toBe(true);
    expect(verifyConsistency({ ...fromNothing, oldRoot: ROOTS[1]! })).toBe(false);
    expect(verifyConsistency({ ...fromNothing, proof: [ROOTS[1]!] })).toBe(false);
    const same = { oldSize: 8, oldRoot: ROOTS[8]!, newSize: 8, newRoot: ROOTS[8]!, proof: [] };
    expect(verifyConsistency(same)).toBe(true);
    expect(verifyConsistency({ ...same, newRoot: ROOTS[7]! })).toBe(false);
    expect(verifyConsistency({ ...same, proof: [ROOTS[1]!] })).toBe(false);
    expect(verifyConsistency({ ...same, oldSize: 9 })).toBe(false);
  });
});
