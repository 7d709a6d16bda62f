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
