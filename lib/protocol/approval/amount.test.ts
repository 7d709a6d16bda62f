import { describe, expect, it } from "vitest";
import {
  amountUnits,
  amountValue,
  amountValuePattern,
  canonicalAmount,
  findCurrencyMistake,
  formatAmount,
  formatLeft,
  sumByCurrency,
  writtenAmountPattern,
} from "./amount";

describe("amounts", () => {
  it.each([
    ["0", 0n],
    ["0.0001", 1n],
    ["12000.5", 120_005_000n],
    ["99999999999999.9999", 999_999_999_999_999_999n],
    ["10", 100_000n],
  ])("%s is that many units, and back", (value, units) => {
    expect(amountUnits(value)).toBe(units);
    expect(amountValue(units)).toBe(value);
  });

  it.each([
    "",
    "-1",
    "+1",
    "01",
    "1.",
    ".5",
    "1.50",
    "1.00000",
    "1.00001",
    "1e3",
    "1,5",
    " 1",
    "100000000000000",
    "0.0",
    "１",
  ])("%j is no amount", (text) => {
    expect(amountValuePattern.test(text)).toBe(false);
    expect(() => amountUnits(text)).toThrow(RangeError);
  });

  it("never pass a limit by rounding: sums are exact", () => {
    const third = amountUnits("0.1") + amountUnits("0.2");
    expect(amountValue(third)).toBe("0.3");
    expect(() => amountValue(amountUnits("99999999999999.9999") + 1n)).toThrow(RangeError);
    expect(() => amountValue(-1n)).toThrow(RangeError);
  });

  it.each([
    ["100", "100"],
    ["100.50", "100.5"],
    ["100.00", "100"],
    ["0.0", "0"],
    ["1.0500", "1.05"],
    ["10.0001", "10.0001"],
  ])("%s is signed as %s", (written, canonical) => {
    expect(writtenAmountPattern.test(written)).toBe(true);
    expect(canonicalAmount(written)).toBe(canonical);
    expect(amountValuePattern.test(canonical)).toBe(true);
  });

  it.each(["", "01", "1.", ".5", "1.00000", "-1.0", "1e3", "1,50"])("%j is still no amount", (text) => {
    expect(writtenAmountPattern.test(text)).toBe(false);
    expect(canonicalAmount(text)).toBe(text);
  });

  it("are in a currency of ISO 4217, with no more decimals than it has", () => {
    for (const [currency, value] of [
      ["EUR", "10.55"],
      ["JPY", "10"],
      ["KWD", "10.555"],
      ["CLF", "10.5555"],
      ["XOF", "1"],
      ["XCG", "1.5"],
    ] as const)
      expect(findCurrencyMistake(currency, value)).toBeNull();
    for (const currency of ["EUX", "XXX", "XTS", "XAU", "BGN", "DEM", "eur", "__p", ""])
      expect(findCurrencyMistake(currency, "1")).toContain("ISO 4217");
    expect(findCurrencyMistake("JPY", "10.5")).toBe("JPY has no decimals: 10.5 can't be paid");
    expect(findCurrencyMistake("EUR", "10.555")).toBe("EUR has 2 decimals: 10.555 can't be paid");
  });

  it.each([
    ["12000.5", "EUR", "12,000.50 EUR"],
    ["0", "EUR", "0.00 EUR"],
    ["999", "JPY", "999 JPY"],
    ["1250000", "JPY", "1,250,000 JPY"],
    ["1234.5", "KWD", "1,234.500 KWD"],
    ["0.0001", "CLF", "0.0001 CLF"],
    ["99999999999999.99", "USD", "99,999,999,999,999.99 USD"],
    // Signed before currencies were held against the list.
    ["5000", "EUX", "5,000 EUX"],
    ["10.5", "JPY", "10.5 JPY"],
    ["10.1234", "EUR", "10.1234 EUR"],
  ])("%s %s reads %s", (value, currency, text) => {
    expect(formatAmount({ value, currency })).toBe(text);
  });

  it("add up by currency, exactly and without an end", () => {
    const most = { value: "99999999999999.99", currency: "USD" };
    expect(
      sumByCurrency([
        most,
        { value: "0.1", currency: "EUR" },
        { value: "0.2", currency: "EUR" },
        ...Array(9).fill(most),
      ]).map(({ count, ...sum }) => `${count}: ${formatAmount(sum)}`),
    ).toEqual(["2: 0.30 EUR", "10: 999,999,999,999,999.90 USD"]);
    expect(sumByCurrency([])).toEqual([]);
  });

  it("say what is left of a budget exactly, never less than nothing", () => {
    expect(formatLeft("3800", "5000", "EUR")).toBe("1,200.00 of 5,000.00 EUR left");
    expect(formatLeft("0.1", "0.3", "EUR")).toBe("0.20 of 0.30 EUR left");
    expect(formatLeft("9", "5", "JPY")).toBe("0 of 5 JPY left");
  });
});
