/** For tests of long polls that end before their time. */
import type { Wakeups } from "#lib/db/pubsub";

/**
 * Waits have no time limit: whoever is answered was woken. `begins` resolves when so many have looked at their request
 * and begin to wait; `restore` gives waits their limits again.
 */
export function holdWaits(wakeups: Wakeups, count = 1): { begins: Promise<void>; restore: () => void } {
  const { wait } = wakeups;
  let begun = 0;
  const begins = new Promise<void>((begin) => {
    wakeups.wait = (name) => {
      const { over, end } = wait(name, 2 ** 31 - 1);
      const then: typeof over.then = (...settle) => {
        begun += 1;
        if (begun === count) begin();
        return over.then(...settle);
      };
      return { over: { then } as typeof over, end };
    };
  });
  return {
    begins,
    restore: () => {
      wakeups.wait = wait;
    },
  };
}
