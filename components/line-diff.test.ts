import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { diffLines, markChanges } from "./line-diff";

const render = (before: string, after: string) =>
  diffLines(before, after).map(({ kind, text }) => `${{ same: " ", removed: "-", added: "+" }[kind]}${text}`);

describe("the difference of two texts", () => {
  it("shows removed before added lines", () => {
    expect(render("a\nb\nc\n", "a\nx\nc\n")).toEqual([" a", "-b", "+x", " c"]);
    expect(render("", "a\n")).toEqual(["+a"]);
    expect(render("a\n", "")).toEqual(["-a"]);
    expect(render("a\n", "a\n")).toEqual([" a"]);
  });

  it("makes no table of texts that are too long for one, but finds their equal ends", () => {
    const lines = (text: string, count = 1_001) => `${text}\n`.repeat(count);
    const [before, after] = [`a\n${lines("b")}c\n${lines("b")}d\n`, `a\n${lines("x")}c\n${lines("x")}d\n`];
    const kinds = diffLines(before, after).map(({ kind }) => kind);
    const found = kinds.filter((kind, i) => kind !== kinds[i - 1]);
    expect(found).toEqual(["same", "removed", "added", "same"]);
    expect(kinds).toHaveLength(2 + 2 * 2_003);
    expect(
      diffLines(lines("a", 32_768), `${lines("a", 32_767)}b\n`)
        .slice(-3)
        .map(({ kind }) => kind),
    ).toEqual(["same", "removed", "added"]);
  });

  it("holds both texts, whatever they are", () => {
    const text = fc.array(fc.constantFrom("a", "b", "", "c d"), { maxLength: 12 });
    fc.assert(
      fc.property(text, text, (before, after) => {
        const lines = diffLines(
          before.map((line) => `${line}\n`).join(""),
          after.map((line) => `${line}\n`).join(""),
        );
        const without = (kind: string) => lines.filter((line) => line.kind !== kind).map((line) => line.text);
        expect([without("added"), without("removed")]).toEqual([before, after]);
      }),
    );
  });
});

describe("the places that two texts don't share", () => {
  const read = (text: string, ranges: readonly { from: number; to: number }[]) =>
    ranges.map(({ from, to }) => text.slice(from, to));
  const show = (before: string, after: string) => {
    const { removed, added } = markChanges(before, after);
    return [
      ...[read(before, removed.lines), read(before, removed.words)],
      ...[read(after, added.lines), read(after, added.words)],
    ];
  };

  it.each([
    [
      "a\nlimit: 100,\nz",
      "a\nlimit: 100_000,\nz",
      [["limit: 100,"], ["100"], ["limit: 100_000,"], ["100_000"]],
    ],
    ["debit(1)", "debit(21)", [["debit(1)"], ["1"], ["debit(21)"], ["21"]]],
    ["naïve", "naïf", [["naïve"], ["naïve"], ["naïf"], ["naïf"]]],
    ["a 👩 b", "a 👨 b", [["a 👩 b"], ["👩"], ["a 👨 b"], ["👨"]]],
    ["a\nb", "a\nx\ny", [["b"], [], ["x", "y"], []]],
    ["a b", "a b c", [["a b"], [], ["a b c"], [" c"]]],
    ["a\n", "", [["a"], [], [], []]],
    ["a\n", "a", [["\n"], ["\n"], [], []]],
    ["a\n", "a\nb", [["\n"], ["\n"], ["b"], []]],
    ["\na", "a", [["\n"], [], [], []]],
    ["a\nb\nc", "a\n\nc", [["b"], [], ["\n"], []]],
    ["\n", "a", [["\n"], [], ["a"], []]],
    ["same", "same", [[], [], [], []]],
  ])("are lines, and words in lines that pair off: %j and %j", (before, after, places) => {
    expect(show(before, after)).toEqual(places);
  });

  it("lie within their lines, whatever the texts are", () => {
    const text = fc.array(fc.constantFrom("a", "b c", "", "b d", "👩", "👨"), { maxLength: 8 });
    fc.assert(
      fc.property(text, text, (before, after) => {
        const texts = [before.join("\n"), after.join("\n")] as const;
        const marks = markChanges(...texts);
        for (const [i, { lines, words }] of [marks.removed, marks.added].entries()) {
          const all = (texts[i] ?? "").split("\n");
          for (const line of read(texts[i] ?? "", lines)) expect([...all, "\n"]).toContain(line);
          for (const { from, to } of words)
            expect(lines.some((line) => line.from <= from && from < to && to <= line.to)).toBe(true);
        }
      }),
    );
  });
});
