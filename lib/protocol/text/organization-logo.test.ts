import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { deriveMark, markColors, markPattern, organizationTitleIn } from "./organization-name";

describe("a mark that nobody chose", () => {
  it.each([
    ["Example Ltd", "EL"],
    ["Pia’s Bakery", "PB"],
    ["L'Avenir 's", "LA"],
    ["dev", "D"],
    ["  the north wind  ", "TN"],
    ["ßeta", "S"],
    ["3M", "3"],
    ["株式会社", "株"],
    ["✓ ★", "#"],
    ["", "#"],
  ])("of %j is %j", (name, text) => {
    const mark = deriveMark(name);
    expect(mark.text).toBe(text);
    expect(mark.text).toMatch(markPattern);
    expect(deriveMark(name)).toEqual(mark);
  });

  it("has every colour, by the name alone", () => {
    const names = Array.from({ length: 60 }, (_, i) => deriveMark(`Organization ${i}`).color);
    expect([...new Set(names)].sort()).toEqual([...markColors].sort());
  });
});

describe("a mark that somebody chose", () => {
  it.each(["✓", "ABC", "", "A!", "☆", "A\u202e", " "])("is not %j", (text) =>
    expect(text).not.toMatch(markPattern),
  );
});

/** WCAG 2.2, relative luminance and contrast ratio. */
function luminance(hex: string): number {
  const [r = 0, g = 0, b = 0] = [1, 3, 5].map((at) => {
    const value = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
const contrast = (one: string, other: string) => {
  const [light = 0, dark = 0] = [luminance(one), luminance(other)].sort((a, b) => b - a);
  return (light + 0.05) / (dark + 0.05);
};

describe("the colours", () => {
  const css = readFileSync("app/globals.css", "utf8");
  const hexOf = (name: string) => new RegExp(`--${name}: (#[0-9a-f]{6});`).exec(css)?.[1] ?? "";

  it.each(markColors)("%s: white text on it reaches 4.5:1, in light and dark alike", (color) => {
    expect(contrast(hexOf(`mark-${color}`), hexOf("on-accent"))).toBeGreaterThanOrEqual(4.5);
    expect(css).toContain(`--color-mark-${color}: var(--mark-${color});`);
  });
});

it("tells organizations of one list apart that have the same name or none", () => {
  const list = ["Acme", null, "Acme", "Other", null].map((name, i) => ({
    organizationId: `0199-${i}00${i}`,
    name,
  }));
  expect(list.map((one) => organizationTitleIn(list, one))).toEqual([
    "Acme (0000)",
    "Unnamed organization (1001)",
    "Acme (2002)",
    "Other",
    "Unnamed organization (4004)",
  ]);
  expect(list.slice(0, 2).map((one) => organizationTitleIn([one, one], one))).toEqual([
    "Acme",
    "Unnamed organization",
  ]);
});
