import { describe, expect, it } from "vitest";
import { emptyRoot } from "#lib/protocol/tlog/merkle";
import { flipBit, grownTo, readEntries } from "#support/tiles";
import { checkLog, type LogCheck } from "./check-log";

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

  it("finds one changed bit in a tile of any level", async () => {
    for (const name of ["0/0", "0/257", "1/0", "2/0"]) {
      const changed = async (level: number, index: number) => {
        const row = await store.readTile(level, index);
        return `${level}/${index}` === name ? flipBit(row!) : row;
      };
      expect(await check(changed)).toMatchObject({
        ok: false,
        problem: `tile ${name} differs from the entries`,
      });
    }
  });

  it("finds a missing or shortened tile, a changed, missing or swapped entry, and another root", async () => {
    expect(
      await check(async (level, index) => (level === 1 ? undefined : store.readTile(level, index))),
    ).toMatchObject({
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
    ).toMatchObject({
      ok: false,
      problem: "entry 25855 of 66000 is missing",
    });
    const otherRoot = await checkLog(66_000, store.readTile, readEntries, { root: emptyRoot() });
    expect(otherRoot.ok).toBe(false);
  });
});
