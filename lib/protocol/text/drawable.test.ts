import { describe, expect, it } from "vitest";
import { drawable, toVisibleText } from "./display-text";

describe("text for a picture", () => {
  it("holds no character that a page would mark as hidden", () => {
    const all = Array.from({ length: 0x1_0000 }, (_, code) => `a${String.fromCharCode(code)}b`);
    const drawn = all.filter((text) => drawable(text) !== null);
    expect(drawn.length).toBeGreaterThan(300);
    expect(drawn.filter((text) => toVisibleText(text) !== text)).toEqual([]);
    expect(drawable("Pay 1\u00ad000 EUR")).toBeNull();
  });

  it("is cut where a card ends", () => {
    expect(drawable("Zahle 5 € an Škoda")).toBe("Zahle 5 € an Škoda");
    expect(drawable("x".repeat(121))).toBe(`${"x".repeat(120)}…`);
  });
});
