import { describe, expect, it } from "vitest";
import { findTextWarnings } from "./mixed-script";

const kinds = (text: string, scope: "words" | "whole" = "words") =>
  findTextWarnings(text, scope).map((warning) => warning.kind);

describe("mixed scripts", () => {
  it.each([
    ["p\u0430ypal", ["Latin", "Cyrillic"]],
    ["\u0391lice", ["Greek", "Latin"]],
    ["sc\u043Epe", ["Latin", "Cyrillic"]],
    ["b\u0251nk\u0561", ["Latin", "Armenian"]],
    ["\u0410\u0391", ["Cyrillic", "Greek"]],
    ["\u30A2\uAC00", ["Katakana", "Hangul"]],
    ["a\u13AA", ["Latin", "Cherokee"]],
    ["a\u{1055A}", ["Latin", "Other"]],
  ])("warns about %s", (text, scripts) => {
    expect(findTextWarnings(text, "words")).toEqual([{ kind: "mixed-script", word: text, scripts }]);
  });

  it.each([
    "Pay 100.00 EUR to Zoë Müller-Łukasz",
    "Перевод 100 рублей",
    "東京タワー Tower2へ送金",
    "서울 Seoul3호 漢字",
    "臺北ㄅㄆ101",
    "Ελληνικά",
    "5 \u00B5m", // MICRO SIGN is common to all scripts
  ])("accepts %s", (text) => {
    expect(kinds(text)).toEqual([]);
  });

  it("judges words of a sentence one by one, a name as a whole", () => {
    expect(kinds("transfer to Иван")).toEqual([]);
    expect(kinds("transfer to Иван", "whole")).toEqual(["mixed-script"]);
  });

  it("is not fooled by an invisible character inside the word", () => {
    expect(kinds("p\u200B\u0430ypal")).toEqual(["mixed-script"]);
  });

  it("warns about ASCII letters in costume, and about right-to-left letters", () => {
    expect(kinds("\u{1D429}\u{1D41A}y")).toEqual(["styled-letters"]);
    expect(kinds("\uFF30ay")).toEqual(["styled-letters"]);
    expect(kinds("שלום 100")).toEqual(["right-to-left"]);
    expect(kinds("m² and x³ and №5")).toEqual([]);
  });
});
