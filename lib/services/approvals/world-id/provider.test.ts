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
  it("names the setting when the key is missing, malformed or for another number of inputs", async () => {
    for (const bad of ["/nowhere/key.json", "{", "{}", JSON.stringify(semaphoreDepth30KeyJson)]) {
      await expect(readV4VerifyingKey(bad)).rejects.toThrow("WORLD_ID_V4_VERIFYING_KEY");
    }
  });

  it.each([
    ["one of our own", JSON.stringify(makeTrapdoorKey(15).json)],
    ...listVectors("world-id/vk_v4.json"),
  ])("reads a key from a file and from text: %s", async (_, text) => {
    const file = path.join(folder, "key.json");
    writeFileSync(file, text);
    const key = await readV4VerifyingKey(text);
    expect(key.IC).toHaveLength(16);
    expect(await readV4VerifyingKey(file)).toEqual(key);
    const [first, ...rest] = JSON.parse(text).IC;
    const bent = JSON.stringify({ ...JSON.parse(text), IC: [[first[0], first[0]], ...rest] });
    await expect(readV4VerifyingKey(bent)).rejects.toThrow("WORLD_ID_V4_VERIFYING_KEY");
  });
});
