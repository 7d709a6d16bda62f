import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { semaphoreDepth30KeyJson } from "#lib/domain/world-id-keys";
import { readV4VerifyingKey } from "./world-id-v4-key";

const vectors = process.env["COUNTERSIGN_VECTORS"] ?? path.resolve(process.cwd(), "../shared/vectors");
const file = path.join(vectors, "world-id/vk_v4.json");

describe("readV4VerifyingKey", () => {
  it("names the setting when the key is missing, malformed or for another number of inputs", () => {
    for (const bad of ["/nowhere/key.json", "{", "{}", JSON.stringify(semaphoreDepth30KeyJson)]) {
      expect(() => readV4VerifyingKey(bad)).toThrow("WORLD_ID_V4_VERIFYING_KEY");
    }
  });

  it.skipIf(!existsSync(file))("reads World's key from a file and from text", () => {
    const text = readFileSync(file, "utf8");
    expect(readV4VerifyingKey(file)).toEqual(readV4VerifyingKey(text));
    const [first, ...rest] = JSON.parse(text).IC;
    const bent = JSON.stringify({ ...JSON.parse(text), IC: [[first[0], first[0]], ...rest] });
    expect(() => readV4VerifyingKey(bent)).toThrow("WORLD_ID_V4_VERIFYING_KEY");
  });
});
