/** Guarantees of every store: the folder, the S3 of the tests, and versitygw where it is built. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { utf8Decode, utf8Encode } from "#lib/protocol/encoding/bytes";
import { parseStoreAddress } from "#lib/protocol/text/host";
import { hasRealS3, startRealS3 } from "#support/real-s3";
import { startS3, type TestS3 } from "#support/s3";
import { type ObjectStore, openFolderStore, openStore, requireConditions } from "./object-store";

interface Opened {
  /** Each another client of the same store. */
  open(): Promise<ObjectStore>;
  close(): Promise<void>;
}

const openS3 = (
  given: Record<"LOG_STORE" | "LOG_STORE_ENDPOINT", string>,
  credentials: Record<string, string>,
) => {
  for (const [name, value] of Object.entries(credentials)) vi.stubEnv(name, value);
  return async () => (await openStore(given.LOG_STORE, given)) as ObjectStore;
};

const kinds: Record<string, () => Promise<Opened>> = {
  "a folder": async () => {
    const folder = mkdtempSync(path.join(os.tmpdir(), "countersign-store-"));
    const open = async () =>
      (await openStore(`file:${folder}`, { LOG_STORE_ENDPOINT: undefined })) as ObjectStore;
    return { open, close: async () => rmSync(folder, { recursive: true }) };
  },
  "the tests' S3": async () => {
    const s3 = await startS3();
    return { open: openS3(s3.settings, s3.credentials), close: () => s3.kill() };
  },
  ...(hasRealS3() && {
    versitygw: async () => {
      const s3 = await startRealS3();
      return { open: openS3(s3.settings, s3.credentials), close: () => s3.close() };
    },
  }),
};

const bytes = utf8Encode;
const textOf = async (store: ObjectStore, key: string) => {
  const found = await store.read(key);
  return found === null ? null : utf8Decode(found.bytes);
};

describe.each(Object.entries(kinds))("%s", (_, start) => {
  let opened: Opened;
  let store: ObjectStore;
  beforeAll(async () => {
    opened = await start();
    store = await opened.open();
  });
  afterAll(async () => {
    store.close();
    await opened.close();
    vi.unstubAllEnvs();
  });

  it("holds what was written, once it is created only by `write` and `replace` anything else", async () => {
    expect(await store.read("tile/0/000")).toBeNull();
    expect(await store.create("tile/0/000", bytes("one"), "immutable")).toBe(true);
    expect(await store.create("tile/0/000", bytes("two"), "immutable")).toBe(false);
    expect(await textOf(store, "tile/0/000")).toBe("one");
    await store.write("tile/0/000", bytes("three"), "immutable");
    expect(await textOf(store, "tile/0/000")).toBe("three");
    await store.write("empty", new Uint8Array(), "immutable");
    expect(await textOf(store, "empty")).toBe("");
  });

  it("lists what is right below a name", async () => {
    for (const name of ["tile/1/001.p/7", "tile/1/001.p/12", "tile/1/x001/000"])
      await store.create(name, bytes(name), "immutable");
    expect((await store.list("tile/1")).toSorted()).toEqual(["001.p", "x001"]);
    expect((await store.list("tile/1/001.p")).toSorted()).toEqual(["12", "7"]);
    expect(await store.list("tile/9")).toEqual([]);
  });

  it("replaces an object for who knows its tag, and for nobody else", async () => {
    expect(await store.replace("lock-a", bytes("a"), '"0123"')).toBeNull();
    const first = await store.replace("lock-a", bytes("a"), null);
    expect(first).not.toBeNull();
    expect(await store.replace("lock-a", bytes("b"), null)).toBeNull();
    const second = await store.replace("lock-a", bytes("b"), first);
    expect(await store.replace("lock-a", bytes("c"), first)).toBeNull();
    expect(await store.read("lock-a")).toEqual({ bytes: expect.anything(), tag: second });
    expect(await textOf(store, "lock-a")).toBe("b");
  });

  it("lets one of many win, and loses no change", async () => {
    const clients = await Promise.all(Array.from({ length: 6 }, () => opened.open()));
    let won = 0;
    await Promise.all(
      clients.map(async (client, who) => {
        for (let turn = 0; turn < 15; turn += 1) {
          const held = await client.read("counter");
          const count = held === null ? 0 : Number(utf8Decode(held.bytes).split(" ")[0]);
          const next = bytes(`${count + 1} of ${who} in ${turn}`);
          if ((await client.replace("counter", next, held?.tag ?? null)) !== null) won += 1;
        }
      }),
    );
    for (const client of clients) client.close();
    expect(won).toBeGreaterThan(10);
    expect((await textOf(store, "counter"))?.split(" ")[0]).toBe(String(won));
  });

  it("passes the probe of a start, and of eight that start together", async () => {
    await Promise.all(Array.from({ length: 8 }, () => requireConditions(store)));
  });
});

