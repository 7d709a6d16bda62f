import { cp, mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { hexEncode } from "#lib/protocol/encoding/bytes";
import { flipBit, grownTo } from "#support/tiles";
import { ForkGuardError, openForkGuard, requirePrefix, type SignedHead } from "./fork-guard";

const rootHex = (digit: string) => digit.repeat(64);
const head = (logId: number, size: number, digit = "a"): SignedHead => ({
  logId,
  size,
  rootHex: rootHex(digit),
});

describe("the fork guard", () => {
  let folder: string;
  const open = () => openForkGuard(folder, { durable: true, now: new Date() });
  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), "countersign-guard-"));
  });
  afterEach(() => rm(folder, { recursive: true }));

  it("remembers the highest head over restarts, in one file", async () => {
    const guard = await open();
    expect(guard.current()).toBeNull();
    for (const size of [1, 5, 1_000]) await guard.advance(head(1, size));
    expect((await open()).current()).toEqual(head(1, 1_000));
    const [file, ...others] = await readdir(folder);
    expect(others).toEqual([]);
    expect((await stat(path.join(folder, file ?? ""))).size).toBeLessThan(1024);
  });

  it.each([
    ["in zeros", (bytes: Buffer, at: number) => bytes.fill(0, at + 10, at + 40)],
    ["as another head", (bytes: Buffer, at: number) => bytes.fill("9", at + 2, at + 3)],
  ])("still knows the head before if the machine dies while one is written, %s", async (_how, tear) => {
    const guard = await open();
    for (const size of [5, 6]) await guard.advance(head(1, size));
    const [name = ""] = await readdir(folder);
    const bytes = await readFile(path.join(folder, name));
    const at = bytes.indexOf("1-6-");
    await writeFile(path.join(folder, name), Buffer.from(tear(bytes, at)));
    expect((await open()).current()).toEqual(head(1, 5));
  });

  it("removes the file of a process that ended days ago, and a living one notices", async () => {
    const [idle, busy] = [await open(), await open()];
    await idle.advance(head(1, 3));
    const [idleFile = ""] = await readdir(folder);
    await busy.advance(head(1, 8));
    const daysAgo = new Date(Date.now() - 3 * 86_400_000);
    await open();
    expect(await readdir(folder)).toContain(idleFile);
    await utimes(path.join(folder, idleFile), daysAgo, daysAgo);
    await open();
    expect(await readdir(folder)).not.toContain(idleFile);
    await idle.advance(head(1, 10));
    expect((await open()).current()).toEqual(head(1, 10));
    idle.close();
    busy.close();
  });

  it("opens beside others that tidy the same files away", async () => {
    const daysAgo = new Date(Date.now() - 3 * 86_400_000);
    for (let round = 0; round < 8; round += 1) {
      for (let i = 1; i <= 40; i += 1) {
        const guard = await openForkGuard(path.join(folder, "many"), { durable: false, now: new Date(0) });
        await guard.advance(head(1, 100 * round + i));
        guard.close();
      }
      const many = path.join(folder, "many");
      for (const name of await readdir(many)) await utimes(path.join(many, name), daysAgo, daysAgo);
      const openLater = async (turns: number) => {
        for (let turn = 0; turn < turns; turn += 1) await new Promise((next) => setImmediate(next));
        return (await openForkGuard(many, { durable: false, now: new Date() })).current();
      };
      const highest = head(1, 100 * round + 40);
      expect(await Promise.all([0, 10, 20, 30].map(openLater))).toEqual(Array(4).fill(highest));
    }
  });

  it("refuses less, another root of the same size, and an older log, and says what to do", async () => {
    const guard = await open();
    await guard.advance(head(2, 10));
    expect(() => guard.check(head(2, 10))).not.toThrow();
    expect(() => guard.check(head(2, 11, "b"))).not.toThrow();
    expect(() => guard.check(head(3, 0, "b"))).not.toThrow();
    for (const older of [head(2, 9), head(2, 10, "b"), head(1, 99)]) {
      expect(() => guard.check(older)).toThrow(ForkGuardError);
      expect(() => guard.check(older)).toThrow(/npm run log -- new-epoch/);
      await expect(guard.advance(older)).rejects.toThrow(ForkGuardError);
    }
    expect(guard.current()).toEqual(head(2, 10));
  });

  it("never falls back where processes share the folder, whoever writes last", async () => {
    const [a, b] = await Promise.all([open(), open()]);
    await Promise.all([a.advance(head(1, 20)), b.advance(head(1, 19))]);
    await b.advance(head(1, 21));
    expect((await open()).current()).toEqual(head(1, 21));
    await a.advance(head(1, 22));
    expect((await open()).current()).toEqual(head(1, 22));
  });

  it("counts what other machines have signed, if their files are copied to its own", async () => {
    const elsewhere = await mkdtemp(path.join(tmpdir(), "countersign-guard-"));
    const other = await openForkGuard(elsewhere, { durable: false, now: new Date() });
    await other.advance(head(1, 30));
    other.close();
    await (await open()).advance(head(1, 29));
    await cp(elsewhere, folder, { recursive: true });
    expect((await open()).current()).toEqual(head(1, 30));
    await rm(elsewhere, { recursive: true });
  });

  it("refuses to open where two roots of one size have been signed; other files mean nothing", async () => {
    await writeFile(path.join(folder, "notes.txt"), "");
    expect((await open()).current()).toBeNull();
    const [one, other] = [await open(), await open()];
    await one.advance(head(1, 7, "a"));
    await other.advance(head(1, 7, "b"));
    await expect(open()).rejects.toThrow(ForkGuardError);
  });

  it("knows a larger tree that begins with what was signed from one that does not", async () => {
    const guard = await open();
    const signed = grownTo(300);
    await guard.advance({ logId: 1, size: 300, rootHex: hexEncode(signed.edge.root) });
    const grown = grownTo(700);
    const now = { logId: 1, size: 700, rootHex: hexEncode(grown.edge.root) };
    await expect(requirePrefix(guard, now, grown.readTile)).resolves.toBeUndefined();
    const other = async (level: number, index: number) => {
      const row = await grown.readTile(level, index);
      return row && level === 0 && index === 0 ? flipBit(row) : row;
    };
    const changedTop = async (level: number, index: number) => {
      const row = await grown.readTile(level, index);
      return row && level === 1 ? flipBit(row) : row;
    };
    await expect(requirePrefix(guard, now, changedTop)).rejects.toThrow(/does not begin with/);
    await expect(requirePrefix(guard, now, async () => undefined)).rejects.toThrow(ForkGuardError);
    await guard.advance({ ...now, size: 700 });
    await expect(requirePrefix(guard, now, other)).resolves.toBeUndefined();
  });
});
