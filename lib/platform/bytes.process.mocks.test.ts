/** Both halves of `#platform/bytes` are one function to whoever calls it, and each bundle gets the half that it can run. */
import { createHash } from "node:crypto";
import { build } from "esbuild";
import fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import * as node from "./node-bytes";
import * as portable from "./portable";

const halves = { node, portable };

/** Bytes with a place inside a larger buffer, as drivers hand them over. */
const someBytes = fc
  .tuple(fc.uint8Array({ maxLength: 20_000 }), fc.nat(40), fc.nat(40))
  .map(([bytes, from, cut]) =>
    bytes.subarray(Math.min(from, bytes.length), Math.max(from, bytes.length - cut)),
  );

/** Near misses: base64 and hex with wrong padding, trailing bits, white space, the other alphabet, anything. */
const someText = fc.oneof(
  fc.string(),
  fc.string({ unit: fc.constantFrom(..."AQgwZz09+/-_= \n=") }),
  fc.string({ unit: fc.constantFrom(..."0189afAFxg é") }),
  fc.base64String(),
  fc.base64String().map((text) => text.replaceAll("=", "")),
  fc.uint8Array().map((bytes) => Buffer.from(bytes).toString("base64url")),
  fc.uint8Array().map((bytes) => Buffer.from(bytes).toString("hex")),
);

const attempt = (work: () => unknown) => {
  try {
    const value = work();
    return value instanceof Uint8Array ? [...value] : value;
  } catch (error) {
    return String(error);
  }
};

describe("the halves", () => {
  afterEach(() => vi.doUnmock("#platform/bytes"));

  it("give the same of the same bytes, in memory of their own", () => {
    fc.assert(
      fc.property(someBytes, (bytes) => {
        const made = Object.values(halves).map(({ sha256, toHex, toBase64, fromHex, fromBase64 }) => {
          const arrays = [sha256(bytes), fromHex(toHex(bytes)), fromBase64(toBase64(bytes))];
          for (const array of arrays) {
            expect(Object.getPrototypeOf(array)).toBe(Uint8Array.prototype);
            expect(array.buffer.byteLength).toBe(array.length);
          }
          return [toHex(bytes), toBase64(bytes), ...arrays.map((array) => [...array])];
        });
        expect(made[0]).toEqual(made[1]);
        expect(made[0]?.slice(3)).toEqual([[...bytes], [...bytes]]);
      }),
    );
  });

  it("put parts together, and hash them as one, however long they are", () => {
    fc.assert(
      fc.property(fc.array(someBytes, { maxLength: 4 }), (parts) => {
        const whole = new Uint8Array(Buffer.concat(parts));
        const digest = new Uint8Array(createHash("sha256").update(whole).digest());
        for (const { concatBytes, sha256 } of Object.values(halves)) {
          const together = concatBytes(...parts);
          expect(together).toEqual(whole);
          expect(together.buffer.byteLength).toBe(whole.length);
          expect(sha256(...parts)).toEqual(digest);
        }
      }),
    );
  });

  it("take and refuse the same texts, behind the strict decoders", async () => {
    const load = async (half: object) => {
      vi.doMock("#platform/bytes", () => half);
      vi.resetModules();
      return import("#lib/protocol/encoding/bytes");
    };
    const [first, second] = [await load(node), await load(portable)];
    expect(first.base64Decode).not.toBe(second.base64Decode);
    const decoders = ["base64Decode", "base64UrlDecode", "hexDecode"] as const;
    fc.assert(
      fc.property(someText, (text) => {
        for (const decode of decoders)
          expect(attempt(() => first[decode](text))).toEqual(attempt(() => second[decode](text)));
      }),
      { numRuns: 2_000 },
    );
    for (const { base64Decode, base64UrlDecode, hexDecode } of [first, second]) {
      for (const text of ["QQ", "QR==", "QQ==\n", " QQ==", "QQ=", "Q-==", "=", "QQ==QQ=="])
        expect(() => base64Decode(text), text).toThrow(RangeError);
      for (const text of ["QR", "QQ==", "Q+", "Q"])
        expect(() => base64UrlDecode(text), text).toThrow(RangeError);
      for (const text of ["A0", "0", "0x00", "0g", "00 "])
        expect(() => hexDecode(text), text).toThrow(RangeError);
    }
  });
});

it.each([
  ["node", ["lib/platform/node-bytes.ts", "lib/platform/node-ed25519.ts"]],
  ["browser", ["lib/platform/portable.ts"]],
] as const)("a bundle for %s has its own halves alone", async (platform, halves) => {
  const { metafile } = await build({
    entryPoints: ["lib/protocol/keys/ed25519.ts"],
    bundle: true,
    write: false,
    metafile: true,
    platform,
    format: "esm",
    logLevel: "silent",
  });
  expect(
    Object.keys(metafile.inputs)
      .filter((file) => file.startsWith("lib/platform/"))
      .sort(),
  ).toEqual(halves);
});

it("Node has its own half in the tests too", async () => {
  const own = await import("./node-bytes");
  expect((await import("#platform/bytes")).sha256).toBe(own.sha256);
});
