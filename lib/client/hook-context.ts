/** A tool call, as the human reads it: all of its arguments, or nothing is asked. */
import { canonicalJson, isJsonObject, type JsonValue } from "#lib/domain/canonical-json";

/** Of AuthorizeRequest (docs/wire.md, Authorization requests). */
const [maxEntries, maxNameLength, maxValueLength] = [32, 64, 1_024];

/** `more`: what else the human should see. Throws if there is no place for all of it: nobody approves what isn't shown. */
export function describeArguments(input: JsonValue, more: Record<string, string>): Record<string, string> {
  const entries = [...Object.entries(more), ...listFields(input).flatMap(split)];
  if (entries.length > maxEntries)
    throw new Error("the arguments are too long to be shown to a human, so they can't be approved");
  const names = new Set(entries.map(([name]) => name));
  if (names.size < entries.length) throw new Error("two of the fields that a human would see have one name");
  return Object.fromEntries(entries);
}

type Field = [name: string, text: string];

/** Each argument under its name, or all of them as JSON if that would not fit. */
function listFields(input: JsonValue): Field[] {
  const fields = isJsonObject(input) ? Object.entries(input) : [];
  const fits = ([name]: [string, unknown]) => name !== "" && [...name].length <= maxNameLength - 10;
  if (fields.length === 0 || fields.length > maxEntries || !fields.every(fits))
    return [["arguments", canonicalJson(input)]];
  return fields.map(([name, value]) => [
    name,
    typeof value === "string" ? value : canonicalJson(value ?? null),
  ]);
}

function split([name, text]: Field): Field[] {
  const characters = [...text];
  const count = Math.ceil(characters.length / maxValueLength);
  if (count <= 1) return [[name, text]];
  return Array.from({ length: count }, (_, at) => [
    `${name} (${String(at + 1).padStart(2, "0")}/${count})`,
    characters.slice(at * maxValueLength, (at + 1) * maxValueLength).join(""),
  ]);
}
