/**
 * Commits a batch in one of two ways:
 * - direct: on top of the head in memory, in one statement that stores nothing if anything has changed;
 * - locked: the head is locked first, because other processes keep moving it, an item's kind needs a transaction, or
 *   machines share a lock in the store (head-lock.ts).
 */
import type { Database } from "#lib/db/client";
import { isSurelyNotStored } from "#lib/db/postgres/failures";
import { holdsCheckpoints } from "#lib/log/reading/reader";
import { describeStore } from "./append";
import {
  callsBesides,
  isSignedByActive,
  type Sequenced,
  type Signing,
  sequence,
  sequenceLocked,
  storeSequenced,
} from "./batch";
import { Refused, UncertainCommit } from "./batch-failures";
import type { Outcome, QueuedItem } from "./item";
import { type CommittedHead, type KnownHead, toSigned } from "./known-head";
import { type createPlaceReaders, rememberPlaces } from "./sequence-positions";

/** After another process has moved the head, so many batches lock it before they are signed. */
const lockedBatches = 64;

export interface Committer {
  /** `isAnew`: from the database alone, after a failure. Throws Refused if nothing was stored because something had changed. */
  commit(batch: QueuedItem[], isAnew: boolean, isGroup?: boolean): Promise<Outcome[]>;
  /** The places that are known with the head; undefined if it isn't. */
  places(): KnownHead["places"] | undefined;
  /** How many batches there have been. */
  count(): number;
}

/** `onCommit`: called with each head after its commit, and after the lock's and the fork guard's note of it. */
export function createCommitter(
  dependencies: Signing & { database: Database },
  readers: ReturnType<typeof createPlaceReaders>,
  onCommit: (head: CommittedHead) => void,
): Committer {
  const { database, guard, lock } = dependencies;
  let known: KnownHead | null = null;
  let batches = 0;
  let lockedUntil = 0;

  async function finish({ head, grown, note }: Sequenced): Promise<void> {
    rememberPlaces(head.places, grown);
    known = head;
    await lock?.confirm(toSigned(head), (heads) => holdsCheckpoints(database.db, heads));
    await guard.advance(toSigned(head));
    onCommit({ ...toSigned(head), checkpoint: note });
  }

  /** Throws Refused if nothing was stored because something had changed. */
  async function commitDirectly(before: KnownHead, batch: QueuedItem[]): Promise<Outcome[]> {
    guard.check(toSigned(before));
    const sequenced = await sequence(before, batch, dependencies, readers);
    const { text, parameters } = describeStore(sequenced.append, callsBesides(sequenced));
    known = null;
    try {
      await storeSequenced(sequenced, () => database.statement(text, "write")(...parameters));
    } catch (error) {
      // The head was as it is known: the items are judged after it.
      if (error instanceof Refused && error.judged.size > 0) known = before;
      if (error instanceof Refused || isSurelyNotStored(error)) throw error;
      throw new UncertainCommit("the statement has no answer", { cause: error });
    }
    await finish(sequenced).catch((error: unknown) => {
      known = null;
      throw new UncertainCommit("the commit could not be noted", { cause: error });
    });
    return sequenced.outcomes;
  }

  async function commitLocked(batch: QueuedItem[], isGroup: boolean): Promise<Outcome[]> {
    const before = known;
    known = null;
    let isCommitting = false;
    try {
      const { refused, sequenced } = await database.db.transaction(async (tx) => {
        const locked = await sequenceLocked(tx, batch, before, dependencies);
        if (isGroup && locked.refused[0] !== undefined) throw locked.refused[0].result;
        // The point of no return: from here on a failure does not say that nothing was stored.
        isCommitting = locked.sequenced !== null;
        return locked;
      });
      if (sequenced === null) return refused;
      await finish(sequenced);
      // It changes what the next batch must be signed with.
      if (batch.some(({ kind }) => kind.kind === "key_event")) known = null;
      return [...refused, ...sequenced.outcomes];
    } catch (error) {
      known = null;
      if (isCommitting) throw new UncertainCommit("the commit failed", { cause: error });
      throw error;
    }
  }

  /** Made from memory, signed with the keys that were active, and stored by the database's own function. */
  const mayGoDirectly = (batch: QueuedItem[], { log, active }: KnownHead) =>
    lock === null &&
    log.key_id === dependencies.keys.logSigner.keyId &&
    batches > lockedUntil &&
    batch.every((queued) => queued.kind.storedBy !== undefined && isSignedByActive(queued, active));

  async function commit(batch: QueuedItem[], isAnew: boolean, isGroup = false): Promise<Outcome[]> {
    batches += 1;
    if (isAnew) known = null;
    if (known === null || !mayGoDirectly(batch, known)) return commitLocked(batch, isGroup);
    try {
      return await commitDirectly(known, batch);
    } catch (error) {
      if (!(error instanceof Refused) || error.judged.size > 0) throw error;
      if (error.reason === "head") lockedUntil = batches + lockedBatches;
      return commitLocked(batch, isGroup);
    }
  }

  return { commit, places: () => known?.places, count: () => batches };
}
