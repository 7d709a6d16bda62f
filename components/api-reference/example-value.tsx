/** An example that a schema describes: the schema's own if it has one, else the plainest value that fits. */
import { findExample, pathExamples } from "#lib/api/operations/examples";
import { type OpenApiDocument, refName, type Schema } from "./document";

export type ExampleValue = unknown;

const uuid = "01990000-0000-7000-8000-000000000000";
const timestamp = "2026-11-22T09:15:22.285Z";
const hex = "3b9c358f36f0a31b6ad3e14f309c7cf198ac9246e8316f9ce543d5b19ac02b80";

/** Example values by the name of a path's part or a field. */
const byName: Readonly<Record<string, string>> = {
  ...pathExamples,
  attestation_id: uuid,
  agent_slug: "invoice-bot",
  action: "Pay invoice 1042",
  inputs_hash: `sha256:${hex}`,
  key_id: hex.slice(0, 16),
  signature: `${"A".repeat(86)}==`,
  envelope_signature: `${"A".repeat(86)}==`,
  public_url: `https://countersign.example/verify/invoice-bot/${uuid}`,
  approval_url: "https://countersign.example/approve/…",
  payload: '{"_type":"https://in-toto.io/Statement/v1",…}',
  model_id: "example-model-1",
  currency: "EUR",
  timestamp,
  created_at: timestamp,
};

const formats: Readonly<Record<string, string>> = {
  uuid,
  "date-time": timestamp,
  date: "2026-11-22",
  email: "you@example.com",
  uri: "https://example.com/",
};

function exampleText(schema: Schema, name: string): string {
  const ofFormat = schema.format === undefined ? undefined : formats[schema.format];
  return findExample(schema, byName[name], ofFormat, "text") ?? "text";
}

function exampleObject(schema: Schema, document: OpenApiDocument, depth: number): object {
  const required = new Set(schema.required);
  const shown = Object.entries(schema.properties ?? {}).filter(([name]) => depth > 0 || required.has(name));
  return Object.fromEntries(
    shown.map(([name, field]) => [name, buildExample(field, document, name, depth - 1)]),
  );
}

/** `depth`: how many levels show optional fields too. */
export function buildExample(schema: Schema, document: OpenApiDocument, name = "", depth = 3): ExampleValue {
  const ref = refName(schema);
  if (ref !== null) {
    const named = document.components.schemas[ref];
    return named === undefined || depth < -4 ? {} : buildExample(named, document, name, depth);
  }
  if (schema.examples?.[0] !== undefined) return schema.examples[0];
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return schema.enum[0];
  const [first] = schema.anyOf ?? schema.oneOf ?? schema.allOf ?? [];
  if (first && schema.properties === undefined) return buildExample(first, document, name, depth);
  const type = typeof schema.type === "string" ? schema.type : schema.type?.[0];
  if (type === "object" || schema.properties) return exampleObject(schema, document, depth);
  if (type === "array") {
    const items = schema.items && depth > -3 ? [buildExample(schema.items, document, name, depth - 1)] : [];
    return schema.maxItems === 0
      ? []
      : Array.from({ length: Math.max(1, schema.minItems ?? 1) }, () => items[0]);
  }
  if (type === "integer" || type === "number") return Math.max(1, schema.minimum ?? 1);
  if (type === "boolean") return true;
  return type === "null" ? null : exampleText(schema, name);
}

/** The path with an example for each of its parts. */
export const examplePath = (path: string): string =>
  path.replaceAll(/\{(\w+)\}/g, (_, name: string) => byName[name] ?? name);
