/** For tests: values made from a JSON Schema of the OpenAPI document. Valid, but for what a schema can't say. */
import fc from "fast-check";
import type { JsonObject, JsonValue } from "#lib/protocol/encoding/canonical-json";

interface Schema {
  $ref?: string;
  type?: string;
  enum?: JsonValue[];
  const?: JsonValue;
  anyOf?: Schema[];
  oneOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: Schema | boolean;
  propertyNames?: Schema;
  items?: Schema;
  minItems?: number;
  maxItems?: number;
  uniqueItems?: boolean;
  pattern?: string;
  format?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
}

const maxItems = 4;
const json = fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<JsonValue>;

export function valuesOf(document: JsonObject, schema: object): fc.Arbitrary<JsonValue> {
  const make = (one: Schema): fc.Arbitrary<JsonValue> => {
    // It contains itself.
    if (one.$ref === "#/components/schemas/JsonValue") return json;
    if (one.$ref !== undefined) return make(resolve(document, one.$ref));
    if (one.const !== undefined) return fc.constant(one.const);
    if (one.enum !== undefined) return fc.constantFrom(...one.enum);
    const choices = one.anyOf ?? one.oneOf;
    if (choices !== undefined) return fc.oneof(...choices.map(make));
    switch (one.type) {
      case "string":
        return makeText(one);
      case "integer":
        return fc.integer({ min: one.minimum ?? -1_000, max: one.maximum ?? 1_000_000 });
      case "number":
        return fc.double({ min: one.minimum ?? -1e6, max: one.maximum ?? 1e6, noNaN: true });
      case "boolean":
        return fc.boolean();
      case "null":
        return fc.constant(null);
      case "array":
        return makeArray(one);
      case "object":
        return makeObject(one);
      default:
        return json;
    }
  };
  const makeArray = (one: Schema): fc.Arbitrary<JsonValue> => {
    const size = { minLength: one.minItems ?? 0, maxLength: Math.min(maxItems, one.maxItems ?? maxItems) };
    const item = one.items === undefined ? json : make(one.items);
    return one.uniqueItems ? fc.uniqueArray(item, size) : fc.array(item, size);
  };
  const makeObject = (one: Schema): fc.Arbitrary<JsonValue> => {
    const { properties = {}, required = [], additionalProperties: more } = one;
    const known = Object.fromEntries(Object.entries(properties).map(([name, inner]) => [name, make(inner)]));
    const named = fc.record(known, { requiredKeys: required });
    if (more === undefined || more === false || Object.keys(properties).length > 0) return named;
    const names = makeText(one.propertyNames ?? { maxLength: 20 });
    return fc.dictionary(names, more === true ? json : make(more), { maxKeys: maxItems });
  };
  return make(schema as Schema);
}

function makeText({ pattern, format, minLength = 0, maxLength = 200 }: Schema): fc.Arbitrary<string> {
  if (format === "uuid") return fc.uuid();
  if (format === "uri") return fc.webUrl();
  if (format === "email") return fc.emailAddress();
  if (format === "date-time")
    return fc
      .date({ noInvalidDate: true, min: new Date(0), max: new Date("2100-01-01") })
      .map((date) => date.toISOString());
  const fits = (text: string) => [...text].length >= minLength && [...text].length <= maxLength;
  if (pattern !== undefined) return fc.stringMatching(new RegExp(pattern, "u")).filter(fits);
  return graphemes(minLength, Math.min(maxLength, minLength + 40)).filter(fits);
}

const knownGraphemes = new Map<string, fc.Arbitrary<string>>();

/** Each makes a list of all graphemes, and the document has hundreds of texts with the same few lengths. */
function graphemes(minLength: number, maxLength: number): fc.Arbitrary<string> {
  const name = `${minLength} ${maxLength}`;
  const made = knownGraphemes.get(name) ?? fc.string({ minLength, maxLength, unit: "grapheme" });
  knownGraphemes.set(name, made);
  return made;
}

function resolve(document: JsonObject, reference: string): Schema {
  const steps = reference.replace("#/", "").split("/");
  return steps.reduce((at, name) => (at as JsonObject)[name] as JsonValue, document as JsonValue) as Schema;
}
