import { readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { semaphoreDepth16KeyJson, semaphoreDepth30KeyJson, semaphoreKeyFor } from "./world-id-keys";

const published = JSON.parse(
  readFileSync(
    path.resolve(process.cwd(), "node_modules/@semaphore-protocol/proof/src/verificationKeys.json"),
    "utf8",
  ),
) as Record<"vk_alpha_1", string[]> &
  Record<"vk_beta_2" | "vk_gamma_2", string[][]> &
  Record<"vk_delta_2" | "IC", string[][][]>;

const affine = (point: string[]) => point.slice(0, 2);

describe("the copied verification keys", () => {
  it.each([
    ["depth 30", 14, semaphoreDepth30KeyJson],
    ["depth 16", 0, semaphoreDepth16KeyJson],
  ] as const)("%s is the package's key of index %i", (_, index, copy) => {
    expect(copy).toEqual({
      vk_alpha_1: affine(published.vk_alpha_1),
      vk_beta_2: published.vk_beta_2.slice(0, 2),
      vk_gamma_2: published.vk_gamma_2.slice(0, 2),
      vk_delta_2: published.vk_delta_2[index]?.slice(0, 2),
      IC: published.IC[index]?.map(affine),
    });
  });

  it("gives the stand-in another key than World", () => {
    expect(semaphoreKeyFor("production").delta.equals(semaphoreKeyFor("local").delta)).toBe(false);
    expect(semaphoreKeyFor("production").delta.equals(semaphoreKeyFor("staging").delta)).toBe(true);
    expect(semaphoreKeyFor("production").ic).toHaveLength(5);
  });
});
