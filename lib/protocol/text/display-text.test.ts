import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  codePointLabel,
  formatCount,
  formatWait,
  groupSegments,
  isHiddenCharacter,
  segmentText,
  toVisibleText,
} from "./display-text";

/** DerivedCoreProperties.txt, Default_Ignorable_Code_Point: written out, so that the test does not ask the engine alone. */
const defaultIgnorable: readonly (readonly [number, number])[] = [
  [0x00ad, 0x00ad],
  [0x034f, 0x034f],
  [0x061c, 0x061c],
  [0x115f, 0x1160],
  [0x17b4, 0x17b5],
  [0x180b, 0x180f],
  [0x200b, 0x200f],
  [0x202a, 0x202e],
  [0x2060, 0x206f],
  [0x3164, 0x3164],
  [0xfe00, 0xfe0f],
  [0xfeff, 0xfeff],
  [0xffa0, 0xffa0],
  [0xfff0, 0xfff8],
  [0x1bca0, 0x1bca3],
  [0x1d173, 0x1d17a],
  [0xe0000, 0xe0fff],
];

const range = ([from, to]: readonly [number, number]) =>
  Array.from({ length: to - from + 1 }, (_, index) => from + index);
const allCodePoints = range([0, 0x10ffff]);
const having = (property: RegExp) =>
  allCodePoints.filter((code) => property.test(String.fromCodePoint(code)));

/** Each set with its size in Unicode 17 or, where new versions add to it, the least it must hold. */
const sets: readonly { name: string; codePoints: number[]; atLeast: number }[] = [
  { name: "Default_Ignorable_Code_Point", codePoints: defaultIgnorable.flatMap(range), atLeast: 4_174 },
  { name: "Cc", codePoints: having(/\p{Cc}/u), atLeast: 65 },
  { name: "Cf", codePoints: having(/\p{Cf}/u), atLeast: 170 },
  { name: "Zl", codePoints: having(/\p{Zl}/u), atLeast: 1 },
  { name: "Zp", codePoints: having(/\p{Zp}/u), atLeast: 1 },
  { name: "Co", codePoints: having(/\p{Co}/u), atLeast: 137_468 },
  { name: "Cs (lone surrogates)", codePoints: having(/\p{Cs}/u), atLeast: 2_048 },
  { name: "Zs but U+0020", codePoints: having(/\p{Zs}/u).filter((code) => code !== 0x20), atLeast: 16 },
  { name: "noncharacters", codePoints: having(/\p{Noncharacter_Code_Point}/u), atLeast: 66 },
  { name: "blank letters", codePoints: [0x2800, 0xfffc, 0x13441, 0x13442, 0x16fe4, 0x1d159], atLeast: 6 },
];

describe("a count", () => {
  it("groups its digits like the runtime's own format", () => {
    for (const count of [0, 1, 999, 1_000, 1_234.5, 12_345, 123_456, 1_234_567])
      expect(formatCount(count, "entry", "entries")).toBe(
        `${count.toLocaleString("en")} ${count === 1 ? "entry" : "entries"}`,
      );
  });
});

