import { expect, it } from "vitest";
import { buildOpenApi } from "./openapi";

it("is made once for an address: who asks for it again costs nothing", () => {
  const document = buildOpenApi("https://one.example");
  expect(buildOpenApi("https://one.example")).toBe(document);
  expect(buildOpenApi("https://two.example")).toMatchObject({ servers: [{ url: "https://two.example" }] });
});
