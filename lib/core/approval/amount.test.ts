import { describe, expect, it } from "vitest";
import { amountUnits, amountValue, amountValuePattern } from "./amount";

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
});
