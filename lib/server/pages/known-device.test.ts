/** Addresses for which a known browser may ask for links when strangers have used them up. */
import { expect, it } from "vitest";
import type { HttpContext } from "#lib/api/http/context";
import { findKnownDevice, markDevice } from "./session";

let made = 0;
const contextOf = (secret: number) =>
  ({
    secrets: { knownDevice: new Uint8Array(32).fill(secret) },
    random: (length: number) => {
      made += 1;
      return new Uint8Array(length).fill(made);
    },
  }) as unknown as HttpContext;
const context = contextOf(1);

it("knows a browser by the address that signed in there, however it is capitalized", () => {
  const mark = markDevice(context, "Ana@example.com");
  expect(findKnownDevice(context, "ana@example.com", mark)).not.toBeNull();
  expect(findKnownDevice(context, "bo@example.com", mark)).toBeNull();
});

it("tells two browsers of one address apart", () => {
  const ids = [1, 2].map(() => findKnownDevice(context, "a@b.example", markDevice(context, "a@b.example")));
  expect(new Set(ids).size).toBe(2);
});

it("knows no browser by a mark that this service did not make", () => {
  const mark = markDevice(context, "ana@example.com");
  for (const other of [
    undefined,
    "",
    "x",
    `${mark.slice(0, -1)}?`,
    mark.replace(/^./, (c) => (c === "A" ? "B" : "A")),
  ])
    expect(findKnownDevice(context, "ana@example.com", other)).toBeNull();
  expect(findKnownDevice(contextOf(2), "ana@example.com", mark)).toBeNull();
});
