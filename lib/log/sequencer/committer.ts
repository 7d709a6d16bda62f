/**
 * Commits a batch in one of two ways:
 * - direct: on top of the head in memory, in one statement that stores nothing if anything has changed. While it is under
 *   way the next batch may be built on the head that it leaves, and sent behind it on the same connection: if the first isn't
 *   stored, the second's head is none, and the same statement refuses it;
 * - locked: the head is locked first, because other processes keep moving it, an item's kind needs a transaction, or
 *   machines share a lock in the store (head-lock.ts).
 */
import type { Database } from "#lib/db/client";
import { isSurelyNotStored, isUnreachable } from "#lib/db/postgres/failures";
import { AppError } from "#lib/errors";
import { holdsCheckpoints } from "#lib/log/reading/reader";
import {
  BuiltOnOther,
  callsBesides,
  describeStore,
  isSignedByActive,
  type KnownHead,
  Refused,
  type Sequenced,
  type Signing,
  sequence,
  sequenceLocked,
  storeSequenced,
  toSigned,
} from "./append";
import { type Outcome, type QueuedEntry, SigningKeyChanged } from "./entry";
import { ForkGuardError, type SignedHead } from "./fork-guard";
import { HeadLockAway } from "./head-lock";
import {
  createKnownPlaces,
  type createPlaceReaders,
  foreseePlaces,
  type KnownPlaces,
  rememberPlaces,
} from "./positions";

/** The commit was sent and its outcome is unknown: nothing may be reported, and nothing tried a second time. */
class UncertainCommit extends Error {}

/** The error for the caller if a whole batch failed; null: its items may be tried separately. */
export function wholeFailure(error: unknown): AppError | SigningKeyChanged | null {
  if (error instanceof SigningKeyChanged) return error;
  if (error instanceof ForkGuardError) {
    const detail = "the log cannot be extended until its operator has investigated";
    return new AppError("service_unavailable", detail, { cause: error });
  }
  if (error instanceof HeadLockAway) {
    const detail = "the log's store did not respond, so nothing was recorded; try again shortly";
    return new AppError("service_unavailable", detail, { cause: error });
  }
  if (error instanceof UncertainCommit) {
    const detail =
      "the database did not respond, so this may or may not have been recorded; send it again with the same Idempotency-Key to record it once";
    return new AppError("service_unavailable", detail, { cause: error });
  }
  if (!isUnreachable(error)) return null;
  return new AppError("service_unavailable", "the database is unreachable; try again shortly", {
    cause: error,
  });
}

export interface CommittedHead extends SignedHead {
  checkpoint: string;
}

const ignore = () => {};

/** Number of batches that lock the head before they are signed, after another process moved it. */
const lockedBatches = 64;

export interface Committer {
  /**
   * Begins when nothing is under way. `isAnew`: from the database alone. Throws Refused if nothing was stored because
   * something had changed.
   */
  commit(batch: QueuedEntry[], isAnew: boolean, isGroup?: boolean): Promise<Outcome[]>;
  /**
   * Rejects with BuiltOnOther too; null if the batch can't go directly. `isBehind`: behind the one under way, of which
   * there is one.
   */
  send(batch: QueuedEntry[], isBehind: boolean): Promise<Outcome[]> | null;
  /** Resolves when the batch sent last is built, so that the next can be built on it. */
  built(): Promise<void>;
  /** The places that are known with the head; undefined if it isn't. */
  places(): KnownHead["places"] | undefined;
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
  /** The batch that was sent last, if nothing after it has failed. */
  let sent: Sequenced | null = null;
  /** True once all that was sent is stored and noted. */
  let underway: Promise<boolean> = Promise.resolve(true);
  let building: Promise<unknown> = Promise.resolve();
  let batches = 0;
  let lockedUntil = 0;

  async function finish({ head, grown, note }: Sequenced, places: KnownPlaces): Promise<void> {
    rememberPlaces(places, grown);
    known = { ...head, places };
    await lock?.confirm(toSigned(head), (heads) => holdsCheckpoints(database.db, heads));
    await guard.advance(toSigned(head));
    onCommit({ ...toSigned(head), checkpoint: note });
  }

  /** Base of a batch: the head as it is, or as the batch under way leaves it. */
  function findBase(isBehind: boolean) {
    if (known === null || !isBehind) return known;
    return sent && { ...sent.head, places: foreseePlaces(known.places, sent.grown) };
  }

