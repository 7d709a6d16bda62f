import { expect, it } from "vitest";
import { WrittenJson } from "./route";

it("writes any text in ASCII, and as the same value", () => {
  const value = { ключ: "an em dash — é \u{1f511} \u0000 \ud800", list: [1, null, "plain"] };
  const { text } = new WrittenJson(value);
  expect(text).toMatch(/^[ -~]+$/);
  expect(JSON.parse(text)).toEqual(value);
});
