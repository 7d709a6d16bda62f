/** The exported tree, read as C2SP clients read it; what a run that breaks off leaves; which folders are refused. */
import { execFileSync, spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { beginEpoch } from "#lib/log/keys/new-epoch";
import { openFolderStore } from "#lib/log/object-storage/object-store";
import { startTestApp } from "#support/app";
import { anyKind } from "#support/databases";
import { listen } from "#support/listen";
import { setupTestApp } from "#support/setup-app";
import { readStaticLog } from "#support/tlog-reader";
import { runHere } from "#support/verifier-run";
import { readUnpublished } from "./compact";
import { createStaticTiles, type ExistingFiles, exportTiles } from "./export-tiles";
import { readOpenHead } from "./reader";

const { test, key } = setupTestApp(anyKind, { LIMIT_ATTEST_PER_MINUTE: "100000" });
let vkey: string;
let folder: string;

beforeAll(async () => {
  ({ vkey } = (await test.call("GET", "/v1/pubkey")).body.log);
});
beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), "countersign-tiles-"));
  return () => rmSync(folder, { recursive: true });
});

async function attest(action: string) {
  const body = { agent_slug: "tile-bot", action, inputs_hash: "x" };
  const answer = await test.call("POST", "/v1/attest", { key, body });
  expect(answer.status).toBe(201);
  return answer.body;
}
const exportNow = (into = folder, existing?: ExistingFiles) =>
  exportTiles({ db: test.app.context.database.db, old: null }, undefined, openFolderStore(into), existing);

const readIn = (root: string) => (name: string) => {
  const file = path.join(root, name);
  return existsSync(file) ? readFileSync(file) : undefined;
};
const readAll = (root = folder) => readStaticLog(readIn(root), vkey);

const listFiles = (root: string) =>
  readdirSync(root, { recursive: true, encoding: "utf8" }).filter((name) =>
    statSync(path.join(root, name)).isFile(),
  );

const serveFolder = (root: string) => (request: IncomingMessage, response: ServerResponse) => {
  const file = readIn(root)((request.url ?? "").slice(1));
  response.writeHead(file === undefined ? 404 : 200).end(file);
};

/** golang.org/x/mod/sumdb, the first reader there was, built with the module's pinned sums; null without Go or its proxy. */
function buildSumdbReader(): string | null {
  const target = path.join(mkdtempSync(path.join(os.tmpdir(), "countersign-go-")), "static-log");
  const env = { ...process.env, PATH: `${process.env["PATH"]}:/usr/local/go/bin`, GOTOOLCHAIN: "local" };
  const built = spawnSync("go", ["build", "-mod=readonly", "-o", target, "."], {
    cwd: path.resolve("e2e/support/static-log"),
    env,
    encoding: "utf8",
    timeout: 150_000,
  });
  if (built.status === 0) return target;
  rmSync(path.dirname(target), { recursive: true });
  console.warn(`Skipped: Go's reader of an exported log. ${built.error?.message ?? built.stderr}`);
  return null;
}
const reader = buildSumdbReader();
afterAll(() => {
  if (reader !== null) rmSync(path.dirname(reader), { recursive: true });
});

