import { expect, it } from "vitest";
import { createRandom } from "./secrets";

/** A source whose bytes count up, so that each one can be told from the others. */
function counting() {
  let next = 1;
  return (pool: Uint8Array) => {
    const words = new DataView(pool.buffer, pool.byteOffset, pool.byteLength);
    for (let at = 0; at + 4 <= pool.length; at += 4) {
      words.setUint32(at, next);
      next += 1;
    }
  };
}

it("gives each byte out once, in pieces of every length, and knows nothing of what it gave", () => {
  const random = createRandom(counting());
  const seen = new Set<number>();
  for (let n = 0; n < 4000; n += 1) {
    const bytes = random(4 * (1 + (n % 9)));
    const words = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    for (let at = 0; at < bytes.length; at += 4) {
      expect(seen.has(words.getUint32(at))).toBe(false);
      seen.add(words.getUint32(at));
    }
    expect(bytes.buffer.byteLength).toBe(bytes.length);
    bytes.fill(0);
  }
  expect(random(5000)).toHaveLength(5000);
});

it("uses the system's generator", () => {
  const random = createRandom();
  const drawn = new Set(Array.from({ length: 2000 }, () => Buffer.from(random(12)).toString("hex")));
  expect(drawn.size).toBe(2000);
});
