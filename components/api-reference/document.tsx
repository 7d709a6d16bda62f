/** The parts of the OpenAPI document that the reference reads, and their words. */
import { buildOpenApi } from "#lib/api/openapi";

export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: boolean | Schema;
  readonly required?: readonly string[];
}

interface Content {
  readonly [mediaType: string]: { readonly schema?: Schema; readonly example?: unknown };
}

export interface Operation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tags: readonly string[];
  readonly security: readonly object[];
  readonly parameters: readonly {
    readonly name: string;
    readonly in: string;
    readonly required?: boolean;
    readonly description?: string;
    readonly schema: Schema;
  }[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content?: Content }>>;
}

export interface OpenApiDocument {
  readonly tags: readonly { readonly name: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
  readonly servers: readonly { readonly url: string }[];
}

/** `base` without a trailing slash. */
export const readDocument = (base: string) => buildOpenApi(base) as unknown as OpenApiDocument;

export function refName(schema: Schema): string | null {
  return schema.$ref?.split("/").at(-1) ?? null;
}

function describeBounds({ minLength, maxLength, minimum, maximum, minItems, maxItems }: Schema): string[] {
  const isSafe = (value: number | undefined) =>
    value !== undefined && Math.abs(value) < Number.MAX_SAFE_INTEGER;
  const range = (min: number | undefined, max: number | undefined, unit: string) => {
    if (!isSafe(min) && !isSafe(max)) return [];
    const bounds =
      isSafe(min) && isSafe(max) ? `${min}–${max}` : isSafe(max) ? `at most ${max}` : `at least ${min}`;
    return [`${bounds}${unit}`];
  };
  return [
    ...range(minLength, maxLength, " characters"),
    ...range(minimum, maximum, ""),
    ...range(minItems, maxItems, " entries"),
  ];
}

/** Describes a type in a line: "string, 1–64 characters", "array of Check", "string or null". */
export function describeType(schema: Schema): string {
  const name = refName(schema);
  if (name !== null) return name;
  const alternatives = schema.anyOf ?? schema.oneOf;
  if (alternatives) return [...new Set(alternatives.map(describeType))].join(" or ");
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  const types = typeof schema.type === "string" ? [schema.type] : (schema.type ?? ["any"]);
  const words = types.map((type) =>
    type === "array" && schema.items ? `array of ${describeType(schema.items)}` : type,
  );
  const suffix = schema.default === undefined ? [] : [`default ${JSON.stringify(schema.default)}`];
  return [
    words.join(" or "),
    ...(schema.format ? [schema.format] : []),
    ...describeBounds(schema),
    ...suffix,
  ].join(", ");
}

/** The component that a type names, itself or in its array. */
function linkedSchema(schema: Schema): string | null {
  const inside = [schema, schema.items, ...(schema.anyOf ?? []), ...(schema.oneOf ?? [])];
  return inside.flatMap((one) => (one ? (refName(one) ?? []) : [])).at(0) ?? null;
}

/** The object behind a field: written there, named, or in an array or a choice. */
export function innerSchema(
  schema: Schema,
  document: OpenApiDocument,
): { name: string | null; schema: Schema } | null {
  const written = [schema, schema.items, ...(schema.anyOf ?? [])].find(
    (one) => one?.properties !== undefined,
  );
  if (written) return { name: null, schema: written };
  const name = linkedSchema(schema);
  const named = name === null ? undefined : document.components.schemas[name];
  return named === undefined ? null : { name, schema: named };
}
