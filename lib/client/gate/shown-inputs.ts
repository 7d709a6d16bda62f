/** Shows an action's inputs to the human: all of them, or nothing is asked. */

import { ApprovalMismatchError } from "#lib/client/api/errors";
import type { AuthorizationState, Details } from "#lib/client/api/wire";
import { type DetailType, listDetails, typeOfValue } from "#lib/protocol/approval/shown-content";
import {
  canonicalJson,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "#lib/protocol/encoding/canonical-json";

/** Limits of AuthorizeRequest (docs/wire.md, Authorization requests). */
const [maxEntries, maxNameLength, maxValueLength] = [32, 64, 1_024];

/** Room for what `nameApart` and `split` add. */
const maxFieldLength = maxNameLength - 20;

export interface ShownInputs {
  context: Record<string, string>;
  details: Details;
}

/**
 * `beside`: what else the human should see, which no input can take the place of. Throws if there is no place for all of
 * it: people approve only what is shown. `complete` unless a value is split, renamed or folded into a text of several, or
 * has no type that rules know.
 */
export function showInputs(inputs: unknown, beside: Record<string, string>): ShownInputs {
  const own = Object.entries(beside).map(([name, text]): Field => ({ name, text, type: "string" }));
  const listed = listFields(inputs);
  const isNothing = isJsonObject(inputs) && Object.keys(inputs).length === 0;
  const whole: Field = { name: "arguments", text: canonicalJson(inputs as JsonValue), type: undefined };
  for (const fields of [listed, [whole]]) {
    const shown = fields.map((field) => nameApart(field, beside)).flatMap(split);
    // A title begins with the first detail, which says what runs only if it is an argument.
    const entries = [...shown, ...own];
    const names = new Set(entries.map(({ name }) => name));
    if (fields.length === 0 || entries.length > maxEntries || names.size < entries.length) continue;
    const isWhole = fields.every((field, at) => shown[at]?.name === field.name && field.type !== undefined);
    return {
      context: Object.fromEntries(entries.map(({ name, text }) => [name, text])),
      details: {
        complete: isNothing || isWhole,
        types: Object.fromEntries(
          entries.flatMap(({ name, type }) => (type === undefined || type === "null" ? [] : [[name, type]])),
        ),
      },
    };
  }
  throw new Error("the arguments are too long to be shown to a human, so they can't be approved");
}

/** The inputs with an approver's changes, each of the type that it had; the hash of all of them is compared afterwards. */
export function amendInputs<Inputs>(
  inputs: Inputs,
  { amends, context }: Pick<AuthorizationState, "amends" | "context">,
): Inputs {
  if (!amends) return inputs;
  if (context === undefined || !isJsonObject(inputs)) throw new ApprovalMismatchError("inputs_hash");
  const changed: JsonObject = { ...inputs };
  for (const name of listDetails(amends.fields)) {
    const text = context[name];
    if (text === undefined || !Object.hasOwn(changed, name)) throw new ApprovalMismatchError("inputs_hash");
    changed[name] = typeof changed[name] === "string" ? text : (JSON.parse(text) as JsonValue);
  }
  return changed as Inputs;
}

/** `type`: undefined for a value that only its text shows. */
interface Field {
  name: string;
  text: string;
  type: DetailType | "null" | undefined;
}

/** Each member under its name; empty if they have no names that fit. */
function listFields(inputs: unknown): Field[] {
  const fields = isJsonObject(inputs) ? Object.entries(inputs) : [];
  const fits = ([name]: [string, unknown]) => name !== "" && [...name].length <= maxFieldLength;
  if (!fields.every(fits)) return [];
  return fields.map(([name, value = null]) => {
    const text = typeof value === "string" ? value : canonicalJson(value);
    return { name, text, type: value === null ? "null" : typeOfValue(value, text) };
  });
}

const nameApart = (field: Field, beside: Record<string, string>): Field =>
  Object.hasOwn(beside, field.name) ? { ...field, name: `${field.name} (argument)` } : field;

function split({ name, text, type }: Field): Field[] {
  const characters = [...text];
  const count = Math.ceil(characters.length / maxValueLength);
  if (count <= 1) return [{ name, text, type }];
  return Array.from({ length: count }, (_, at) => ({
    name: `${name} (${String(at + 1).padStart(2, "0")}/${count})`,
    text: characters.slice(at * maxValueLength, (at + 1) * maxValueLength).join(""),
    type: undefined,
  }));
}
