/**
 * Whether a JSON number means after parsing what it meant before. A double keeps the nearest of its values, and RFC
 * 8785 prints the shortest decimal that leads back to it: 1234567890123456.78 comes out as 1234567890123456.8. What
 * is signed must be what was sent, so a number is exact if and only if the printed decimal has its very value.
 */

/** ±0.digits × 10^exponent, with neither a leading nor a trailing zero digit; no digits for zero. */
interface Decimal {
  isNegative: boolean;
  digits: string;
  exponent: number;
}

const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** In linear time, whatever the exponent: nothing is ever written out. `text`: a number in JSON's grammar. */
function parseDecimal(text: string): Decimal {
  const [, sign, whole = "", fraction = "", exponent = "0"] = NUMBER.exec(text) ?? [];
  const all = whole + fraction;
  let start = 0;
  let end = all.length;
  while (all[start] === "0") start += 1;
  if (start === end) return { isNegative: false, digits: "", exponent: 0 };
  while (all[end - 1] === "0") end -= 1;
  // Beyond 2^53 the exponent is rounded, and yet as far from every double's as before.
  const point = whole.length - start + Number(exponent);
  return { isNegative: sign === "-", digits: all.slice(start, end), exponent: point };
}

/** What the number becomes if that is another value: its RFC 8785 spelling, or "Infinity"; else null. */
export function findRounding(token: string): string | null {
  const value = Number(token);
  if (!Number.isFinite(value)) return "Infinity";
  const printed = String(value);
  if (printed === token) return null;
  const [sent, kept] = [parseDecimal(token), parseDecimal(printed)];
  const isSame =
    sent.digits === kept.digits && sent.exponent === kept.exponent && sent.isNegative === kept.isNegative;
  return isSame ? null : printed;
}
