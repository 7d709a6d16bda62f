/** After an item was refused, its owner's items go apart from the others' for a while: most refusals come in numbers. */
import { AppError } from "#lib/errors";
import { type LogItem, type QueuedItem, StaleInputs } from "./item";

const apartBatches = 64;

export interface RefusedOwners {
  /** `batches`: how many there have been. What only has to be made again is no refusal. */
  note(item: LogItem, error: unknown, batches: number): void;
  /** The others' items, and those that go apart. */
  part(batch: QueuedItem[], batches: number): [QueuedItem[], QueuedItem[]];
}

export function createRefusedOwners(): RefusedOwners {
  /** The first ends first. */
  const apartUntil = new Map<string, number>();
  return {
    note({ owner }, error, batches) {
      if (owner === undefined || !(error instanceof AppError) || error instanceof StaleInputs) return;
      apartUntil.delete(owner);
      apartUntil.set(owner, batches + apartBatches);
      for (const [other, until] of apartUntil) {
        if (until >= batches) break;
        apartUntil.delete(other);
      }
    },
    part(batch, batches) {
      if (apartUntil.size === 0) return [batch, []];
      const goesApart = ({ item }: QueuedItem) =>
        item.owner !== undefined && (apartUntil.get(item.owner) ?? 0) > batches;
      return [batch.filter((queued) => !goesApart(queued)), batch.filter(goesApart)];
    },
  };
}
