/** One hash for one value, whoever computes it; and nothing that JSON would lose in silence has one. */
import { createHash } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { hashInputs, sealInputs } from "./inputs";

const sha256 = (text: string) => `sha256:${createHash("sha256").update(text).digest("hex")}`;

describe("hashInputs", () => {
  it("is the SHA-256 of the canonical JSON, with nested values", () => {
    const canonical = '{"a":[1,{"y":null,"z":"é"}],"b":{"c":{"d":true}}}';
    expect(hashInputs({ b: { c: { d: true } }, a: [1, { z: "é", y: null }] })).toBe(sha256(canonical));
    expect(hashInputs("text")).toBe(sha256('"text"'));
    expect(hashInputs({ a: 1, b: undefined })).toBe(sha256('{"a":1}'));
    expect(hashInputs(Object.assign(Object.create(null), { a: -0 }))).toBe(sha256('{"a":0}'));
  });

  it("depends on every value at every depth, and not on the order of names", () => {
    const leaf = { a: { b: { c: { d: 1, e: 2 } } } };
    expect(hashInputs({ a: { b: { c: { e: 2, d: 1 } } } })).toBe(hashInputs(leaf));
    expect(hashInputs({ a: { b: { c: { d: 1, e: 3 } } } })).not.toBe(hashInputs(leaf));
  });

  it.each([
    ["a date", { when: new Date(0) }, ".when: Date"],
    ["a map", [new Map([["a", 1]])], "[0]: Map"],
    ["a set", { all: new Set([1]) }, ".all: Set"],
    ["a function", { run: () => 1 }, ".run: Function"],
    ["an instance", { url: new URL("https://a.example") }, ".url: URL"],
    ["bytes", { bytes: new Uint8Array(2) }, ".bytes: Uint8Array"],
    ["a big integer", { n: 1n }, ".n: BigInt"],
    ["NaN", { n: [Number.NaN] }, ".n[0]: NaN"],
    ["infinity", { n: Number.POSITIVE_INFINITY }, ".n: Infinity"],
    ["undefined in a list", [undefined], "[0]: Undefined"],
    // biome-ignore lint/suspicious/noSparseArray: what is tested
    ["a hole in a list", [1, , 2], "[1]: Undefined"],
    ["nothing", undefined, ": Undefined"],
    ["a lone surrogate", { text: "\ud800" }, ".text: text with a lone surrogate"],
    ["a lone surrogate in a name", { "\ud800": 1 }, ": a name has a lone surrogate"],
    ["a name that copies lose", JSON.parse('{"a":{"__proto__":1}}'), ".a: a name is __proto__"],
  ])("refuses %s, and says where it is", (_, value, place) => {
    expect(() => hashInputs(value)).toThrow(TypeError);
    expect(() => hashInputs(value)).toThrow(`inputs${place}`);
  });

  it("refuses what leads to itself", () => {
    const loop: { self?: object } = {};
    loop.self = loop;
    expect(() => hashInputs(loop)).toThrow("nested too deeply");
  });
});

/** A name __proto__ is refused. */
const ownNames = fc.jsonValue({ maxDepth: 4 }).filter((value) => !/"__proto__"/.test(JSON.stringify(value)));

describe("sealInputs", () => {
  it("copies what it hashes", () => {
    fc.assert(
      fc.property(ownNames, (value) => {
        const { hash, copy } = sealInputs(value);
        expect(hash).toBe(hashInputs(value));
        expect(hashInputs(copy)).toBe(hash);
        expect(copy).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  it("reads each value once: what answers differently the next time is not hashed as one and run as another", () => {
    let reads = 0;
    const shifty = {
      get amount() {
        reads += 1;
        return reads;
      },
    };
    const { hash, copy } = sealInputs(shifty);
    expect(copy).toEqual({ amount: 1 });
    expect(hash).toBe(hashInputs({ amount: 1 }));
  });
});
