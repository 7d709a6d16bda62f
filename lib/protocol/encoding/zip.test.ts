/** The reader takes what the writer writes, and no other archive: every way to hide, double or swell a file is refused. */
import { constants, crc32, deflateRawSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createZipWriter } from "#lib/services/packs/zip-writer";
import { nodeIo } from "#lib/verifier/cli/node-io";
import { concatBytes, utf8Decode, utf8Encode } from "./bytes";
import {
  encodeZipEnd,
  encodeZipHeader,
  inflateInBrowser,
  type PlacedFile,
  readZip,
  toByteSource,
  type ZipTools,
} from "./zip";

async function pack(files: [name: string, text: string][]): Promise<Uint8Array> {
  const zip = createZipWriter();
  const sent: Uint8Array[] = [];
  for (const [name, text] of files) sent.push(await zip.add(name, utf8Encode(text)));
  return concatBytes(...sent, zip.end());
}

const readBy = async (tools: ZipTools, bytes: Uint8Array, maxFileBytes = 1_000, maxBytes = 1e9) => {
  const archive = await readZip(toByteSource(bytes), tools, { maxFileBytes, maxBytes });
  const texts: [string, string][] = [];
  for (const { name } of archive.files) texts.push([name, utf8Decode(await archive.read(name))]);
  return texts;
};

const files: [string, string][] = [
  ["one.json", "{}"],
  ["folder/two.txt", "a".repeat(500)],
  ["empty", ""],
];

/** With this text instead of that one, wherever it is: names stand in front of the file and in the directory. */
function rename(bytes: Uint8Array, from: string, to: string): Uint8Array {
  return new Uint8Array(Buffer.from(Buffer.from(bytes).toString("latin1").replaceAll(from, to), "latin1"));
}

function write(bytes: Uint8Array, at: number, ...values: number[]): Uint8Array {
  const copy = bytes.slice();
  copy.set(values, at);
  return copy;
}

/** Readers of verify.mjs and of the page. */
const readers: [string, ZipTools][] = [
  ["Node", nodeIo.zip],
  ["a browser", { ...nodeIo.zip, inflate: inflateInBrowser }],
];

