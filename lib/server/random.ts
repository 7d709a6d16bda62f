/**
 * Random bytes of the system's generator, asked for in bulk: a call for each identifier and salt costs more than its
 * bytes. No byte is given out twice or kept after it was.
 */
import { randomFillSync } from "node:crypto";

const poolBytes = 4096;

export function createRandom(
  fill: (pool: Uint8Array) => void = randomFillSync,
): (length: number) => Uint8Array {
  const pool = new Uint8Array(poolBytes);
  let used = poolBytes;
  return (length) => {
    if (length > poolBytes) {
      const bytes = new Uint8Array(length);
      fill(bytes);
      return bytes;
    }
    if (used + length > poolBytes) {
      fill(pool);
      used = 0;
    }
    const bytes = pool.slice(used, used + length);
    pool.fill(0, used, used + length);
    used += length;
    return bytes;
  };
}
