import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { semaphoreDepth30KeyJson } from "#lib/protocol/world-id/world-id-keys";
import { makeTrapdoorKey } from "#support/groth16";
import { listVectors } from "#support/vectors";
import { readV4VerifyingKey } from "./provider";

const folder = mkdtempSync(path.join(os.tmpdir(), "countersign-v4-key-"));
afterAll(() => rmSync(folder, { recursive: true }));

describe("readV4VerifyingKey", () => {
  it("names the setting when the key is missing, malformed or for another number of inputs", () => {
    for (const bad of ["/nowhere/key.json", "{", "{}", JSON.stringify(semaphoreDepth30KeyJson)]) {
      expect(() => readV4VerifyingKey(bad)).toThrow("WORLD_ID_V4_VERIFYING_KEY");
    }
  });

  it.each([
    ["one of our own", JSON.stringify(makeTrapdoorKey(15).json)],
    ...listVectors("world-id/vk_v4.json"),
  ])("reads a key from a file and from text: %s", (_, text) => {
    const file = path.join(folder, "key.json");
    writeFileSync(file, text);
    expect(readV4VerifyingKey(text).IC).toHaveLength(16);
    expect(readV4VerifyingKey(file)).toEqual(readV4VerifyingKey(text));
    const [first, ...rest] = JSON.parse(text).IC;
    const bent = JSON.stringify({ ...JSON.parse(text), IC: [[first[0], first[0]], ...rest] });
    expect(() => readV4VerifyingKey(bent)).toThrow("WORLD_ID_V4_VERIFYING_KEY");
  });
});
