import { expect, it } from "vitest";
import { parseSearched } from "./mixed-script";

const id = "01990000-0000-7000-8000-00000000abcd";
const hex = "ab".repeat(32);

it.each([
  [id, { kind: "attestation_id", id }],
  [` https://example.com/verify/bot/${id.toUpperCase()}?x `, { kind: "attestation_id", id }],
  [hex, { kind: "hash", hex }],
  [`sha256:${hex.toUpperCase()}`, { kind: "hash", hex }],
  ["areq_0123456789abcdefghijkl", { kind: "request_id", id: "areq_0123456789abcdefghijkl" }],
  [" 42 ", { kind: "log_index", index: 42 }],
  ["0", { kind: "log_index", index: 0 }],
])("finds in %j what it names", (text, searched) => {
  expect(parseSearched(text)).toEqual(searched);
});

it.each(["", "bot", `${hex}0`, hex.slice(1), "-1", "1.5", "1".repeat(16), "areq_short"])(
  "finds nothing in %j",
  (text) => {
    expect(parseSearched(text)).toBeNull();
  },
);
