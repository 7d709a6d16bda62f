import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { diffLines } from "./line-diff";

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
