import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { encodeTilePath, parseTilePath, rightEdgeTiles, tileWidth, treeHasTile } from "./tiles";

describe("tile paths", () => {
  it.each([
    ["tile/0/x001/x234/067", { level: 0, index: 1234067, width: 256 }],
    ["tile/0/000", { level: 0, index: 0, width: 256 }],
    ["tile/63/x001/000.p/1", { level: 63, index: 1000, width: 1 }],
    ["tile/entries/273.p/112", { level: "entries", index: 273, width: 112 }],
    ["tile/2/999.p/255", { level: 2, index: 999, width: 255 }],
  ] as const)("%s", (path, tile) => {
    expect(encodeTilePath(tile)).toBe(path);
    expect(parseTilePath(path)).toEqual(tile);
  });

  it("come back from their text whatever the tile", () => {
    const tiles = fc.record({
      level: fc.oneof(fc.constant("entries" as const), fc.integer({ min: 0, max: 63 })),
      index: fc.maxSafeNat(),
      width: fc.integer({ min: 1, max: 256 }),
    });
    fc.assert(
      fc.property(tiles, (tile) => {
        expect(parseTilePath(encodeTilePath(tile))).toEqual(tile);
      }),
    );
  });

  it.each([
    "",
    "/tile/0/000",
    "tile/0/0",
    "tile/0/0000",
    "tile/00/000",
    "tile/01/000",
    "tile/64/000",
    "tile/-1/000",
    "tile/0/x000/001",
    "tile/0/001/002",
    "tile/0/x001/x002",
    "tile/0/000.p/0",
    "tile/0/000.p/256",
    "tile/0/000.p/01",
    "tile/0/000.p/",
    "tile/0/000/",
    "tile/0/000\n",
    "tile/entries/",
    "tile/data/000",
    "tile/0/x999/x999/x999/x999/x999/999",
  ])("refuse %j", (path) => {
    expect(parseTilePath(path)).toBeUndefined();
  });

  it("are not made of what is no tile", () => {
    for (const tile of [
      { level: 64, index: 0, width: 1 },
      { level: 0, index: -1, width: 1 },
      { level: 0, index: 0, width: 0 },
      { level: 0, index: 0, width: 257 },
    ]) {
      expect(() => encodeTilePath(tile)).toThrow(RangeError);
    }
  });
});

describe("widths", () => {
  it("follow the specification's example of 70,000 leaves", () => {
    expect(tileWidth(0, 272, 70_000)).toBe(256);
    expect(tileWidth(0, 273, 70_000)).toBe(112);
    expect(tileWidth(0, 274, 70_000)).toBe(0);
    expect(tileWidth(1, 0, 70_000)).toBe(256);
    expect(tileWidth(1, 1, 70_000)).toBe(17);
    expect(tileWidth(2, 0, 70_000)).toBe(1);
    expect(tileWidth(3, 0, 70_000)).toBe(0);
    expect(rightEdgeTiles(70_000)).toEqual([
      { level: 0, index: 273, width: 112 },
      { level: 1, index: 1, width: 17 },
      { level: 2, index: 0, width: 1 },
    ]);
  });

  it("have no empty tile: 256 leaves are a full tile and one hash above it", () => {
    expect(rightEdgeTiles(0)).toEqual([]);
    expect(rightEdgeTiles(256)).toEqual([{ level: 1, index: 0, width: 1 }]);
    expect(rightEdgeTiles(65_536)).toEqual([{ level: 2, index: 0, width: 1 }]);
  });

  it("serve a partial tile of an earlier size, never of a later one", () => {
    expect(treeHasTile({ level: 0, index: 0, width: 5 }, 300)).toBe(true);
    expect(treeHasTile({ level: 0, index: 1, width: 44 }, 300)).toBe(true);
    expect(treeHasTile({ level: 0, index: 1, width: 45 }, 300)).toBe(false);
    expect(treeHasTile({ level: "entries", index: 1, width: 256 }, 300)).toBe(false);
    expect(treeHasTile({ level: 2, index: 0, width: 1 }, 300)).toBe(false);
  });
});
