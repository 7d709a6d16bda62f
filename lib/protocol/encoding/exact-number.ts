/**
 * Detects JSON numbers that change their value in parsing. A double keeps the nearest of its values, and RFC 8785
 * prints the shortest decimal that leads back to it: 1234567890123456.78 comes out as 1234567890123456.8. What is
 * signed must be what was sent, so a number is exact if and only if the printed decimal has its very value.
 */

/** ±0.digits × 10^exponent, with neither a leading nor a trailing zero digit; no digits for zero. */
interface Decimal {
  isNegative: boolean;
  digits: string;
  exponent: number;
}

/** In linear time, whatever the exponent: nothing is ever written out. `text`: a number in JSON's grammar. */
function parseDecimal(text: string): Decimal {
  const isNegative = text.startsWith("-");
  const exponentAt = Math.max(text.indexOf("e"), text.indexOf("E"));
  const exponent = exponentAt < 0 ? 0 : Number(text.slice(exponentAt + 1));
  const mantissa = text.slice(isNegative ? 1 : 0, exponentAt < 0 ? text.length : exponentAt);
  const pointAt = mantissa.indexOf(".");
  const wholeLength = pointAt < 0 ? mantissa.length : pointAt;
  const all = pointAt < 0 ? mantissa : mantissa.slice(0, pointAt) + mantissa.slice(pointAt + 1);
  let start = 0;
  let end = all.length;
  while (all[start] === "0") start += 1;
  if (start === end) return { isNegative: false, digits: "", exponent: 0 };
  while (all[end - 1] === "0") end -= 1;
  // Beyond 2^53 the exponent is rounded, and yet as far from every double's as before.
  const point = wholeLength - start + exponent;
  return { isNegative, digits: all.slice(start, end), exponent: point };
}

/** Returns the RFC 8785 spelling of the value that the number is rounded to, or "Infinity"; null if it is exact. */
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

/**
 * Fast path: a double keeps any 15 significant digits of a magnitude far from its bounds, so nearly all numbers are
 * exact at a glance. False says nothing.
 */
export function isPlainlyExact(text: string, start: number, end: number): boolean {
  let [first, last, mantissaEnd] = [-1, -1, end];
  for (let at = start; at < end && mantissaEnd === end; at += 1) {
    const code = text.charCodeAt(at);
    if (code === 0x65 || code === 0x45) mantissaEnd = at;
    else if (code >= 0x31 && code <= 0x39) {
      if (first < 0) first = at;
      last = at;
    }
  }
  // An exponent of two characters is at most 99.
  return last - first < 15 && mantissaEnd - start <= 100 && end - mantissaEnd <= 3;
}
