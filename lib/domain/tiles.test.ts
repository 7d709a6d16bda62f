import fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import { utf8Encode } from "./bytes";
import { checkLog, type LogCheck } from "./check-log";
import { decodeEntryBundle, encodeEntryBundle } from "./entry-bundle";
import * as merkle from "./merkle";
import { emptyRoot, leafHash, rootOfLeafHashes, verifyConsistency, verifyInclusion } from "./merkle";
import { rightEdgeTiles, tileWidth } from "./tile-path";
import { proveConsistency, proveInclusion, rootAtSize } from "./tile-proofs";
import { appendLeafHashes, emptyRightEdge, loadRightEdge, type RightEdge, type Tile } from "./tiles";

vi.mock("./merkle", async (importOriginal) => {
  const original = await importOriginal<typeof import("./merkle")>();
  return { ...original, nodeHash: vi.fn(original.nodeHash) };
});
const nodeHash = vi.mocked(merkle.nodeHash);
afterEach(() => nodeHash.mockClear());

const entry = (index: number) => utf8Encode(`entry ${index}`);
const ENTRIES = Array.from({ length: 66_000 }, (_, i) => entry(i));
const HASHES = ENTRIES.map(leafHash);

/** What a database keeps: one row per (level, index), replaced only by a longer one. */
class Store {
  readonly rows = new Map<string, Uint8Array>();
  reads: string[] = [];
  edge: RightEdge = emptyRightEdge();

  append(count: number) {
    const batch = appendLeafHashes(this.edge, HASHES.slice(this.edge.size, this.edge.size + count));
    for (const { level, index, hashes } of batch.changedTiles) {
      const before = this.rows.get(`${level}/${index}`) ?? new Uint8Array();
      expect(hashes.length).toBeGreaterThan(before.length);
      expect(hashes.subarray(0, before.length)).toEqual(before);
      this.rows.set(`${level}/${index}`, hashes);
    }
    this.edge = batch.edge;
    return batch;
  }

  readTile = async (level: number, index: number) => {
    this.reads.push(`${level}/${index}`);
    return this.rows.get(`${level}/${index}`);
  };

  storedTiles(): Tile[] {
    return [...this.rows].map(([name, hashes]) => {
      const [level, index] = name.split("/").map(Number);
      return { level: level!, index: index!, hashes };
    });
  }
}

const readEntries = async (bundle: number, width: number) =>
  ENTRIES.slice(bundle * 256, bundle * 256 + width);

function grownTo(size: number): Store {
  const store = new Store();
  store.append(size);
  return store;
}