describe.each(readers)("a ZIP archive that %s reads", (_, tools) => {
  const read = (...given: [Uint8Array, number?, number?]) => readBy(tools, ...given);

  it("is read as it was written", async () => {
    expect(await read(await pack(files))).toEqual(files);
  });

  it.each(["../evil", "/etc/passwd", "a/../../b", "a\\b", "C:evil", ".hidden", "a//b", "a/", "é"])(
    "has no file named %s",
    async (name) => {
      const file = { name, crc: 0, size: 0, deflatedSize: 0 };
      expect(() => encodeZipHeader(file)).toThrow("not a name");
      const bytes = await pack([["n".repeat(name.length), "x"]]);
      await expect(read(rename(bytes, "n".repeat(name.length), name))).rejects.toThrow("the file name");
    },
  );

  it("names no file twice, not even by another header", async () => {
    const bytes = await pack([
      ["one", "1"],
      ["two", "2"],
    ]);
    await expect(read(rename(bytes, "two", "one"))).rejects.toThrow("one is there twice");
  });

  it("inflates to what it states, and to no more than was allowed", async () => {
    const bytes = await pack([["bomb", "0".repeat(100_000)]]);
    await expect(read(bytes)).rejects.toThrow("bomb is too large: 100000 bytes");
    const deflatedSize = bytes.length - encodeZipEnd([]).length - 2 * 4 - 30 - 46;
    for (const size of [10, 100_001]) {
      const stated = { name: "bomb", crc: 0, size, deflatedSize };
      const body = bytes.subarray(34, 34 + deflatedSize);
      const lying = concatBytes(encodeZipHeader(stated), body, encodeZipEnd([{ ...stated, offset: 0 }]));
      await expect(read(lying, 1e6)).rejects.toThrow(/^bomb does not/);
    }
  });

  it("hides nothing behind a file's deflated bytes, and ends them", async () => {
    const deflated = deflateRawSync("{}");
    const unended = deflateRawSync("{}", { finishFlush: constants.Z_SYNC_FLUSH });
    const broken = [concatBytes(deflated, utf8Encode("hidden")), unended, deflated.subarray(1)];
    for (const body of [...broken, deflated]) {
      const file = { name: "one.json", crc: crc32("{}"), size: 2, deflatedSize: body.length };
      const one = concatBytes(encodeZipHeader(file), body, encodeZipEnd([{ ...file, offset: 0 }]));
      if (body === deflated) expect(await read(one)).toEqual([["one.json", "{}"]]);
      else await expect(read(one)).rejects.toThrow("one.json does not inflate");
    }
  });

  it("is no larger as a whole than was allowed, by what its headers state", async () => {
    const bytes = await pack(files);
    expect(await read(bytes, 1_000, 502)).toEqual(files);
    await expect(read(bytes, 1_000, 501)).rejects.toThrow("too large together: more than 501 bytes");
  });

  it("is not encrypted, has no bytes before, between, or after what it lists, and is whole", async () => {
    const bytes = await pack(files);
    await expect(read(write(bytes, 6, 1))).rejects.toThrow("an encrypted file at byte 0");
    await expect(read(concatBytes(bytes, new Uint8Array(1)))).rejects.toThrow("bytes after its end");
    await expect(read(concatBytes(new Uint8Array(1), bytes))).rejects.toThrow("not a ZIP archive of ours");
    await expect(read(bytes.subarray(0, -1))).rejects.toThrow("the archive was cut");
    // Bytes that no file has, before the directory, with its old place and its new one.
    const end = encodeZipEnd([]).length;
    const start = Buffer.from(bytes).readUInt32LE(bytes.length - 6);
    const hiding = concatBytes(bytes.subarray(0, start), new Uint8Array(3), bytes.subarray(start));
    await expect(read(hiding)).rejects.toThrow("at byte");
    const moved = write(hiding, hiding.length - end + 16, start + 3);
    await expect(read(moved)).rejects.toThrow("at byte");
    await expect(read(new Uint8Array())).rejects.toThrow("not a ZIP archive of ours");
  });

  it("has more files than 16 bits count by ZIP64", async () => {
    const body = deflateRawSync("");
    const small = { crc: 0, size: 0, deflatedSize: body.length };
    const placed: PlacedFile[] = [];
    const parts: Uint8Array[] = [];
    let offset = 0;
    for (let i = 0; i < 65_535; i += 1) {
      const file = { ...small, name: `file/${i}`, offset };
      placed.push(file);
      parts.push(encodeZipHeader(file), body);
      offset += 30 + file.name.length + body.length;
    }
    const bytes = new Uint8Array(Buffer.concat([...parts, encodeZipEnd(placed)]));
    const limits = { maxFileBytes: 1_000, maxBytes: 1_000 };
    const { files: read } = await readZip(toByteSource(bytes), tools, limits);
    expect([read.length, read.at(-1)?.name]).toEqual([65_535, "file/65534"]);
    const end = bytes.length - 22;
    for (const at of [end - 76 + 32, end - 20 + 8, end + 8])
      await expect(readZip(toByteSource(write(bytes, at, 7)), tools, limits)).rejects.toThrow(
        "the directory at",
      );
  });

  it("can be changed in no byte", async () => {
    const bytes = await pack(files);
    await fc.assert(
      fc.asyncProperty(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), async (at, by) => {
        const changed = write(bytes, at, (bytes[at] ?? 0) ^ by);
        let found: unknown;
        try {
          found = await read(changed);
        } catch {
          return;
        }
        // Deflate may say one thing in two ways, and its padding says nothing: what is read is the same.
        expect(found).toEqual(files);
      }),
    );
  });
});
