/** The ways in which somebody else's server is away. */
import type { Wire } from "#support/cut-connections";

export interface Away {
  name: string;
  isSlow: boolean;
  begin(wire: Wire): Promise<void> | void;
}

/** Each way. Two of them are longer than a request may wait for, and shorter than the limit of one to an outside server. */
const slowMs = 2_000;

export const ways: readonly Away[] = [
  { name: "refused", isSlow: false, begin: (wire) => wire.refuse() },
  { name: "silent", isSlow: false, begin: (wire) => wire.stall() },
  { name: "slow", isSlow: true, begin: (wire) => wire.delay(slowMs) },
];

/** Data sent into a silence is lost, as on a network; slow data arrives. */
export async function end(wire: Wire, { isSlow }: Away): Promise<void> {
  if (!isSlow) wire.cut();
  await wire.mend();
}

/** While others are away: none of their limits (10 and 15 s) is anybody's wait. */
export const fastMs = 5_000;

export async function until(what: string, limitMs: number, isTrue: () => Promise<boolean>): Promise<void> {
  for (const startedMs = performance.now(); !(await isTrue()); ) {
    if (performance.now() - startedMs > limitMs) throw new Error(`${what} took longer than ${limitMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}