describe("appendLeafHashes", () => {
  it("makes the same tree in whatever batches, reloaded in between or not, and every proof verifies", async () => {
    const batches = fc.array(fc.record({ count: fc.integer({ min: 0, max: 300 }), reload: fc.boolean() }), {
      minLength: 1,
      maxLength: 6,
    });
    await fc.assert(
      fc.asyncProperty(batches, fc.nat(), async (steps, pick) => {
        const store = new Store();
        const roots = [{ size: 0, root: emptyRoot() }];
        for (const { count, reload } of steps) {
          if (reload) store.edge = loadRightEdge(store.edge.size, store.storedTiles());
          const from = store.edge.size;
          const batch = store.append(count);
          const { size, root } = store.edge;
          expect(root).toEqual(rootOfLeafHashes(HASHES.slice(0, size)));
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
    expect(before.root).toEqual(rootOfLeafHashes(HASHES.slice(0, 300)));
  });

  it("costs O(log n) hashes for a leaf and about one per leaf for a batch", () => {
    const store = grownTo(65_535);
    nodeHash.mockClear();
    store.append(1);
    expect(nodeHash.mock.calls.length).toBeLessThanOrEqual(17);
    nodeHash.mockClear();
    const batch = store.append(400);
    expect(nodeHash.mock.calls.length).toBeLessThan(430);
    nodeHash.mockClear();
    for (let index = 65_536; index < 65_936; index++) batch.proveAppended(index);
    expect(nodeHash.mock.calls.length).toBeLessThanOrEqual(17);
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
    const root = rootOfLeafHashes(HASHES.slice(0, 600));
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
    expect(root).toEqual(rootOfLeafHashes(HASHES.slice(0, size)));
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
      const oldRoot = rootOfLeafHashes(HASHES.slice(0, oldSize));
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
      const root = rootOfLeafHashes(HASHES.slice(0, size));
      for (let index = 0; index < size; index++) {
        const proof = await proveInclusion(index, size, store.readTile);
        expect(verifyInclusion({ leafHash: HASHES[index]!, index, size, proof, root })).toBe(true);
      }
      for (let oldSize = 0; oldSize <= size; oldSize++) {
        const oldRoot = rootOfLeafHashes(HASHES.slice(0, oldSize));
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

describe("checkLog", () => {
  const store = grownTo(66_000);
  const check = (readTile = store.readTile, entries = readEntries): Promise<LogCheck> =>
    checkLog(66_000, readTile, entries, { root: store.edge.root });

  it("passes on a whole log and reports its progress", async () => {
    const progress: number[] = [];
    const options = { root: store.edge.root, onProgress: (leaves: number) => progress.push(leaves) };
    expect((await checkLog(66_000, store.readTile, readEntries, options)).ok).toBe(true);
    expect(progress.length).toBe(258);
    expect(progress.at(-1)).toBe(66_000);
  });

  it("finds one changed bit in any tile of any level", async () => {
    for (const name of ["0/0", "0/200", "0/257", "1/0", "1/1", "2/0"]) {
      const changed = async (level: number, index: number) => {
        const row = await store.readTile(level, index);
        return `${level}/${index}` === name ? flipBit(row!) : row;
      };
      expect(await check(changed)).toEqual({ ok: false, problem: `tile ${name} differs from the entries` });
    }
  });

  it("finds a missing or shortened tile, a changed, missing or swapped entry, and another root", async () => {
    expect(
      await check(async (level, index) => (level === 1 ? undefined : store.readTile(level, index))),
    ).toEqual({
      ok: false,
      problem: "tile 1/0 is missing",
    });
    const cut = async (level: number, index: number) => (await store.readTile(level, index))?.slice(0, -32);
    expect((await check(cut)).ok).toBe(false);
    const edited =
      (edit: (entries: Uint8Array[]) => Uint8Array[]) => async (bundle: number, width: number) => {
        const entries = await readEntries(bundle, width);
        return bundle === 100 ? edit(entries) : entries;
      };
    expect(
      (
        await check(
          undefined,
          edited((all) => [flipBit(all[0]!), ...all.slice(1)]),
        )
      ).ok,
    ).toBe(false);
    expect(
      (
        await check(
          undefined,
          edited((all) => [all[1]!, all[0]!, ...all.slice(2)]),
        )
      ).ok,
    ).toBe(false);
    expect(
      await check(
        undefined,
        edited((all) => all.slice(1)),
      ),
    ).toEqual({
      ok: false,
      problem: "entry 25855 of 66000 is missing",
    });
    const otherRoot = await checkLog(66_000, store.readTile, readEntries, { root: emptyRoot() });
    expect(otherRoot.ok).toBe(false);
  });
});

describe("entry bundles", () => {
  it("come back from their bytes", () => {
    const entries = fc.array(fc.uint8Array({ maxLength: 300 }), { minLength: 1, maxLength: 256 });
    fc.assert(
      fc.property(entries, (all) => {
        expect(decodeEntryBundle(encodeEntryBundle(all))).toEqual(all);
      }),
    );
    expect(encodeEntryBundle([new Uint8Array(), Uint8Array.of(7)])).toEqual(Uint8Array.of(0, 0, 0, 1, 7));
    const longest = [new Uint8Array(65_535).fill(1)];
    expect(decodeEntryBundle(encodeEntryBundle(longest))).toEqual(longest);
  });

  it("are refused when empty, truncated, too many or too long", () => {
    expect(() => encodeEntryBundle([])).toThrow(RangeError);
    expect(() => encodeEntryBundle(Array(257).fill(new Uint8Array()))).toThrow(RangeError);
    expect(() => encodeEntryBundle([new Uint8Array(65_536)])).toThrow(RangeError);
    expect(() => decodeEntryBundle(new Uint8Array())).toThrow(RangeError);
    expect(() => decodeEntryBundle(new Uint8Array(257 * 2))).toThrow(RangeError);
    const bytes = encodeEntryBundle([Uint8Array.of(1, 2, 3), Uint8Array.of(4)]);
    for (let length = 1; length < bytes.length; length++) {
      if (length !== 5) expect(() => decodeEntryBundle(bytes.subarray(0, length))).toThrow(RangeError);
    }
  });
});

function flipBit(bytes: Uint8Array): Uint8Array {
  const changed = bytes.slice();
  changed[0]! ^= 1;
  return changed;
}

function countTiles(size: number): number {
  let count = 0;
  for (let level = 0; tileWidth(level, 0, size) > 0; level++) {
    count += Math.ceil(Math.floor(size / 256 ** level) / 256);
  }
  return count;
}
