import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { checkLog } from "#lib/verifier/checks/check-log";
import { flipBit, grownTo, HASHES, readEntries, TileStore } from "#support/tiles";
import { emptyRoot, rootOfLeafHashes, verifyConsistency, verifyInclusion } from "./merkle";
import {
  appendLeafHashes,
  loadRightEdge,
  proveConsistency,
  proveInclusion,
  rightEdgeTiles,
  rootAtSize,
  tileWidth,
} from "./tiles";

// A mock function would keep what half a million calls were given.
const hashed = vi.hoisted(() => ({ nodes: 0 }));
vi.mock("./merkle", async (importOriginal) => {
  const original = await importOriginal<typeof import("./merkle")>();
  const nodeHash: typeof original.nodeHash = (left, right) => {
    hashed.nodes += 1;
    return original.nodeHash(left, right);
  };
  return { ...original, nodeHash };
});

const roots = new Map<number, Uint8Array>();

/** Computes by the definition, which takes as many hashes as there are leaves. */
function rootOf(size: number): Uint8Array {
  const root = roots.get(size) ?? rootOfLeafHashes(HASHES.slice(0, size));
  roots.set(size, root);
  return root;
}

describe("appendLeafHashes", () => {
  it("makes the same tree in whatever batches, reloaded in between or not, and every proof verifies", async () => {
    const batches = fc.array(fc.record({ count: fc.integer({ min: 0, max: 300 }), reload: fc.boolean() }), {
      minLength: 1,
      maxLength: 6,
    });
    await fc.assert(
      fc.asyncProperty(batches, fc.nat(), async (steps, pick) => {
        const store = new TileStore();
        const roots = [{ size: 0, root: emptyRoot() }];
        for (const { count, reload } of steps) {
          if (reload) store.edge = loadRightEdge(store.edge.size, store.storedTiles());
          const from = store.edge.size;
          const batch = store.append(count);
          const { size, root } = store.edge;
          expect(root).toEqual(rootOf(size));
          roots.push({ size, root });
          if (count === 0) continue;
          for (const index of new Set([from, size - 1, from + (pick % count)])) {
            const proof = batch.proveAppended(index);
            expect(verifyInclusion({ leafHash: HASHES[index]!, index, size, proof, root })).toBe(true);
          }
        }
        for (const [i, now] of roots.entries()) {
          for (const before of roots.slice(0, i + 1)) {
            const proof = await proveConsistency(before.size, now.size, store.readTile);
            const claim = {
              oldSize: before.size,
              oldRoot: before.root,
              newSize: now.size,
              newRoot: now.root,
            };
            expect(verifyConsistency({ ...claim, proof })).toBe(true);
          }
        }
        const check = await checkLog(store.edge.size, store.readTile, readEntries, { root: store.edge.root });
        expect(check.ok).toBe(true);
      }),
      { numRuns: 40 },
    );
  });

  it("leaves the edge it was given as it was, so a failed transaction is forgotten", () => {
    const store = grownTo(300);
    const before = store.edge;
    const one = appendLeafHashes(before, HASHES.slice(300, 400));
    const two = appendLeafHashes(before, HASHES.slice(300, 400));
    expect(two.edge.root).toEqual(one.edge.root);
    expect(two.changedTiles).toEqual(one.changedTiles);
    expect(before.root).toEqual(rootOf(300));
  });

  it("costs O(log n) hashes for a leaf and about one per leaf for a batch", () => {
    const store = grownTo(65_535);
    hashed.nodes = 0;
    store.append(1);
    expect(hashed.nodes).toBeLessThanOrEqual(17);
    hashed.nodes = 0;
    const batch = store.append(400);
    expect(hashed.nodes).toBeLessThan(430);
    hashed.nodes = 0;
    for (let index = 65_536; index < 65_936; index++) batch.proveAppended(index);
    expect(hashed.nodes).toBeLessThanOrEqual(17);
  });

  it("refuses hashes of another length, proofs of older leaves and leaves beyond the tree", () => {
    const store = grownTo(5);
    expect(() => appendLeafHashes(store.edge, [new Uint8Array(31)])).toThrow(RangeError);
    const batch = store.append(3);
    expect(() => batch.proveAppended(4)).toThrow(RangeError);
    expect(() => batch.proveAppended(8)).toThrow(RangeError);
  });
});

