/** For tests of long polls that end before their time. */
import type { Wakeups } from "#lib/db/pubsub";

/**
 * Waits have no time limit: whoever is answered was woken. `begins` resolves when the request was looked at and its
 * wait begins; `restore` gives waits their limits again.
 */
export function holdWaits(wakeups: Wakeups): { begins: Promise<void>; restore: () => void } {
  const { wait } = wakeups;
  const begins = new Promise<void>((begin) => {
    wakeups.wait = (name) => {
      const { over, end } = wait(name, 2 ** 31 - 1);
      const then: typeof over.then = (...settle) => {
        begin();
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
