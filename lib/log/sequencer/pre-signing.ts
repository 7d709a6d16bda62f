/**
 * Items that need their place for something that takes long (a zero-knowledge proof) before they are signed. Such an
 * item waits apart while that is made, and with it whatever comes behind it in the same agent's record; other agents'
 * batches go on. If its slug has become another agent's, it waits once more. If another process takes the place meanwhile,
 * the batch makes it once more.
 */
import { wholeFailure } from "./batch-failures";
import { isUnprepared, type LogItem, type Place, type QueuedItem } from "./item";

interface PreSigning {
  /** The items that may go into a batch now; the others are kept until they may. */
  take(items: readonly QueuedItem[]): QueuedItem[];
  /** Once what came before is committed: starts with those that `take` has kept. */
  begin(): void;
  /** True if items of this agent wait. */
  holds(agentId: string | undefined): boolean;
  /** How many items wait. */
  count(): number;
  /** Resolves when one of them has ended. */
  settled(): Promise<void>;
}

/** Those of a slug that nobody has claimed yet are of one agent before one of them is prepared for its place. */
function shareAgents(queued: readonly QueuedItem[]): void {
  for (const kind of new Set(queued.map((one) => one.kind)))
    kind.shareAgents?.(queued.flatMap((one) => (one.kind === kind ? [one.item] : [])));
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
    const { agentId } = queued.item;
    if (agentId === undefined) return false;
    const before = waiting.get(agentId);
    if (before !== undefined) before.push(queued);
    else if (isUnprepared(queued.item)) waiting.set(agentId, [queued]);
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
    take: (items) => {
      shareAgents([...[...waiting.values()].flatMap(([first]) => first ?? []), ...items]);
      return items.filter((queued) => !isKept(queued));
    },
    holds: (agentId) => agentId !== undefined && waiting.has(agentId),
    begin: () => {
      for (const [agentId, [first]] of waiting)
        if (first !== undefined && !running.has(agentId)) running.set(agentId, prepare(agentId, first));
    },
    count: () => [...waiting.values()].reduce((sum, items) => sum + items.length, 0),
    settled: () => Promise.race(running.values()),
  };
}
