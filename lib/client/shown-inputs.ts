/** What an action acts on, as the human reads it: all of it, or nothing is asked. */
import { canonicalJson, isJsonObject, type JsonValue } from "#lib/core/encoding/canonical-json";

/** Of AuthorizeRequest (docs/wire.md, Authorization requests). */
const [maxEntries, maxNameLength, maxValueLength] = [32, 64, 1_024];

/** Room for what `nameApart` and `split` add. */
const maxFieldLength = maxNameLength - 20;

/**
 * `beside`: what else the human should see, which no input can take the place of. Throws if there is no place for all of
 * it: people approve only what is shown.
 */
export function showInputs(inputs: unknown, beside: Record<string, string>): Record<string, string> {
  const own = Object.entries(beside);
  const whole: Field = ["arguments", canonicalJson(inputs as JsonValue)];
  for (const fields of [listFields(inputs), [whole]]) {
    const entries = [...own, ...fields.map((field) => nameApart(field, beside)).flatMap(split)];
    const names = new Set(entries.map(([name]) => name));
    if (fields.length > 0 && entries.length <= maxEntries && names.size === entries.length)
      return Object.fromEntries(entries);
  }
  throw new Error("the arguments are too long to be shown to a human, so they can't be approved");
}

type Field = [name: string, text: string];

/** Each member under its name; none if they have no names that fit. */
function listFields(inputs: unknown): Field[] {
  const fields = isJsonObject(inputs) ? Object.entries(inputs) : [];
  const fits = ([name]: [string, unknown]) => name !== "" && [...name].length <= maxFieldLength;
  if (!fields.every(fits)) return [];
  return fields.map(([name, value]) => [
    name,
    typeof value === "string" ? value : canonicalJson(value ?? null),
  ]);
}

const nameApart = ([name, text]: Field, beside: Record<string, string>): Field => [
  Object.hasOwn(beside, name) ? `${name} (argument)` : name,
  text,
];

function split([name, text]: Field): Field[] {
  const characters = [...text];
  const count = Math.ceil(characters.length / maxValueLength);
  if (count <= 1) return [[name, text]];
  return Array.from({ length: count }, (_, at) => [
    `${name} (${String(at + 1).padStart(2, "0")}/${count})`,
    characters.slice(at * maxValueLength, (at + 1) * maxValueLength).join(""),
  ]);
}