  async function sendSequenced(sequenced: Sequenced, before: typeof underway): Promise<void> {
    const { text, parameters } = describeStore(sequenced.append, callsBesides(sequenced));
    // A pooler gives each statement a connection of its own, so nothing keeps their order.
    if (database.isPooled && !(await before)) throw new BuiltOnOther();
    try {
      await storeSequenced(sequenced, () => database.statement(text, "write")(...parameters));
    } catch (error) {
      sent = null;
      const isJudged = error instanceof Refused && error.judged.size > 0;
      if (!isJudged && error instanceof Refused && !(await before)) throw new BuiltOnOther();
      // Judged after the head as it is known.
      if (!isJudged) known = null;
      if (isJudged || isSurelyNotStored(error)) throw error;
      if (!(error instanceof Refused))
        throw new UncertainCommit("the statement has no answer", { cause: error });
      if (error.reason === "head") lockedUntil = batches + lockedBatches;
      throw new BuiltOnOther();
    }
  }

  async function commitDirectly(
    base: NonNullable<ReturnType<typeof findBase>>,
    batch: QueuedEntry[],
    before: typeof underway,
    mayBeFollowed: boolean,
  ): Promise<Outcome[]> {
    sent = null;
    guard.check(toSigned(base));
    const sequencing = sequence(base, batch, dependencies, readers);
    building = sequencing;
    const sequenced = await sequencing;
    if (mayBeFollowed) sent = sequenced;
    await sendSequenced(sequenced, before);
    // The head before is noted before this one is.
    await before;
    await finish(sequenced, known?.places ?? createKnownPlaces()).catch((error: unknown) => {
      known = null;
      sent = null;
      throw new UncertainCommit("the commit could not be noted", { cause: error });
    });
    return sequenced.outcomes;
  }

  async function commitLocked(batch: QueuedEntry[], isGroup: boolean): Promise<Outcome[]> {
    const before = known;
    known = null;
    sent = null;
    let isCommitting = false;
    try {
      const { refused, sequenced, places } = await database.pipelined.transaction(async (tx) => {
        const locked = await sequenceLocked(tx, batch, before, dependencies);
        if (isGroup && locked.refused[0] !== undefined) throw locked.refused[0].result;
        // The point of no return: from here on a failure does not say that nothing was stored.
        isCommitting = locked.sequenced !== null;
        return locked;
      });
      if (sequenced === null) return refused;
      await finish(sequenced, places);
      // A key event changes what the next batch must be signed with.
      if (batch.some(({ kind }) => kind.kind === "key_event")) known = null;
      return [...refused, ...sequenced.outcomes];
    } catch (error) {
      known = null;
      if (isCommitting) throw new UncertainCommit("the commit failed", { cause: error });
      throw error;
    }
  }

  /** True for entries built from memory, signed with the active keys, and stored by the database's own function. */
  const mayGoDirectly = (batch: QueuedEntry[], { log, active }: Pick<KnownHead, "log" | "active">) =>
    lock === null &&
    log.key_id === dependencies.keys.logSigner.keyId &&
    batches > lockedUntil &&
    batch.every((queued) => queued.kind.insertStatements !== undefined && isSignedByActive(queued, active));

  function begin(batch: QueuedEntry[], isBehind: boolean, mayBeFollowed: boolean): Promise<Outcome[]> | null {
    const base = findBase(isBehind);
    if (base === null || !mayGoDirectly(batch, base)) return null;
    batches += 1;
    const before = isBehind ? underway : Promise.resolve(true);
    const outcomes = commitDirectly(base, batch, before, mayBeFollowed);
    underway = outcomes.then(
      () => true,
      () => false,
    );
    return outcomes;
  }

  async function commit(batch: QueuedEntry[], isAnew: boolean, isGroup = false): Promise<Outcome[]> {
    await underway;
    if (isAnew) known = null;
    try {
      // Later batches wait: its items may have to be tried again, in their order.
      const outcomes = begin(batch, false, false);
      if (outcomes !== null) return await outcomes;
    } catch (error) {
      if (!(error instanceof BuiltOnOther)) throw error;
    }
    batches += 1;
    return commitLocked(batch, isGroup).catch((error: unknown) => {
      if (!(error instanceof BuiltOnOther)) throw error;
      return commitLocked(batch, isGroup);
    });
  }

  return {
    commit,
    send: (batch, isBehind) => begin(batch, isBehind, true),
    places: () => known?.places,
    built: () => building.then(ignore, ignore),
    count: () => batches,
  };
}
