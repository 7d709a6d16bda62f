/**
 * The one sequencer of a database's log. Life of a leaf: `submit` puts an item into the queue; while one batch
 * commits the next gathers, so a lone item doesn't wait; a batch is stored at once (batch.ts); only after the
 * commit (commit.ts), and the lock's and the fork guard's note of it, do receipts leave the process. The database gives
 * a verdict for each item that can't be stored: those get their answers, and the rest goes again without them.
 */
import type { Database } from "#lib/db/client";
import { AppError } from "#lib/errors";
import { count, measure } from "#lib/instrumentation";
import type { Logger } from "#lib/logger";
import type { Signing } from "./batch";
import { Refused, wholeFailure } from "./batch-failures";
import { createCommitter } from "./commit";
import { ForkGuardError } from "./fork-guard";
import {
  type Group,
  isUnprepared,
  type Judgement,
  type LogItem,
  type LogItemKind,
  type Outcome,
  type Placed,
  type QueuedItem,
} from "./item";
import type { CommittedHead } from "./known-head";
import { createPreSigning } from "./pre-signing";
import { createRefusedOwners } from "./refused-owners";
import { runGroup } from "./run-group";
import { createPlaceReaders, readNextPlace } from "./sequence-positions";

export interface LogSequencer {
  /** Rejects with SigningKeyChanged if the item must be signed again (submit-signed.ts does that). */
  submit<Item extends LogItem>(kind: LogItemKind<Item>, item: Item): Promise<Placed<Item>>;
  /** All of them or none. Rejects with GroupRefused if some can't be stored as they are. */
  submitAll<Item extends LogItem>(kind: LogItemKind<Item>, items: readonly Item[]): Promise<Placed<Item>[]>;
  /** Called with each head after its commit. */
  onCommit(listener: (head: CommittedHead) => void): void;
  /** Resolves when nothing is queued or running. */
  drain(): Promise<void>;
}

const maxBatch = 500;
/** Beyond this the database does not keep up, and waiting longer doesn't help. */
const maxQueued = 10_000;

/** Two turns of the event loop: clients that got the last answers, or can be read by now, join the next batch. */
async function untilOthersJoin(): Promise<void> {
  for (let turn = 0; turn < 2; turn += 1) await new Promise((next) => setImmediate(next));
}

interface Dependencies extends Signing {
  database: Database;
  logger: Logger;
}

export function createLogSequencer(dependencies: Dependencies): LogSequencer {
  const { database, logger } = dependencies;
  const queue: QueuedItem[] = [];
  const groups: Group[] = [];
  const listeners: ((head: CommittedHead) => void)[] = [];
  let running: Promise<void> | null = null;
  const refusedOwners = createRefusedOwners();
  const readers = createPlaceReaders(database);
  const committer = createCommitter(dependencies, readers, tellListeners);
  const preparing = createPreSigning(
    (item) => readNextPlace(item, committer.places(), readers, dependencies.random),
    enqueue,
  );

  /** Items that arrive in the same turn of the event loop share a batch; no timer is involved. */
  function enqueue(first: QueuedItem[], last: QueuedItem[] = []): void {
    queue.unshift(...first);
    queue.push(...last);
    start();
  }

  function start(): void {
    running ??= new Promise((started) => setImmediate(started)).then(run);
  }

  /** Refused ones get their answers, and the others go again without them, in their order. */
  async function runUnrefused(batch: QueuedItem[], judged: Map<QueuedItem, Judgement>): Promise<void> {
    const again: QueuedItem[] = [];
    const after: QueuedItem[] = [];
    for (const queued of batch) {
      const judgement = judged.get(queued) ?? "again";
      if (judgement === "again") again.push(queued);
      else if (judgement === "after") after.push(queued);
      else {
        refusedOwners.note(queued.item, judgement, committer.count());
        queued.item.forget?.();
        queued.reject(judgement);
      }
    }
    // Nobody waits for what has to be made again: all go back, because those behind it may be of its agent.
    if (again.some(({ item }) => isUnprepared(item))) return enqueue([...again, ...after]);
    for (const others of [again, after]) if (others.length > 0) await runBatch(others);
  }

  function tellListeners(head: CommittedHead): void {
    for (const listener of listeners) {
      try {
        listener(head);
      } catch (error) {
        logger.error({ err: error }, "a listener of the log failed");
      }
    }
  }

  function tellRefusal(error: unknown): void {
    if (!(error instanceof ForkGuardError)) return;
    count("fork guard refused", "");
    logger.error({ err: error }, "the fork guard refused to sign");
  }

  /** A batch that fails as a whole is tried in halves, so that one bad item cannot sink its neighbours. */
  async function runBatch(batch: QueuedItem[], isAnew = false): Promise<void> {
    let outcomes: Outcome[];
    try {
      outcomes = await measure("batch", "store a batch", (note) => {
        note({ entries: batch.length });
        return committer.commit(batch, isAnew);
      });
    } catch (error) {
      if (error instanceof Refused && error.judged.size > 0) return runUnrefused(batch, error.judged);
      const failure = wholeFailure(error) ?? (batch.length === 1 ? error : null);
      if (failure === null) {
        const half = batch.length >> 1;
        await runBatch(batch.slice(0, half), true);
        await runBatch(batch.slice(half), true);
        return;
      }
      tellRefusal(error);
      for (const queued of batch) queued.reject(failure);
      return;
    }
    for (const { queued, result } of outcomes) {
      if (result instanceof Error) {
        refusedOwners.note(queued.item, result, committer.count());
        queued.reject(result);
      } else queued.resolve(result);
    }
  }

  /** A group doesn't take the place for which another item of its agent is prepared. */
  const mayGo = ({ batch }: Group) => !batch.some(({ item }) => preparing.holds(item.agentId));

  async function run(): Promise<void> {
    while (queue.length > 0 || groups.some(mayGo)) {
      const batch = preparing.take(queue.splice(0, maxBatch));
      // Before others are prepared and come into the queue: they would come after it.
      const next = groups.findIndex(mayGo);
      const [group] = next < 0 ? [] : groups.splice(next, 1);
      for (const part of refusedOwners.part(batch, committer.count()))
        if (part.length > 0) await runBatch(part);
      if (group !== undefined)
        await runGroup(group, (...given) => committer.commit(...given, true), tellRefusal);
      preparing.begin();
      await untilOthersJoin();
    }
    running = null;
  }

  function requireRoom(): void {
    if (queue.length + groups.length + preparing.count() >= maxQueued)
      throw new AppError("service_unavailable", "too many requests are waiting; try again shortly");
  }

  const submit = <Item extends LogItem>(kind: LogItemKind<Item>, item: Item) =>
    new Promise<Placed<Item>>((resolve, reject) => {
      requireRoom();
      enqueue([], [{ kind, item, resolve, reject } as unknown as QueuedItem]);
    });

  const submitAll = <Item extends LogItem>(kind: LogItemKind<Item>, items: readonly Item[]) =>
    new Promise<Placed<Item>[]>((resolve, reject) => {
      requireRoom();
      kind.shareAgents?.([...items]);
      const none = { resolve: () => {}, reject: () => {} };
      const batch = items.map((item) => ({ kind, item, ...none }));
      groups.push({ batch, resolve, reject } as unknown as Group);
      start();
    });

  return {
    submit: (kind, item) => measure("append", kind.kind, () => submit(kind, item)),
    submitAll: (kind, items) => measure("append", kind.kind, () => submitAll(kind, items)),
    onCommit: (listener) => listeners.push(listener),
    drain: async () => {
      while (running !== null || preparing.count() > 0) await (running ?? preparing.settled());
    },
  };
}
