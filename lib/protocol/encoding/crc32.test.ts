import { crc32 as nodes } from "node:zlib";
import fc from "fast-check";
import { expect, it } from "vitest";
import { crc32 } from "./zip";

it("is Node's own", () => {
  expect(crc32(new TextEncoder().encode("123456789"))).toBe(0xcbf43926);
  fc.assert(fc.property(fc.uint8Array({ maxLength: 2_000 }), (bytes) => crc32(bytes) === nodes(bytes)));
});
