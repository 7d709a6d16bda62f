/** For tests of how long something takes at most: a busy machine delays one try, a mistake every one. */

/** Measures how many milliseconds the work takes. */
export async function measureMs(work: () => unknown): Promise<number> {
  const startedMs = performance.now();
  await work();
  return performance.now() - startedMs;
}

/** The shortest of up to three measurements, in milliseconds; none follows one that is below `limitMs`. */
export async function shortestMs(limitMs: number, measure: () => Promise<number>): Promise<number> {
  let shortest = Number.POSITIVE_INFINITY;
  for (let tries = 0; tries < 3 && shortest >= limitMs; tries += 1)
    shortest = Math.min(shortest, await measure());
  return shortest;
}