describe("the folder", () => {
  it("isn't deceived by a caller that slept while others went on, and leaves no drafts", async () => {
    const folder = mkdtempSync(path.join(os.tmpdir(), "countersign-store-"));
    const store = openFolderStore(folder);
    let tag = await store.replace("lock", bytes("1"), null);
    for (let i = 2; i <= 70; i += 1) tag = await store.replace("lock", bytes(`${i}`), tag);
    const kept = readdirSync(path.join(folder, "lock")).toSorted();
    expect([kept.length, kept[0], kept.at(-1)]).toEqual([64, "000000000007", "000000000070"]);
    // A crash between the new version and the removal of the old one.
    writeFileSync(path.join(folder, "lock/000000000006"), "6");
    expect(await textOf(store, "lock")).toBe("70");
    for (const late of ["1", "6", "69"]) expect(await store.replace("lock", bytes("late"), late)).toBeNull();
    expect(await textOf(store, "lock")).toBe("70");
    mkdirSync(path.join(folder, "tile/0/000/in the way"), { recursive: true });
    await expect(store.write("tile/0/000", bytes("x"), "immutable")).rejects.toThrow();
    expect(readdirSync(path.join(folder, "tile/0"))).toEqual(["000"]);
    rmSync(folder, { recursive: true });
  });
});

describe("an S3", () => {
  let s3: TestS3;
  let store: ObjectStore;
  beforeAll(async () => {
    s3 = await startS3();
    store = await openS3(s3.settings, s3.credentials)();
  });
  afterAll(async () => {
    store.close();
    await s3.kill();
    vi.unstubAllEnvs();
  });

  it("gets headers that let caches keep what never changes", async () => {
    await store.write("tile/0/009", bytes("x"), "immutable");
    await store.write("checkpoint", bytes("x"), "checkpoint");
    await store.replace("lock-b", bytes("x"), null);
    const headersOf = (name: string) => s3.objects.get(`of-the/log/${name}`)?.headers;
    expect(headersOf("tile/0/009")).toEqual({
      "content-type": "application/octet-stream",
      "cache-control": "public, max-age=31536000, immutable",
    });
    expect(headersOf("checkpoint")).toMatchObject({ "cache-control": "public, max-age=2" });
    expect(headersOf("lock-b")).toMatchObject({ "cache-control": "no-store" });
  });

  it("whose answer breaks off is read again, so many times and no more", async () => {
    await store.write("broken", bytes("all of it"), "immutable");
    let broken = 2;
    let asked = 0;
    s3.fault = (method) => {
      if (method !== "GET") return null;
      asked += 1;
      return broken-- > 0 ? "cut within" : null;
    };
    expect(await textOf(store, "broken")).toBe("all of it");
    expect(asked).toBe(3);
    broken = 100;
    await expect(store.read("broken")).rejects.toThrow();
    expect(asked).toBe(6);
    s3.fault = () => null;
  });

  it("in which two writers can win at once is refused, empty or not", async () => {
    s3.looksBeforeItWrites = true;
    const refused =
      /cannot start: the store .* ignores If-(None-)?Match when writers come at once: \d+ of 20 won/;
    await expect(requireConditions(store)).rejects.toThrow(refused);
    await expect(requireConditions(store)).rejects.toThrow(refused);
    s3.looksBeforeItWrites = false;
    await requireConditions(store);
    s3.objects.clear();
    await requireConditions(store);
  });

  it("that answers an error once is asked again, and one that is away is an error", async () => {
    let errors = 1;
    s3.fault = () => (errors-- > 0 ? "error" : null);
    await store.write("again", bytes("x"), "immutable");
    expect(await textOf(store, "again")).toBe("x");
    s3.fault = () => null;
    await s3.kill();
    await expect(store.read("again")).rejects.toThrow();
    await expect(store.create("other", bytes("x"), "immutable")).rejects.toThrow();
    await s3.revive();
    expect(await textOf(store, "again")).toBe("x");
    vi.stubEnv("AWS_SECRET_ACCESS_KEY", "another");
    const stranger = await openS3(s3.settings, {})();
    await expect(stranger.read("again")).rejects.toThrow(/SignatureDoesNotMatch/);
    vi.stubEnv("AWS_SECRET_ACCESS_KEY", s3.credentials["AWS_SECRET_ACCESS_KEY"] ?? "");
  });
});

describe("the setting", () => {
  it("is an S3 or a folder", () => {
    expect(parseStoreAddress("s3://bucket")).toEqual({ bucket: "bucket", path: "" });
    expect(parseStoreAddress("s3://my.bucket/a/b/")).toEqual({ bucket: "my.bucket", path: "a/b" });
    expect(parseStoreAddress("file:/srv/log")).toEqual({ bucket: null, path: "/srv/log" });
    expect(parseStoreAddress("file:///srv/a%20b")).toEqual({ bucket: null, path: "/srv/a b" });
    for (const wrong of [
      "s3:/x",
      "s3://B_",
      "s3://bucket/a/../b",
      "s3://bucket/a//b",
      "https://x/y",
      "file:here",
      "/srv",
    ])
      expect([wrong, parseStoreAddress(wrong)]).toEqual([wrong, null]);
  });
});
