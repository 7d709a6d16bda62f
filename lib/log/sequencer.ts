/**
 * The one sequencer of a database's log. Life of a leaf: `submit` puts an item into the queue; while one batch commits
 * the next gathers, so a lone item waits for nobody; a batch is one transaction (batch.ts) that admits its items,
 * appends their leaves, signs the checkpoint and stores everything; only after the commit and the fork guard's note of
 * it do receipts leave the process.
 */
import type { LogReceipt } from "#lib/contract/attest";
import type { Database } from "#lib/db/client";
import { isUnreachable } from "#lib/db/unreachable";
import { AppError } from "#lib/errors";
import type { Logger } from "#lib/logger";
import type { SigningKeys } from "#lib/signing/signing-keys";
import {
  type CachedEdge,
  type CommittedHead,
  type LogItem,
  type LogItemKind,
  type Outcome,
  type QueuedItem,
  SigningKeyChanged,
  sequenceBatch,
} from "./batch";
import { type ForkGuard, ForkGuardError } from "./fork-guard";

export interface LogSequencer {
  /** Rejects with SigningKeyChanged if the item must be signed again (submit-signed.ts does that). */
  submit<Item extends LogItem>(kind: LogItemKind<Item>, item: Item): Promise<LogReceipt>;
  /** Called with each head after its commit. */
  onCommit(listener: (head: CommittedHead) => void): void;
  /** Resolves when nothing is queued or running. */
  drain(): Promise<void>;
}

/** The commit was sent and its outcome is unknown: nothing may be reported, and nothing tried a second time. */
class UncertainCommit extends Error {}

const maxBatch = 500;
/** Beyond this the database does not keep up, and waiting longer helps nobody. */
const maxQueued = 10_000;

interface Dependencies {
  database: Database;
  keys: Pick<SigningKeys, "logSigner">;
  guard: ForkGuard;
  logger: Logger;
}

/** The error for the caller if a whole batch failed; null: its items may be tried separately. */
function wholeFailure(error: unknown): AppError | SigningKeyChanged | null {
  if (error instanceof SigningKeyChanged) return error;
  if (error instanceof ForkGuardError) {
    const detail = "the log cannot be extended until its operator has investigated";
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

export function createLogSequencer(dependencies: Dependencies): LogSequencer {
  const { database, guard, logger } = dependencies;
  const queue: QueuedItem[] = [];
  const listeners: ((head: CommittedHead) => void)[] = [];
  let running: Promise<void> | null = null;
  let cached: CachedEdge = null;

  async function commitBatch(batch: QueuedItem[]): Promise<Outcome[]> {
    let isCommitting = false;
    try {
      const { outcomes, head } = await database.db.transaction(async (tx) => {
        const sequenced = await sequenceBatch(tx, batch, cached, dependencies);
        // The point of no return: from here on a failure does not say that nothing was stored.
        isCommitting = sequenced.head !== null;
        return sequenced;
      });
      if (head === null) return outcomes;
      cached = { logId: head.logId, edge: head.edge };
      await guard.advance(head);
      tellListeners(head);
      return outcomes;
    } catch (error) {
      cached = null;
      throw isCommitting ? new UncertainCommit("the commit failed", { cause: error }) : error;
    }
  }

  function tellListeners({ logId, size, rootHex, checkpoint }: CommittedHead): void {
    for (const listener of listeners) {
      try {
        listener({ logId, size, rootHex, checkpoint });
      } catch (error) {
        logger.error({ err: error }, "a listener of the log failed");
      }
    }
  }

  /** A batch that fails as a whole is tried in halves, so that one bad item cannot sink its neighbours. */
  async function runBatch(batch: QueuedItem[]): Promise<void> {
    let outcomes: Outcome[];
    try {
      outcomes = await commitBatch(batch);
    } catch (error) {
      const failure = wholeFailure(error) ?? (batch.length === 1 ? error : null);
      if (failure === null) {
        const half = batch.length >> 1;
        await runBatch(batch.slice(0, half));
        await runBatch(batch.slice(half));
        return;
      }
      if (error instanceof ForkGuardError) logger.error({ err: error }, "the fork guard refused to sign");
      for (const queued of batch) queued.reject(failure);
      return;
    }
    for (const { queued, result } of outcomes) {
      if (result instanceof Error) queued.reject(result);
      else queued.resolve(result);
    }
  }

  async function run(): Promise<void> {
    while (queue.length > 0) await runBatch(queue.splice(0, maxBatch));
    running = null;
  }

  return {
    submit: <Item extends LogItem>(kind: LogItemKind<Item>, item: Item) =>
      new Promise<LogReceipt>((resolve, reject) => {
        if (queue.length >= maxQueued) {
          reject(new AppError("service_unavailable", "too many requests are waiting; try again shortly"));
          return;
        }
        queue.push({ kind: kind as unknown as LogItemKind<LogItem>, item, resolve, reject });
        // What arrives in the same turn of the event loop shares a batch; no timer is involved.
        running ??= new Promise((started) => setImmediate(started)).then(run);
      }),
    onCommit: (listener) => listeners.push(listener),
    drain: async () => {
      while (running !== null) await running;
    },
  };
}
