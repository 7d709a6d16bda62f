import { expect, it } from "vitest";
import { scopeNames } from "./key-choices";
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