describe("the exported tree", () => {
  it("grows with the log, file by file, and is whole after each run", async () => {
    await attest("one");
    const [first] = await exportNow();
    expect(readAll()).toHaveLength(first?.size ?? 0);
    expect(await exportNow()).toEqual([{ ...first, from: first?.size, files: 0 }]);
    const before = listFiles(folder).filter((name) => name !== "checkpoint");
    const kept = new Map(before.map((name) => [name, statSync(path.join(folder, name)).mtimeMs]));

    const receipts = await Promise.all(Array.from({ length: 300 }, (_, n) => attest(`more ${n}`)));
    const [second] = await exportNow();
    expect(second).toMatchObject({ from: first?.size, files: 5 });
    const entries = readAll();
    for (const { log } of receipts) expect(entries[log.index]?.toString("base64")).toBe(log.entry);
    for (const [name, mtimeMs] of kept) expect(statSync(path.join(folder, name)).mtimeMs).toBe(mtimeMs);
    expect(listFiles(folder)).toEqual(
      expect.arrayContaining(["tile/0/000", "tile/1/000.p/1", "tile/entries/000"]),
    );
  });

  it.skipIf(reader === null)("is read by Go's sumdb (skipped without Go and the module proxy)", async () => {
    const [{ size } = { size: 0 }] = await exportNow();
    const run = () => execFileSync(reader ?? "", [folder, vkey], { encoding: "utf8", stdio: "pipe" });
    expect(run()).toBe(`${size} entries\n`);
    const bundle = path.join(folder, "tile/entries/000");
    writeFileSync(bundle, readFileSync(bundle).fill(0x20, 10, 11));
    expect(run).toThrow(/entry 0/);
  });

  it("is checked by verify.mjs wherever it is served, with nothing of the service but the log's key", async () => {
    await exportNow();
    const site = await listen(serveFolder(folder));
    const argv = ["http://service.invalid", "--log-vkey", vkey, "--log-url", site.base, "--all"];
    const check = () => runHere(["log", "check", ...argv]);
    expect(await check()).toEqual({ code: 0, out: expect.stringContaining("The log holds.") });
    rmSync(path.join(folder, "tile/entries/000"));
    expect((await check()).code).toBe(1);
    await site.close();
  });

  it("takes the reads of full tiles once it is served, and while it can't be read the service answers", async () => {
    await exportNow();
    const site = await listen(serveFolder(folder));
    const { clock, logger, keys } = test.app.context;
    let nowMs = clock().getTime();
    const findKey = () => keys.logVerifierKey("localhost:3000/log");
    const tiles = createStaticTiles({ url: `${site.base}/`, clock: () => new Date(nowMs), logger, findKey });
    const full = "tile/0/000";
    await vi.waitFor(() => expect(tiles.addressOf(1, full)).toBe(`${site.base}/${full}`), {
      timeout: 60_000,
    });
    expect(tiles.addressOf(1, "tile/entries/000")).toBe(`${site.base}/tile/entries/000`);
    for (const other of ["tile/0/001", "tile/0/000.p/7", "tile/1/000", "tile/0/x", "checkpoint"])
      expect([other, tiles.addressOf(1, other)]).toEqual([other, null]);

    const kept = test.app.context.staticTiles;
    test.app.context.staticTiles = tiles;
    const answer = await test.call("GET", `/log/${full}`);
    expect([answer.status, answer.headers.get("location")]).toEqual([307, `${site.base}/${full}`]);
    expect((await test.call("GET", "/log/tile/0/000.p/7")).status).toBe(200);
    await site.close();
    nowMs += 61_000;
    await vi.waitFor(() => expect(tiles.addressOf(1, full)).toBeNull(), { timeout: 60_000 });
    expect((await test.call("GET", `/log/${full}`)).status).toBe(200);
    test.app.context.staticTiles = kept;
  });

  it("has its checkpoint last: a run that breaks off leaves the tree of the one before", async () => {
    const [before] = await exportNow();
    const old = readAll().length;
    await attest("more");
    const obstacle = path.join(folder, `tile/entries/001.p/${(before?.size ?? 0) + 1 - 256}`);
    mkdirSync(path.join(obstacle, "in the way"), { recursive: true });
    await expect(exportNow()).rejects.toThrow();
    expect(readAll()).toHaveLength(old);
    rmSync(obstacle, { recursive: true });
    await exportNow();
    expect(readAll()).toHaveLength(old + 1);
    expect(listFiles(folder).filter((name) => path.basename(name).startsWith(".001"))).toEqual([]);
  });

  const alter = (name: string, change: (bytes: Buffer) => Buffer) => () => {
    const file = path.join(folder, name);
    writeFileSync(file, change(readFileSync(file)));
  };
  const flip = (at: number) => (bytes: Buffer) => {
    bytes[at] = 255 - (bytes[at] ?? 0);
    return bytes;
  };
  const partialOf = (name: string) => {
    const [width = ""] = readdirSync(path.join(folder, `${name}.p`));
    return `${name}.p/${width}`;
  };
  const remove = (name: string) => () => rmSync(path.join(folder, name));
  const damages: [string, string, (name: string) => () => void][] = [
    ["a changed tile", "tile/0/000", (name) => alter(name, flip(100))],
    ["a tile cut short", "tile/0/000", (name) => alter(name, (bytes) => bytes.subarray(0, -32))],
    ["an empty tile", "tile/0/000", (name) => alter(name, () => Buffer.alloc(0))],
    ["a tile that goes on", "tile/0/000", (name) => alter(name, (bytes) => Buffer.concat([bytes, bytes]))],
    ["a missing tile", "tile/0/000", remove],
    ["a changed bundle", "tile/entries/000", (name) => alter(name, flip(5000))],
    ["a bundle cut within an entry", "tile/entries/000", (name) => alter(name, (all) => all.subarray(0, -1))],
    [
      "a bundle without its first entry",
      "tile/entries/000",
      (name) => alter(name, (all) => all.subarray(2 + all.readUInt16BE())),
    ],
    ["a missing bundle", "tile/entries/000", remove],
    ["a changed tile of a higher level", "tile/1/000.p/1", (name) => alter(name, flip(0))],
    ["a changed partial tile", "tile/0/001", (name) => alter(partialOf(name), flip(1))],
    ["a changed partial bundle", "tile/entries/001", (name) => alter(partialOf(name), flip(9))],
  ];

  it.each(damages)(
    "isn't extended over %s, which is named, until it is repaired",
    async (_, name, damage) => {
      await exportNow();
      const checkpoint = readFileSync(path.join(folder, "checkpoint"), "utf8");
      damage(name)();
      await attest("later");
      const message = await exportNow().then(
        () => "no error",
        ({ message: text }: Error) => text,
      );
      expect(message.split("\n").filter((line) => line.startsWith("  "))).toEqual([
        expect.stringContaining(`  ${name}`),
      ]);
      expect(readFileSync(path.join(folder, "checkpoint"), "utf8")).toBe(checkpoint);

      const [mended] = await exportNow(folder, "repair");
      expect(mended?.repaired).toBe(1);
      expect(readAll()).toHaveLength(mended?.size ?? 0);
      expect(await exportNow()).toEqual([{ ...mended, from: mended?.size, files: 0, repaired: 0 }]);
    },
  );

  it("isn't extended over a partial tile of an earlier run that was changed, or a damaged checkpoint", async () => {
    await exportNow();
    const early = partialOf("tile/0/001");
    await attest("later");
    await exportNow();
    alter(early, flip(3))();
    await expect(exportNow()).rejects.toThrow(`${early} differs from the database`);
    await exportNow(folder, "repair");
    alter("checkpoint", (bytes) => bytes.subarray(0, -9))();
    await expect(exportNow(folder, "repair")).rejects.toThrow(/does not hold the log/);
  });

  it("holds nothing of what an attestation says, erased or not", async () => {
    const action = "Pay invoice 77 to the secret supplier";
    const { attestation_id: id, payload } = await attest(action);
    const { salt } = JSON.parse(payload).predicate;
    await test.call("DELETE", `/v1/attestations/${id}/content`, { key });
    await exportNow();
    expect(readAll().length).toBeGreaterThan(256);
    for (const name of listFiles(folder)) {
      const bytes = readFileSync(path.join(folder, name));
      for (const secret of [action, salt, Buffer.from(action).toString("base64"), id, "tile-bot"])
        expect([name, bytes.includes(secret)]).toEqual([name, false]);
    }
  });

  it("never mixes two logs, and never goes back", async () => {
    await exportNow();
    const checkpoint = readFileSync(path.join(folder, "checkpoint"), "utf8");
    const otherFolder = path.join(folder, "other");
    const other = await startTestApp();
    await exportTiles(
      { db: other.app.context.database.db, old: null },
      undefined,
      openFolderStore(otherFolder),
    );
    await expect(exportNow(otherFolder)).rejects.toThrow(/does not hold the log|of another|invalid/i);
    await expect(
      exportTiles({ db: other.app.context.database.db, old: null }, undefined, openFolderStore(folder)),
    ).rejects.toThrow(/Choose another/);
    await other.close();
    expect(readFileSync(path.join(folder, "checkpoint"), "utf8")).toBe(checkpoint);
  });

  it("of one log can't be made, and those of the others are", async () => {
    const two = await startTestApp();
    const { db, query } = two.app.context.database;
    const store = openFolderStore(folder);
    const exportBoth = () => exportTiles({ db, old: null }, undefined, store, "trust");
    await two.call("POST", "/v1/attest", {
      key: (await two.createKey()).key,
      body: { agent_slug: "tile-bot", action: "in the first log", inputs_hash: "x" },
    });
    const { database, guard, keys } = two.app.context;
    const { origin: firstOrigin } = await readOpenHead(db);
    await beginEpoch({ database, guard, lock: null, clock: () => new Date(), firstOrigin }, keys);
    await query(
      "UPDATE log_tiles SET hashes = set_byte(hashes, 0, 255 - get_byte(hashes, 0)) WHERE log_id = 1",
      [],
    );
    await expect(exportBoth()).rejects.toThrow(/stored tiles of \S+ are not those of its checkpoint/);
    expect(readdirSync(folder)).toEqual(["2"]);
    expect((await readUnpublished(database, store)).entries).toBeGreaterThan(0);
    await two.close();
  });

  it("isn't made of tiles that are not the checkpoint's", async () => {
    const { db, query } = test.app.context.database;
    const change = (byte: string) =>
      query(
        `UPDATE log_tiles SET hashes = set_byte(hashes, 0, ${byte}) WHERE level = 0 AND tile_index = 1`,
        [],
      );
    await change("255 - get_byte(hashes, 0)");
    await expect(exportTiles({ db: db, old: null }, undefined, openFolderStore(folder))).rejects.toThrow(
      /log -- check/,
    );
    expect(existsSync(path.join(folder, "checkpoint"))).toBe(false);
    await change("255 - get_byte(hashes, 0)");
    await exportNow();
  });
});
