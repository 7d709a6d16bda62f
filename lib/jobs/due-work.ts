/**
 * Work that waits in a table which several processes read: a few pieces at once, shared between their owners, so that
 * an owner with slow or many ones doesn't keep others waiting. What finds no place stays due.
 */
import { AppError } from "#lib/errors";
import { createFairQueue } from "./fair-queue";
import type { Share } from "./fair-share";

export interface DueWorkOptions<Due> {
  slots: number;
  /** How much of one owner runs at once. */
  slotsOfOwner: number;
  /**
   * Reads due work except for these, which run or wait here already. A few of each owner come first, however many one
   * has.
   */
  readDue(except: readonly string[]): Promise<Due[]>;
  nameOf(due: Due): string;
  shareOf(due: Due): Share;
  /** Takes it, unless another process has, and does it; how much was done. */
  attempt(due: Due): Promise<0 | 1>;
  onError(error: unknown): void;
}

export interface DueWork {
  /** Tries everything that is due and not being tried; how much was tried. After a stop nothing that waits begins. */
  run(isStopped?: () => boolean): Promise<number>;
}

/** How much waits in memory. More is read when there is room. */
const maxWaiting = 256;

export function createDueWork<Due>(options: DueWorkOptions<Due>): DueWork {
  const { readDue, nameOf, shareOf, attempt, onError } = options;
  const queue = createFairQueue({
    slots: options.slots,
    maxWaiting,
    maxPerOwner: maxWaiting,
    maxRunningPerOwner: options.slotsOfOwner,
    refusal: "too much of this work is waiting",
  });
  const taken = new Set<string>();

  async function take(due: Due, isStopped: () => boolean): Promise<number> {
    const name = nameOf(due);
    // Two rounds may have read it at the same time.
    if (taken.has(name)) return 0;
    taken.add(name);
    try {
      return await queue.run(shareOf(due), async () => (isStopped() ? 0 : attempt(due)));
    } catch (error) {
      const isExpected = error instanceof AppError && error.errorName !== "server_error";
      if (!isExpected) onError(error);
      return 0;
    } finally {
      taken.delete(name);
    }
  }

  return {
    run: async (isStopped = () => false) => {
      const due = await readDue([...taken]);
      const tried = await Promise.all(due.map((one) => take(one, isStopped)));
      return tried.reduce((sum, one) => sum + one, 0);
    },
  };
}
