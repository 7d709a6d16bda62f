/**
 * JSON in which no two readers can see two documents: no duplicate names, well-formed strings, numbers
 * that keep their value (exact-number.ts), bounded depth. `JSON.parse` alone keeps the last of two equal names and
 * the nearest double of a number, silently.
 */
import type { JsonValue } from "./canonical-json";
import { findRounding } from "./exact-number";

const MAX_DEPTH = 32;
const MAX_CHARACTERS = 1_000_000;
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\]:]|-?\d[\d.eE+-]*/g;

/** Throws RangeError with a message that is safe to show, or JSON.parse's SyntaxError, which quotes the text. */
export function parseStrictJson(text: string, maxDepth: number = MAX_DEPTH): JsonValue {
  if (text.length > MAX_CHARACTERS) throw new RangeError("longer than a million characters");
  if (!text.isWellFormed()) throw new RangeError("not well-formed Unicode");
  const value = JSON.parse(text) as JsonValue;
  checkTokens(text, maxDepth);
  return value;
}

/** On text that JSON.parse has accepted, so the tokens are known to be in order. */
function checkTokens(text: string, maxDepth: number): void {
  const scopes: Set<string>[] = [];
  let lastString = "";
  for (const [token] of text.matchAll(TOKEN)) {
    if (token === "{" || token === "[") {
      if (scopes.push(new Set()) > maxDepth) throw new RangeError("nested too deeply");
    } else if (token === "}" || token === "]") scopes.pop();
    else if (token === ":") addName(scopes.at(-1), lastString);
    else if (token.startsWith('"')) {
      lastString = JSON.parse(token);
      if (!lastString.isWellFormed()) throw new RangeError("a string with a lone surrogate");
    } else checkNumber(token);
  }
}

function addName(names: Set<string> | undefined, name: string): void {
  if (names?.has(name)) throw new RangeError("a name occurs twice in one object");
  // An object that is copied member by member would lose it, and two documents would get one hash.
  if (name === "__proto__") throw new RangeError("a name is __proto__");
  names?.add(name);
}

const MAX_SHOWN_DIGITS = 40;

function checkNumber(token: string): void {
  const rounded = findRounding(token);
  if (rounded === null) return;
  const shown = token.length > MAX_SHOWN_DIGITS ? `${token.slice(0, MAX_SHOWN_DIGITS)}…` : token;
  throw new RangeError(`the number ${shown} would become ${rounded}: send it as a string`);
}
