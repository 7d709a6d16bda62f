/**
 * An event has one reading or none: who approves, what is matched and what runs must be the same call. Only what the
 * tool has put out may be anything, since a call that ran must be attested.
 */
import { isJsonObject, type JsonObject, type JsonValue } from "#lib/protocol/encoding/canonical-json";
import { parseStrictJson } from "#lib/protocol/encoding/strict-json";

export interface ParsedEvent {
  /** Strictly parsed; without its results. */
  event: JsonObject;
  /** Results, as `JSON.parse` reads them. */
  results: JsonObject;
}

/** Throws for what is no event. */
export function parseEvent(text: string, resultNames: readonly string[]): ParsedEvent {
  const whole = JSON.parse(text) as JsonValue;
  if (!isJsonObject(whole)) throw new Error("the event is no JSON object");
  const event = parseStrictJson(omitMembers(text, resultNames)) as JsonObject;
  const results = Object.entries(whole).filter(([name]) => resultNames.includes(name));
  return { event, results: Object.fromEntries(results) };
}

/** Omits members of an object that `JSON.parse` has accepted, so that only its depth must be followed. */
function omitMembers(text: string, names: readonly string[]): string {
  const kept: string[] = [];
  let [depth, begin] = [0, 0];
  let name: string | undefined;
  for (let at = text.indexOf("{"); at < text.length; at += 1) {
    const character = text[at];
    if (character === '"') {
      const end = endOfString(text, at);
      // The first string of a member is its name.
      name ??= JSON.parse(text.slice(at, end)) as string;
      at = end - 1;
    } else if (character === "{" || character === "[") {
      depth += 1;
      if (depth === 1) begin = at + 1;
    } else if (character === "}" || character === "]") depth -= 1;
    if (depth > 1 || (depth === 1 && character !== ",")) continue;
    if (name !== undefined && !names.includes(name)) kept.push(text.slice(begin, at));
    if (depth === 0) break;
    [begin, name] = [at + 1, undefined];
  }
  return `{${kept.join()}}`;
}

function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
  return at + 1;
}