describe("characters that a page must not hide", () => {
  it.each(sets)("every code point of $name becomes a segment of its own", ({ codePoints, atLeast }) => {
    expect(codePoints.length).toBeGreaterThanOrEqual(atLeast);
    const missed = codePoints.filter((code) => {
      const value = String.fromCodePoint(code);
      const segments = segmentText(`a${value}b`);
      return !(
        segments.length === 3 &&
        segments[0]?.value === "a" &&
        segments[1]?.kind === "hidden" &&
        segments[1].value === value &&
        segments[1].label === codePointLabel(value) &&
        segments[2]?.value === "b"
      );
    });
    expect(missed.map((code) => code.toString(16))).toEqual([]);
  });

  it("leaves all other characters as they are", () => {
    const hidden = new Set(sets.flatMap((set) => set.codePoints));
    const wrong = allCodePoints.filter(
      (code) => isHiddenCharacter(String.fromCodePoint(code)) !== hidden.has(code),
    );
    expect(wrong.map((code) => code.toString(16))).toEqual([]);
  });

  it("loses and changes no character of any string", () => {
    const anyString = fc.string({
      unit: fc.integer({ min: 0, max: 0xffff }).map((u) => String.fromCharCode(u)),
    });
    fc.assert(
      fc.property(anyString, (text) => {
        expect(
          segmentText(text)
            .map((segment) => segment.value)
            .join(""),
        ).toBe(text);
      }),
    );
  });

  it("shows spaces at the ends, keeps those inside", () => {
    expect(segmentText(" pay  Bob ").map((s) => (s.kind === "hidden" ? s.label : s.value))).toEqual([
      "U+0020",
      "pay  Bob",
      "U+0020",
    ]);
    expect(segmentText("   ").every((segment) => segment.kind === "hidden")).toBe(true);
  });

  it("shows marks that would attach themselves to the page, and piles of them", () => {
    expect(segmentText("\u0338100")[0]).toEqual({ kind: "hidden", value: "\u0338", label: "U+0338" });
    expect(segmentText("e\u0301")).toEqual([{ kind: "text", value: "e\u0301" }]);
    const pile = segmentText(`a${"\u0301".repeat(50)}`);
    expect(pile[0]).toEqual({ kind: "text", value: `a${"\u0301".repeat(6)}` });
    expect(pile.slice(1)).toHaveLength(44);
    expect(pile.slice(1).every((segment) => segment.kind === "hidden")).toBe(true);
  });

  it("has a plain form for titles, feeds and mail", () => {
    expect(toVisibleText("pay \u202E001\nBob\0")).toBe("pay ⟨U+202E⟩001⟨U+000A⟩Bob⟨U+0000⟩");
  });

  it("gives a run of hidden characters as one, whatever it is made of, and loses nothing of it", () => {
    expect(groupSegments(`a${"\u200B".repeat(637)}b`)).toEqual([
      { kind: "text", value: "a" },
      { kind: "hidden", value: "\u200B".repeat(637), marks: [{ label: "U+200B", count: 637 }] },
      { kind: "text", value: "b" },
    ]);
    const alternating = "\u200B\u200C".repeat(500);
    expect(groupSegments(alternating)).toHaveLength(1);
    expect(toVisibleText(alternating)).toBe("⟨U+200B⟩⟨U+200C⟩".repeat(500));
    expect(groupSegments("a\r\n\n\tb").map(({ value }) => value)).toEqual(["a", "\r\n\n", "\t", "b"]);
  });

  it.each([
    "\n ",
    "\n\u2800",
    "\n\u3164",
    "\n \u200B",
    "\n\u{E0061}",
    "\n\u0301",
    "\n \u2D7F",
    "\n\u{13441} ",
    "\r\n\t",
  ])("takes lines without ink as one run: %j", (line) => {
    const runs = groupSegments(`Pay 1 EUR${line.repeat(500)}\nand 900`);
    expect(runs.map(({ kind }) => kind)).toEqual(["text", "hidden", "text"]);
    expect(runs.map(({ value }) => value).join("")).toBe(`Pay 1 EUR${line.repeat(500)}\nand 900`);
  });

  it("leaves the spaces of a line with ink where they are", () => {
    expect(groupSegments("if a:\n    b \n  c").map(({ value }) => value)).toEqual([
      "if a:",
      "\n",
      "    b ",
      "\n",
      "  c",
    ]);
  });

  it("stays unambiguous in plain text: counts join no digit, and a mark that an agent writes is not one", () => {
    expect(toVisibleText(`${"\u200B".repeat(63)}75`)).toBe("⟨U+200B × 63⟩75");
    expect(toVisibleText("\u200B".repeat(6375))).toBe("⟨U+200B × 6375⟩");
    expect(toVisibleText("⟨U+202E⟩ and ⟨x⟩")).toBe("⟨U+27E8⟩U+202E⟩ and ⟨x⟩");
  });

  it("never shows two strings alike", () => {
    const unit = fc.constantFrom("\u200B", "\u200C", "\n", " ", "a", "1", "⟨", "⟩", "U+200B", " × ", "2");
    const text = fc.array(unit, { maxLength: 12 }).map((parts) => parts.join(""));
    const readBack = (shown: string) =>
      shown.replace(/⟨U\+([0-9A-F]+)(?: × (\d+))?⟩/g, (_, code: string, count = "1") =>
        String.fromCodePoint(Number.parseInt(code, 16)).repeat(Number(count)),
      );
    fc.assert(
      fc.property(text, (raw) => {
        expect(readBack(toVisibleText(raw))).toBe(raw);
      }),
      { numRuns: 2_000 },
    );
  });

  it("treats an empty string as nothing", () => {
    expect(segmentText("")).toEqual([]);
    expect(() => codePointLabel("")).toThrow(RangeError);
  });
});

it.each([
  [1, "1 second"],
  [120, "120 seconds"],
  [121, "3 minutes"],
  [7_200, "120 minutes"],
  [7_201, "3 hours"],
  [86_400, "24 hours"],
])("writes %i seconds, and never less than they are", (seconds, words) => {
  expect(formatWait(seconds)).toBe(words);
});
