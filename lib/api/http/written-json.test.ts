import { expect, it } from "vitest";
import { SerializedJson } from "./problem";

it("writes any text in ASCII, and as the same value", () => {
  const value = { ключ: "an em dash — é \u{1f511} \u0000 \ud800", list: [1, null, "plain"] };
  const { text } = SerializedJson.of(value);
  expect(text).toMatch(/^[ -~]+$/);
  expect(JSON.parse(text)).toEqual(value);
});

it("writes an object around what was written before", () => {
  const value = { name: "é", none: null, list: [{ a: "ü" }, { b: 1 }], empty: [] };
  const written = SerializedJson.object({ ...value, list: value.list.map(SerializedJson.of) });
  expect(written.text).toMatch(/^[ -~]+$/);
  expect(JSON.parse(written.text)).toEqual(value);
});
