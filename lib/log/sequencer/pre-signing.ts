/**
 * Items that need their place for something that takes long (a zero-knowledge proof) before they are signed. Such an
 * item waits apart while that is made, and with it whatever comes behind it in the same agent's record; other agents'
 * batches go on. If another process takes the place meanwhile, the batch makes it once more.
 */
import { wholeFailure } from "./batch-failures";
import type { LogItem, Place, QueuedItem } from "./item";

interface PreSigning {
  /** The items that may go into a batch now; the others are kept until they may. */
  take(items: readonly QueuedItem[]): QueuedItem[];
  /** Once what came before is committed: starts with those that `take` has kept. */
  begin(): void;
  /** How many items wait. */
  count(): number;
  /** Resolves when one of them has ended. */
  settled(): Promise<void>;
}

/** `release` gets items that may go on, in their order; they come before all that is queued. */
export function createPreSigning(
  readPlace: (item: LogItem) => Promise<Place>,
  release: (items: QueuedItem[]) => void,
): PreSigning {
  /** By agent: the item that is prepared, and those behind it. */
  const waiting = new Map<string, QueuedItem[]>();
  const running = new Map<string, Promise<void>>();

  function isKept(queued: QueuedItem): boolean {
    const { agentId, preparation } = queued.item;
    if (agentId === undefined) return false;
    const before = waiting.get(agentId);
    if (before !== undefined) before.push(queued);
    else if (preparation?.place === null) waiting.set(agentId, [queued]);
    else return false;
    return true;
  }

  async function prepare(agentId: string, first: QueuedItem): Promise<void> {
    let isMade = false;
    try {
      await first.item.preparation?.make(await readPlace(first.item));
      isMade = true;
    } catch (error) {
      first.reject(wholeFailure(error) ?? error);
    }
    const [, ...behind] = waiting.get(agentId) ?? [];
    waiting.delete(agentId);
    running.delete(agentId);
    release(isMade ? [first, ...behind] : behind);
  }

  return {
    take: (items) => items.filter((queued) => !isKept(queued)),
    begin: () => {
      for (const [agentId, [first]] of waiting)
        if (first !== undefined && !running.has(agentId)) running.set(agentId, prepare(agentId, first));
    },
    count: () => [...waiting.values()].reduce((sum, items) => sum + items.length, 0),
    settled: () => Promise.race(running.values()),
  };
}
