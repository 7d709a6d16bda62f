import { createHash, randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import { hashFile } from "./read-stream";

it("hashes a file piece by piece as a whole, also an empty one", async () => {
  for (const size of [0, 1, 200_000]) {
    const bytes = randomBytes(size);
    const shares: number[] = [];
    const found = await hashFile(new Blob([bytes]), (share) => shares.push(share));
    expect(found).toBe(createHash("sha256").update(bytes).digest("hex"));
    expect(shares.at(-1) ?? 1).toBe(1);
  }
});
