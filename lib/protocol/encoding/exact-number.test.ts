import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { measureMs, shortestMs } from "#support/shortest";
import { canonicalJson } from "./canonical-json";
import { findRounding, parseStrictJson } from "./strict-json";

/** A fraction of integers, by no other rule than what the digits of a decimal mean. */
function toFraction(text: string): [bigint, bigint] {
  const [mantissa = "", exponent = "0"] = text.toLowerCase().split("e");
  const [whole = "", fraction = ""] = mantissa.split(".");
  const power = Number(exponent) - fraction.length;
  const numerator = BigInt(whole + fraction) * 10n ** BigInt(Math.max(power, 0));
  return [numerator, 10n ** BigInt(Math.max(-power, 0))];
}

/** The value of a double's bits: fraction × 2^exponent. */
function doubleToFraction(value: number): [bigint, bigint] {
  const bits = new DataView(new ArrayBuffer(8));
  bits.setFloat64(0, value);
  const high = bits.getUint32(0);
  const mantissa = (BigInt(high & 0xfffff) << 32n) | BigInt(bits.getUint32(4));
  const biased = (high >>> 20) & 0x7ff;
  const whole = (biased === 0 ? mantissa : mantissa | (1n << 52n)) * (high >>> 31 === 1 ? -1n : 1n);
  const power = Math.max(biased, 1) - 1075;
  return power >= 0 ? [whole << BigInt(power), 1n] : [whole, 1n << BigInt(-power)];
}

const isEqual = ([a, b]: [bigint, bigint], [c, d]: [bigint, bigint]) => a * d === c * b;
const distance = ([a, b]: [bigint, bigint], [c, d]: [bigint, bigint]): [bigint, bigint] => {
  const difference = a * d - c * b;
  return [difference < 0n ? -difference : difference, b * d];
};
const isCloser = ([a, b]: [bigint, bigint], [c, d]: [bigint, bigint]) => a * d < c * b;

const digits = (maxLength: number) =>
  fc.string({ unit: fc.constantFrom(..."0123456789"), minLength: 1, maxLength });
/** Any number of JSON's grammar, often with many digits. */
const jsonNumber = fc
  .record({
    sign: fc.constantFrom("", "-"),
    whole: fc.oneof(
      fc.constant("0"),
      digits(24).map((text) => text.replace(/^0+(?=\d)/, "")),
    ),
    fraction: fc.oneof(
      fc.constant(""),
      digits(24).map((text) => `.${text}`),
    ),
    exponent: fc.oneof(
      fc.constant(""),
      fc
        .tuple(fc.constantFrom("e", "E", "e+", "e-", "E-0"), fc.nat(345))
        .map(([start, size]) => start + size),
    ),
  })
  .map(({ sign, whole, fraction, exponent }) => sign + whole + fraction + exponent);
/** Decimals as doubles print them, respelled or one digit off. */
const nearDouble = fc
  .tuple(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.constantFrom("", "0", "000", "1", "5", "01"))
  .map(([value, more]) => {
    const [mantissa = "", exponent] = String(Object.is(value, -0) ? 0 : value).split("e");
    const point = mantissa.includes(".") ? "" : ".0";
    return `${mantissa}${more === "" ? "" : point + more}${exponent === undefined ? "" : `e${exponent}`}`;
  });
const anyNumber = fc.oneof(jsonNumber, nearDouble);

const isTaken = (token: string): boolean => {
  try {
    parseStrictJson(`[${token}]`);
    return true;
  } catch (error) {
    expect(error).toBeInstanceOf(RangeError);
    return false;
  }
};

describe("numbers", () => {
  it("are taken exactly if RFC 8785 prints the value that was sent, by whole-number arithmetic", () => {
    fc.assert(
      fc.property(anyNumber, (token) => {
        const value = Number(token);
        const sent = toFraction(token);
        const isExact = Number.isFinite(value) && isEqual(toFraction(canonicalJson(value)), sent);
        expect([token, isTaken(token)]).toEqual([token, isExact]);
      }),
      { numRuns: 1_500 },
    );
  });

  it("become the nearest double, so that what is refused has no better spelling", () => {
    fc.assert(
      fc.property(anyNumber, (token) => {
        const value = Number(token);
        if (!Number.isFinite(value)) return;
        const sent = toFraction(token);
        const kept = distance(sent, doubleToFraction(value));
        const bits = new DataView(new ArrayBuffer(8));
        for (const step of [-1n, 1n]) {
          bits.setFloat64(0, Math.abs(value));
          bits.setBigInt64(0, bits.getBigInt64(0) + step);
          const neighbour = Math.sign(value) < 0 ? -bits.getFloat64(0) : bits.getFloat64(0);
          if (!Number.isFinite(neighbour)) continue;
          expect([token, isCloser(distance(sent, doubleToFraction(neighbour)), kept)]).toEqual([
            token,
            false,
          ]);
        }
      }),
      { numRuns: 1_000 },
    );
  });

  it.each([
    "0",
    "-0",
    "-0.0e7",
    "1.0",
    "100e-2",
    "1e22",
    "1E30",
    "1e+30",
    "0.1",
    "-12.50",
    "9007199254740991",
    "9007199254740992",
    "9007199254740994",
    "123456789012345680000",
    "5e-324",
    "1.7976931348623157e308",
    "0.00000000000000000000000000000000000001",
    "0e999999999999",
    "1e00000000000000000001",
  ])("takes %s", (token) => {
    expect(findRounding(token)).toBeNull();
    expect(isTaken(token)).toBe(true);
  });

  it.each([
    ["1234567890123456.78", "1234567890123456.8"],
    ["9007199254740993", "9007199254740992"],
    ["-9007199254740993", "-9007199254740992"],
    ["0.10000000000000001", "0.1"],
    ["0.3000000000000000444", "0.30000000000000004"],
    ["1e-400", "0"],
    ["-1e-400", "0"],
    ["3e-324", "5e-324"],
    ["1e400", "Infinity"],
    ["-1e400", "Infinity"],
    ["1.7976931348623158e308", "1.7976931348623157e+308"],
    ["12345678901234567890", "12345678901234567000"],
    ["1e9999999999999999999999", "Infinity"],
    ["1e-9999999999999999999999", "0"],
  ])("refuses %s, which would become %s", (token, printed) => {
    expect(findRounding(token)).toBe(printed);
    expect(isTaken(token)).toBe(false);
  });

  it("cost linear time, whatever their digits and exponent", async () => {
    const zeros = "0".repeat(450_000);
    const work = () => {
      expect(isTaken(`1${zeros}e-450000`)).toBe(true);
      expect(isTaken(`0.${zeros}1e450001`)).toBe(true);
      expect(isTaken(`1.${zeros}1${zeros}`)).toBe(false);
      expect(isTaken("1e999999999")).toBe(false);
      expect(isTaken(`1e-${"9".repeat(450_000)}`)).toBe(false);
      expect(isTaken(`0e${"9".repeat(450_000)}`)).toBe(true);
    };
    expect(await shortestMs(2_000, () => measureMs(work))).toBeLessThan(2_000);
  });
});
