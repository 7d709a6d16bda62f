import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeEntryBundle, encodeEntryBundle } from "./log-leaf";

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
