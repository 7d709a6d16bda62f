import { tmpdir } from "node:os";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

describe("an install without the stand-in's packages", () => {
  const home = process.cwd();
  beforeEach(() => {
    vi.resetModules();
    process.chdir(tmpdir());
  });
  afterEach(() => process.chdir(home));

  it("says what is missing, only when the stand-in is used", async () => {
    const modules = await import("./prover");
    expect(() => modules.loadPoseidon()).toThrow("needs the packages snarkjs");
    expect(() => modules.locateProver()).toThrow("needs the packages snarkjs");
  });
});

describe("a development install", () => {
  it("has the prover, its artifacts and Semaphore's hash", async () => {
    vi.resetModules();
    const modules = await import("./prover");
    expect(modules.locateProver().zkey).toMatch(/16\.zkey$/);
    const { poseidon2 } = await import("poseidon-lite");
    expect(modules.loadPoseidon().poseidon2([1n, 2n])).toBe(poseidon2([1n, 2n]));
  });
});