describe("loadRightEdge", () => {
  it("takes the prefix of rows that have grown since, and refuses missing or short ones", () => {
    const store = grownTo(700);
    const root = rootOf(600);
    expect(loadRightEdge(600, store.storedTiles()).root).toEqual(root);
    for (const { level, index } of rightEdgeTiles(600)) {
      const others = store.storedTiles().filter((tile) => tile.level !== level || tile.index !== index);
      expect(() => loadRightEdge(600, others)).toThrow(/missing/);
      const short = { level, index, hashes: new Uint8Array(32) };
      expect(() => loadRightEdge(600, [...others, short])).toThrow(RangeError);
    }
  });
});

describe.each([1, 2, 255, 256, 257, 511, 512, 513, 65_535, 65_536, 65_537])("a tree of %i leaves", (size) => {
  const store = grownTo(size);
  const { root } = store.edge;
  const indices = [...new Set([0, 1, 254, 255, 256, 257, 65_279, 65_280, 65_535, size - 2, size - 1])].filter(
    (index) => index >= 0 && index < size,
  );
  const sizes = [
    ...new Set([1, 2, 3, 128, 255, 256, 257, 511, 65_279, 65_535, 65_536, size - 1, size]),
  ].filter((old) => old > 0 && old <= size);

  it("has the root of the definition and passes its full check", async () => {
    expect(root).toEqual(rootOf(size));
    const check = await checkLog(size, store.readTile, readEntries, { root });
    expect(check).toEqual({ ok: true, root, tiles: countTiles(size) });
    expect(store.rows.size).toBe(countTiles(size));
  });

  it("proves leaves at its edges; each tile is read once and a changed proof fails", async () => {
    expect(indices.length).toBeGreaterThan(0);
    for (const index of indices) {
      store.reads = [];
      const proof = await proveInclusion(index, size, store.readTile);
      expect(new Set(store.reads).size).toBe(store.reads.length);
      expect(store.reads.length).toBeLessThanOrEqual(6);
      const claim = { leafHash: HASHES[index]!, index, size, proof, root };
      expect(verifyInclusion(claim)).toBe(true);
      for (const i of proof.keys()) {
        const changed = proof.map((hash, j) => (i === j ? flipBit(hash) : hash));
        expect(verifyInclusion({ ...claim, proof: changed })).toBe(false);
      }
    }
  });

  it("proves and recomputes its earlier sizes, and no other root passes", async () => {
    for (const oldSize of sizes) {
      const oldRoot = rootOf(oldSize);
      expect(await rootAtSize(oldSize, store.readTile)).toEqual(oldRoot);
      const proof = await proveConsistency(oldSize, size, store.readTile);
      const claim = { oldSize, oldRoot, newSize: size, newRoot: root, proof };
      expect(verifyConsistency(claim)).toBe(true);
      expect(verifyConsistency({ ...claim, oldRoot: flipBit(oldRoot) })).toBe(false);
      expect(verifyConsistency({ ...claim, newRoot: flipBit(root) })).toBe(false);
      for (const i of proof.keys()) {
        const changed = proof.map((hash, j) => (i === j ? flipBit(hash) : hash));
        expect(verifyConsistency({ ...claim, proof: changed })).toBe(false);
      }
    }
    expect(await rootAtSize(0, store.readTile)).toEqual(emptyRoot());
  });
});

describe("proofs from tiles", () => {
  it("are those of the definition for every leaf and every pair of sizes up to 40", async () => {
    const store = grownTo(40);
    for (let size = 1; size <= 40; size++) {
      const root = rootOf(size);
      for (let index = 0; index < size; index++) {
        const proof = await proveInclusion(index, size, store.readTile);
        expect(verifyInclusion({ leafHash: HASHES[index]!, index, size, proof, root })).toBe(true);
      }
      for (let oldSize = 0; oldSize <= size; oldSize++) {
        const oldRoot = rootOf(oldSize);
        const proof = await proveConsistency(oldSize, size, store.readTile);
        expect(verifyConsistency({ oldSize, oldRoot, newSize: size, newRoot: root, proof })).toBe(true);
      }
    }
  });

  it("fail where a tile is missing or too short, and for sizes out of order", async () => {
    const store = grownTo(300);
    await expect(proveInclusion(300, 300, store.readTile)).rejects.toThrow(RangeError);
    await expect(proveInclusion(5, 301, store.readTile)).rejects.toThrow(RangeError);
    await expect(proveConsistency(5, 4, store.readTile)).rejects.toThrow(RangeError);
    await expect(proveInclusion(5, 300, async () => undefined)).rejects.toThrow(/missing/);
  });
});

function countTiles(size: number): number {
  let count = 0;
  for (let level = 0; tileWidth(level, 0, size) > 0; level++) {
    count += Math.ceil(Math.floor(size / 256 ** level) / 256);
  }
  return count;
}
