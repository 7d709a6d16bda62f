/**
 * JSON in which no two readers can see two documents: no duplicate names, well-formed strings, numbers
 * that keep their value, bounded depth. `JSON.parse` alone keeps the last of two equal names and
 * the nearest double of a number, silently.
 */
import type { JsonValue } from "./canonical-json";

/*
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

/** Parses in linear time, whatever the exponent: nothing is ever written out. `text`: a number in JSON's grammar. */
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
function isPlainlyExact(text: string, start: number, end: number): boolean {
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

const MAX_DEPTH = 32;
/** No request has more bytes (lib/api/http/pipeline.ts). */
const MAX_CHARACTERS = 1024 * 1024;

export interface JsonLimits {
  maxCharacters?: number;
  /** Names and values together, counted before anything is made of them. */
  maxTokens?: number;
  /** The text was decoded from UTF-8. */
  isWellFormed?: boolean | undefined;
}

/** Throws RangeError with a message that is safe to show, or JSON.parse's SyntaxError, which quotes the text. */
export function parseStrictJson(text: string, limits: JsonLimits = {}): JsonValue {
  const { maxCharacters = MAX_CHARACTERS, maxTokens = Number.POSITIVE_INFINITY, isWellFormed } = limits;
  if (text.length > maxCharacters)
    throw new RangeError(`longer than ${maxCharacters.toLocaleString("en")} characters`);
  if (!isWellFormed && !text.isWellFormed()) throw new RangeError("not well-formed Unicode");
  const { names, numbers } = scan(text, maxTokens);
  const value = JSON.parse(text) as JsonValue;
  for (const number of numbers) checkNumber(number);
  // JSON.parse has kept one of two equal names, whose values are gone with the names in them.
  if (checkStrings(value, text.includes("\\u")) !== names)
    throw new RangeError("a name occurs twice in one object");
  return value;
}

const [space, quote, comma, minus, colon, backslash] = [0x20, 0x22, 0x2c, 0x2d, 0x3a, 0x5c] as const;
const isOpening = (code: number) => code === 0x5b || code === 0x7b;
const isClosing = (code: number) => code === 0x5d || code === 0x7d;
const isDigit = (code: number) => code >= 0x30 && code <= 0x39;
const isLetter = (code: number) => (code | 0x20) >= 0x61 && (code | 0x20) <= 0x7a;

/** Counts the names, and finds the numbers that may be rounded. The text need not be JSON: then the result is void. */
function scan(text: string, maxTokens: number): { names: number; numbers: string[] } {
  const numbers: string[] = [];
  let [depth, names, tokens] = [0, 0, 0];
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code <= space || code === comma) continue;
    if (code === quote) {
      tokens += 1;
      at = findStringEnd(text, at);
    } else if (code === colon) names += 1;
    else if (isOpening(code)) {
      depth += 1;
      tokens += 1;
      if (depth > MAX_DEPTH) throw new RangeError("nested too deeply");
    } else if (isClosing(code)) depth -= 1;
    else if (isDigit(code) || code === minus || isLetter(code)) {
      const start = at;
      tokens += 1;
      at = findWordEnd(text, at);
      if (!isLetter(code) && !isPlainlyExact(text, start, at + 1)) numbers.push(text.slice(start, at + 1));
    }
    if (tokens > maxTokens)
      throw new RangeError(`more than ${maxTokens.toLocaleString("en")} names and values`);
  }
  return { names, numbers };
}

function findStringEnd(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let before = end - 1;
    while (text.charCodeAt(before) === backslash) before -= 1;
    if ((end - before) % 2 === 1) return end;
  }
  return text.length;
}

/** The last character of a number, `true`, `false` or `null`. */
function findWordEnd(text: string, start: number): number {
  let at = start + 1;
  for (; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    // Includes `+`, `-` and `.`, of which JSON has none between values.
    if (!isDigit(code) && !isLetter(code) && code !== 0x2b && code !== minus && code !== 0x2e) break;
  }
  return at - 1;
}

/** Returns how many names there are. A lone surrogate in well-formed text is written with a backslash. */
function checkStrings(value: JsonValue, hasEscapes: boolean): number {
  if (typeof value === "string" && hasEscapes && !value.isWellFormed())
    throw new RangeError("a string with a lone surrogate");
  if (typeof value !== "object" || value === null) return 0;
  let count = 0;
  if (Array.isArray(value)) for (const member of value) count += checkStrings(member, hasEscapes);
  else
    for (const name of Object.keys(value)) {
      // An object that is copied member by member would lose it, and two documents would get one hash.
      if (name === "__proto__") throw new RangeError("a name is __proto__");
      count += 1 + checkStrings(name, hasEscapes) + checkStrings(value[name] as JsonValue, hasEscapes);
    }
  return count;
}

const MAX_SHOWN_DIGITS = 40;

function checkNumber(token: string): void {
  const rounded = findRounding(token);
  if (rounded === null) return;
  const shown = token.length > MAX_SHOWN_DIGITS ? `${token.slice(0, MAX_SHOWN_DIGITS)}…` : token;
  throw new RangeError(`the number ${shown} would become ${rounded}: send it as a string`);
}
