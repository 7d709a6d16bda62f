/**
 * JSON in which no two readers can see two documents: no duplicate names, well-formed strings, numbers
 * that keep their value (exact-number.ts), bounded depth. `JSON.parse` alone keeps the last of two equal names and
 * the nearest double of a number, silently.
 */
import type { JsonValue } from "./canonical-json";
import { findRounding } from "./exact-number";

const MAX_DEPTH = 32;
/** No request has more bytes (lib/http/read-json-body.ts). */
const MAX_CHARACTERS = 1024 * 1024;
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\]:]|-?\d[\d.eE+-]*/g;

/** Throws RangeError with a message that is safe to show, or JSON.parse's SyntaxError, which quotes the text. */
export function parseStrictJson(text: string, maxCharacters: number = MAX_CHARACTERS): JsonValue {
  if (text.length > maxCharacters)
    throw new RangeError(`longer than ${maxCharacters.toLocaleString("en")} characters`);
  if (!text.isWellFormed()) throw new RangeError("not well-formed Unicode");
  const value = JSON.parse(text) as JsonValue;
  const written = checkTokens(text);
  // JSON.parse has kept one of two equal names, whose values are gone with the names in them.
  if (countNames(value) !== written) throw new RangeError("a name occurs twice in one object");
  return value;
}

/** On text that JSON.parse has accepted, so the tokens are known to be in order. Returns how many names there are. */
function checkTokens(text: string): number {
  let depth = 0;
  let names = 0;
  let lastString = "";
  for (const token of text.match(TOKEN) ?? []) {
    if (token === "{" || token === "[") {
      depth += 1;
      if (depth > MAX_DEPTH) throw new RangeError("nested too deeply");
    } else if (token === "}" || token === "]") depth -= 1;
    else if (token === ":") {
      // An object that is copied member by member would lose it, and two documents would get one hash.
      if (lastString === "__proto__") throw new RangeError("a name is __proto__");
      names += 1;
    } else if (token.startsWith('"')) {
      lastString = token.includes("\\") ? JSON.parse(token) : token.slice(1, -1);
      if (!lastString.isWellFormed()) throw new RangeError("a string with a lone surrogate");
    } else checkNumber(token);
  }
  return names;
}

function countNames(value: JsonValue): number {
  if (typeof value !== "object" || value === null) return 0;
  const members = Object.values(value);
  return members.reduce<number>(
    (sum, member) => sum + countNames(member),
    Array.isArray(value) ? 0 : members.length,
  );
}

const MAX_SHOWN_DIGITS = 40;

function checkNumber(token: string): void {
  const rounded = findRounding(token);
  if (rounded === null) return;
  const shown = token.length > MAX_SHOWN_DIGITS ? `${token.slice(0, MAX_SHOWN_DIGITS)}…` : token;
  throw new RangeError(`the number ${shown} would become ${rounded}: send it as a string`);
}
