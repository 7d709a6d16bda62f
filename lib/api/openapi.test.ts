import { describe, expect, it } from "vitest";
import { scopeNames } from "#lib/api/schemas/key-choices";
import { buildOpenApi } from "./openapi";

it("is made once for an address: who asks for it again costs nothing", () => {
  const document = buildOpenApi("https://one.example");
  expect(buildOpenApi("https://one.example")).toBe(document);
  expect(buildOpenApi("https://two.example")).toMatchObject({ servers: [{ url: "https://two.example" }] });
});

it("says what a key may be allowed, and that an agent's attestations come as a JSON Feed too", () => {
  // biome-ignore lint/suspicious/noExplicitAny: the document is read freely
  const { paths, components } = buildOpenApi("https://one.example") as any;
  for (const name of scopeNames)
    expect(components.securitySchemes.bearer.description).toContain(`\`${name}\``);
  const { description, responses } = paths["/v1/agent/{slug}"].get;
  expect(Object.keys(responses[200].content)).toEqual(["application/json", "application/feed+json"]);
  expect(description).toContain("`application/feed+json`");
});

// biome-ignore lint/suspicious/noExplicitAny: the document is read freely
const { paths, components } = buildOpenApi("https://one.example") as any;
const { schemas } = components;
const operations: (typeof paths)[] = Object.values(paths).flatMap((item) => Object.values(item as object));

/** Every schema in it, itself included; those that it names are followed once. */
function* listSchemas(part: unknown, seen = new Set<unknown>()): Generator<Record<string, unknown>> {
  if (typeof part !== "object" || part === null || seen.has(part)) return;
  seen.add(part);
  const schema = part as Record<string, unknown>;
  yield schema;
  const name = typeof schema["$ref"] === "string" ? schema["$ref"].split("/schemas/")[1] : undefined;
  if (name !== undefined) yield* listSchemas(schemas[name], seen);
  for (const member of Object.values(schema)) yield* listSchemas(member, seen);
}

describe("what generators of clients stumble over", () => {
  it("is a schema that refers to itself: there is none", () => {
    for (const [name, schema] of Object.entries(schemas)) {
      const names = [...listSchemas(Object.values(schema as object))].map(({ $ref }) => $ref);
      expect([name, names.includes(`#/components/schemas/${name}`)]).toEqual([name, false]);
    }
  });

  it("is a rule between fields, which makes them required of all", () => {
    const rules = ["anyOf", "oneOf", "not", "if", "dependentRequired", "dependentSchemas"];
    const kinds = [...listSchemas(schemas)].filter(
      (one) => "allOf" in one || ("properties" in one && rules.some((name) => name in one)),
    );
    expect(kinds).toEqual([]);
  });

  it("is a pattern in an answer, but for a request's own that it repeats", () => {
    const asked = new Set(
      operations.flatMap(({ requestBody, parameters }) => [...listSchemas([requestBody, parameters])]),
    );
    const answered = operations.flatMap(({ responses }) => [...listSchemas(responses)]);
    const patterns = answered.filter((one) => typeof one["pattern"] === "string" && !asked.has(one));
    expect(patterns).toEqual([]);
    for (const { pattern } of [...asked]) expect(String(pattern)).not.toContain("\\p{");
  });

  it("is a query parameter of several formats, or one that is needed and isn't marked", () => {
    const query = operations.flatMap(({ parameters }) => parameters).filter((one) => one.in === "query");
    expect(query.filter(({ schema }) => schema.anyOf !== undefined)).toEqual([]);
    expect(paths["/v1/search"].get.parameters).toMatchObject([{ name: "q", required: true }]);
    expect(paths["/v1/attestations"].get.parameters.some((one: object) => "required" in one)).toBe(false);
  });

  it("is a schema called as a generator calls an operation's own types", () => {
    const own = operations.flatMap(({ operationId }) =>
      ["Response", "Params", "JSONBody", "JSONRequestBody"].map((end) =>
        `${operationId}${end}`.replaceAll("_", "").toLowerCase(),
      ),
    );
    expect(Object.keys(schemas).filter((name) => own.includes(name.toLowerCase()))).toEqual([]);
  });

  it("is a constant of type number, or a set of values that have no name", () => {
    const all = [...listSchemas([schemas, ...operations])];
    expect(all.filter((one) => one["type"] === "number" && "const" in one)).toEqual([]);
    const sets = all.filter((one) => one["uniqueItems"] === true);
    expect(sets.filter(({ items }) => Object.hasOwn(items as object, "enum"))).toEqual([]);
    expect(sets).toContainEqual(
      expect.objectContaining({ items: { $ref: "#/components/schemas/WebhookEvent" } }),
    );
  });

  it("is a server of some operations alone", () => {
    expect(operations.filter((one) => "servers" in one)).toEqual([]);
    expect(paths["/log/{log}/checkpoint"].get.parameters[0]).toMatchObject({ name: "log", required: true });
  });
});
