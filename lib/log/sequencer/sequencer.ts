/**
 * The one sequencer of a database's log. Life of a leaf: `submit` puts an item into the queue; while one batch
 * commits the next gathers, so a lone item doesn't wait; a batch is stored at once (append.ts); only after the
 * commit (committer.ts), and the lock's and the fork guard's note of it, do receipts leave the process. The database gives
 * a verdict for each item that can't be stored: those get their answers, and the rest goes again without them.
 */

import { sql } from "drizzle-orm";
import type { Database } from "#lib/db/client";
import { writeProbe } from "#lib/db/schema";
import { AppError } from "#lib/errors";
import { count, measure } from "#lib/instrumentation";
import type { SigningKeys } from "#lib/log/signing/signing-keys";
import type { Logger } from "#lib/logger";
import { BuiltOnOther, Refused, type Signing } from "./append";
import { type CommittedHead, createCommitter, wholeFailure } from "./committer";
import {
  type Group,
  GroupRefused,
  isUnprepared,
  type LogEntry,
  type LogEntryKind,
  type Outcome,
  type Place,
  type Placed,
  type QueuedEntry,
  type Rejection,
  StaleInputs,
} from "./entry";
import { checkHead, type ForkGuard, ForkGuardError } from "./fork-guard";
import type { HeadLock } from "./head-lock";
import { createPlaceReaders, readNextPlace } from "./positions";

/*
 * Items that need their place for something that takes long (a zero-knowledge proof) before they are signed. Such an
 * item waits apart while that is made, and with it whatever comes behind it in the same agent's record; other agents'
 * batches go on. If its slug has become another agent's, it waits once more. If another process takes the place meanwhile,
 * the batch makes it once more.
 */

interface PreSigning {
  /** The items that may go into a batch now; the others are kept until they may. */
  take(items: readonly QueuedEntry[]): QueuedEntry[];
  /** Starts those that `take` has kept, once what came before is committed. */
  begin(): void;
  holds(agentId: string | undefined): boolean;
  count(): number;
  settled(): Promise<void>;
}

/** Makes entries of an unclaimed slug one agent's before one of them is prepared for its position. */
function mergeNewAgents(queued: readonly QueuedEntry[]): void {
  for (const kind of new Set(queued.map((one) => one.kind)))
    kind.mergeNewAgents?.(queued.flatMap((one) => (one.kind === kind ? [one.item] : [])));
}

/** `release` gets items that may go on, in their order; they come before all that is queued. */
export function createPreSigning(
  readPlace: (item: LogEntry) => Promise<Place>,
  release: (items: QueuedEntry[]) => void,
): PreSigning {
  /** Keyed by agent: the entry that is prepared, and those behind it. */
  const waiting = new Map<string, QueuedEntry[]>();
  const running = new Map<string, Promise<void>>();

  function isKept(queued: QueuedEntry): boolean {
    const { agentId } = queued.item;
    if (agentId === undefined) return false;
    const before = waiting.get(agentId);
    if (before !== undefined) before.push(queued);
    else if (isUnprepared(queued.item)) waiting.set(agentId, [queued]);
    else return false;
    return true;
  }

  async function prepare(agentId: string, first: QueuedEntry): Promise<void> {
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
      mergeNewAgents([...[...waiting.values()].flatMap(([first]) => first ?? []), ...items]);
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

/*
 * An attestation that the database refuses makes its whole batch go a second time. Its owner's items then go into batches of
 * their own for a while: most refusals come in numbers, and an owner holds up one of so many batches of the others at most.
 * What a kind's `admit` refuses costs the others nothing.
 */

const apartBatches = 64;

function createQuarantine() {
  const apartUntil = new Map<string, number>();
  return {
    /** `batches`: how many there have been. What only has to be made again is no refusal. */
    note({ owner }: LogEntry, error: AppError, batches: number): void {
      if (owner === undefined || error instanceof StaleInputs) return;
      apartUntil.delete(owner);
      apartUntil.set(owner, batches + apartBatches);
      for (const [other, until] of apartUntil) {
        if (until >= batches) break;
        apartUntil.delete(other);
      }
    },
    /** The others' items, and those that go apart. */
    part(batch: QueuedEntry[], batches: number): [QueuedEntry[], QueuedEntry[]] {
      if (apartUntil.size === 0) return [batch, []];
      const goesApart = ({ item }: QueuedEntry) =>
        item.owner !== undefined && (apartUntil.get(item.owner) ?? 0) > batches;
      return [batch.filter((queued) => !goesApart(queued)), batch.filter(goesApart)];
    },
  };
}

/* A group: all of its items are stored, or none. */

/** Attempts of a group, each with the changed inputs in place. */
const groupAttempts = 3;

/** `after`: it is in the way of another one of its group, which no order can help. */
const toReason = (judgement: Rejection | undefined): AppError | null =>
  judgement === "after"
    ? new AppError("validation_error", "another entry has the same agent_signature or human_authorization")
    : judgement instanceof AppError
      ? judgement
      : null;

/** `commit`: from the database alone if `isAnew`. Rejects the group with GroupRefused if some can't be stored as they are. */
async function runGroup(
  { batch, resolve, reject }: Group,
  commit: (batch: QueuedEntry[], isAnew: boolean) => Promise<Outcome[]>,
  logRefusal: (error: unknown) => void,
): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const outcomes = await commit(batch, attempt > 1);
      return resolve(outcomes.map(({ result }) => result as Placed<LogEntry>));
    } catch (error) {
      const judged = error instanceof Refused ? error.judged : new Map<QueuedEntry, Rejection>();
      if (judged.size === 0) {
        logRefusal(error);
        return reject(wholeFailure(error) ?? error);
      }
      for (const [{ item }, judgement] of judged) if (judgement instanceof AppError) item.forget?.();
      const isChangedInPlace = [...judged.values()].every((judgement) => judgement === "again");
      if (!isChangedInPlace || attempt === groupAttempts)
        return reject(new GroupRefused(batch.map((queued) => toReason(judged.get(queued)))));
    }
  }
}

export interface LogSequencer {
  /** Rejects with SigningKeyChanged if the item must be signed again (entry.ts does that). */
  submit<Item extends LogEntry>(kind: LogEntryKind<Item>, item: Item): Promise<Placed<Item>>;
  submitAll<Item extends LogEntry>(kind: LogEntryKind<Item>, items: readonly Item[]): Promise<Placed<Item>[]>;
  onCommit(listener: (head: CommittedHead) => void): void;
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
  const queue: QueuedEntry[] = [];
  const groups: Group[] = [];
  const listeners: ((head: CommittedHead) => void)[] = [];
  let running: Promise<void> | null = null;
  /** The batch that was sent last, until its items have their answers. */
  let underway: { answered: Promise<void>; size: number } | null = null;
  let wake = () => {};
  const refusedOwners = createQuarantine();
  const readers = createPlaceReaders(database);
  const committer = createCommitter(dependencies, readers, notifyListeners);
  const preparing = createPreSigning(
    (item) => readNextPlace(item, committer.places(), readers, dependencies.random),
    enqueue,
  );

  /** Items that arrive in the same turn of the event loop share a batch; no timer is involved. */
  function enqueue(first: QueuedEntry[], last: QueuedEntry[] = []): void {
    queue.unshift(...first);
    queue.push(...last);
    if (underway !== null && queue.length >= underway.size) wake();
    start();
  }

  function start(): void {
    running ??= new Promise((started) => setImmediate(started)).then(run);
  }

  /** Rejects the failed entries and requeues the rest in order. */
  async function runUnrefused(batch: QueuedEntry[], judged: Map<QueuedEntry, Rejection>): Promise<void> {
    const again: QueuedEntry[] = [];
    const after: QueuedEntry[] = [];
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
    // Requeues all if one must be prepared again, because those behind it may be of its agent.
    if (again.some(({ item }) => isUnprepared(item))) return enqueue([...again, ...after]);
    for (const others of [again, after]) if (others.length > 0) await runBatch(others);
  }

  function notifyListeners(head: CommittedHead): void {
    for (const listener of listeners) {
      try {
        listener(head);
      } catch (error) {
        logger.error({ err: error }, "a listener of the log failed");
      }
    }
  }

  function logRefusal(error: unknown): void {
    if (!(error instanceof ForkGuardError)) return;
    count("fork guard refused", "");
    logger.error({ err: error }, "the fork guard refused to sign");
  }

  /** A batch that fails as a whole is tried in halves, so that one bad item cannot sink its neighbours. */
  async function runBatch(
    batch: QueuedEntry[],
    isAnew = false,
    commit = () => committer.commit(batch, isAnew),
  ): Promise<void> {
    let outcomes: Outcome[];
    try {
      outcomes = await measure("batch", "store a batch", (note) => {
        note({ entries: batch.length });
        return commit();
      });
    } catch (error) {
      if (error instanceof BuiltOnOther) return runBatch(batch);
      if (error instanceof Refused && error.judged.size > 0) return runUnrefused(batch, error.judged);
      const failure = wholeFailure(error) ?? (batch.length === 1 ? error : null);
      if (failure === null) {
        const half = batch.length >> 1;
        await runBatch(batch.slice(0, half), true);
        await runBatch(batch.slice(half), true);
        return;
      }
      logRefusal(error);
      for (const queued of batch) queued.reject(failure);
      return;
    }
    for (const { queued, result } of outcomes) {
      if (result instanceof Error) queued.reject(result);
      else queued.resolve(result);
    }
  }

  /** A group doesn't take the place for which another item of its agent is prepared. */
  const mayGo = ({ batch }: Group) => !batch.some(({ item }) => preparing.holds(item.agentId));

  /** Built and sent behind the batch under way, whose answers come first; resolves when that one has its own. */
  async function follow(batch: QueuedEntry[]): Promise<void> {
    await committer.built();
    const before = underway;
    const sent = committer.send(batch, before !== null);
    sent?.catch(() => {});
    const answered = (before?.answered ?? Promise.resolve()).then(() =>
      runBatch(batch, false, sent === null ? undefined : () => sent),
    );
    const own = { answered, size: batch.length };
    underway = own;
    void answered.then(() => {
      if (underway === own) underway = null;
    });
    await before?.answered;
  }

  /** A batch has costs of its own, so the next is begun when as many wait as are under way, or none is. */
  async function untilWorthwhile(): Promise<void> {
    await untilOthersJoin();
    if (underway === null || queue.length >= underway.size || groups.some(mayGo)) return;
    const { answered } = underway;
    await Promise.race([answered, new Promise<void>((resolve) => (wake = resolve))]);
  }

  async function run(): Promise<void> {
    while (queue.length > 0 || underway !== null || groups.some(mayGo)) {
      const batch = preparing.take(queue.splice(0, maxBatch));
      // Taken before others are prepared and queued: they would come after it.
      const next = groups.findIndex(mayGo);
      const [group] = next < 0 ? [] : groups.splice(next, 1);
      for (const part of refusedOwners.part(batch, committer.count()))
        if (part.length > 0) await follow(part);
      if (group !== undefined || preparing.count() > 0) await underway?.answered;
      if (group !== undefined)
        await runGroup(group, (...given) => committer.commit(...given, true), logRefusal);
      preparing.begin();
      await untilWorthwhile();
    }
    running = null;
  }

  function requireRoom(): void {
    if (queue.length + groups.length + preparing.count() >= maxQueued)
      throw new AppError("service_unavailable", "too many requests are waiting; try again shortly");
  }

  const submit = <Item extends LogEntry>(kind: LogEntryKind<Item>, item: Item) =>
    new Promise<Placed<Item>>((resolve, reject) => {
      requireRoom();
      enqueue([], [{ kind, item, resolve, reject } as unknown as QueuedEntry]);
    });

  const submitAll = <Item extends LogEntry>(kind: LogEntryKind<Item>, items: readonly Item[]) =>
    new Promise<Placed<Item>[]>((resolve, reject) => {
      requireRoom();
      kind.mergeNewAgents?.([...items]);
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

/*
 * Probes if an attestation could be stored now: a database that answers may still refuse every write (rights taken
 * away, a standby, a full disk), and a key may have been rotated away or the log put back. Leaves nothing behind.
 */

export const attestationWrites = [
  "UPDATE logs SET size = size WHERE false",
  "UPDATE log_tiles SET hashes = hashes WHERE false",
  "UPDATE agent_records SET sequence = sequence WHERE false",
  "UPDATE daily_usage SET attestations = attestations WHERE false",
  "UPDATE idempotency_keys SET response = response WHERE false",
  ...[
    "log_tiles",
    "log_checkpoints",
    "log_leaves",
    "agent_records",
    "attestations",
    "agents",
    "daily_usage",
  ].map((table) => `INSERT INTO ${table} SELECT * FROM ${table} WHERE false`),
].join("; ");

/** No autovacuum has looked here for a long time: the probe must not fill the disk itself. */
const largestProbeBytes = 8_000_000;

/** A page of the disk, which a rolled back row leaves to the next vacuum. In one statement, so in one round trip. */
const tryWriting = `DO $$ BEGIN
  ${attestationWrites};
  INSERT INTO write_probe SELECT repeat('x', 7000) WHERE pg_relation_size('write_probe') < ${largestProbeBytes};
  RAISE EXCEPTION USING ERRCODE = 'CS002';
EXCEPTION WHEN SQLSTATE 'CS002' THEN NULL;
END $$`;

const readHead = `SELECT id, size::float8 AS size, encode(root, 'hex') AS root, key_id,
    (SELECT key_id FROM signing_keys WHERE purpose = 'attestation' AND status = 'active') AS attestation_key
  FROM logs WHERE closed_at IS NULL`;

interface Row {
  id: number;
  size: number;
  root: string;
  key_id: string;
  attestation_key: string;
}

interface Given {
  database: Pick<Database, "query">;
  keys: Pick<SigningKeys, "signer" | "logSigner" | "reload">;
  guard: ForkGuard;
  lock: HeadLock | null;
  logger: Pick<Logger, "error" | "info">;
}

async function readHeadRow(database: Given["database"]): Promise<Row> {
  const { rows } = await database.query(readHead, []);
  const head = rows[0] as unknown as Row | undefined;
  if (head === undefined) throw new Error("the database has no open log");
  return head;
}

const rowToSignedHead = ({ id, size, root }: Row) => ({ logId: id, size, rootHex: root });

async function requireHead({ database, keys, guard, lock }: Given): Promise<void> {
  // Read first: whatever is committed meanwhile is on top of it.
  const kept = guard.current();
  const head = await readHeadRow(database);
  checkHead(kept, rowToSignedHead(head));
  await lock?.requireSince(async () => rowToSignedHead(await readHeadRow(database)));
  const areAtHand = () => keys.signer.keyId === head.attestation_key && keys.logSigner.keyId === head.key_id;
  if (areAtHand()) return;
  // Reloads as an attestation would after a rotation by another process.
  await keys.reload();
  if (!areAtHand()) throw new Error("the active signing keys are not at hand");
}

/** Rejects with what a client may know; the log has the cause, once for each change. */
export function createReadiness(given: Given): () => Promise<void> {
  let wasReady = true;
  const reportReadiness = (isReady: boolean, error?: unknown) => {
    if (isReady === wasReady) return;
    wasReady = isReady;
    if (isReady) given.logger.info("attestations can be stored again");
    else given.logger.error({ err: error }, "attestations can't be stored; the health check says 503");
  };
  return async () => {
    try {
      await given.database.query(tryWriting, []);
      await requireHead(given);
      reportReadiness(true);
    } catch (cause) {
      reportReadiness(false, cause);
      // A load balancer sends no attestation that would be refused here.
      if (cause instanceof ForkGuardError) count("fork guard refused", "");
      const detail = "attestations can't be stored right now; the server's log has the reason";
      throw new AppError("service_unavailable", detail, { cause });
    }
  };
}

/** The embedded database has no autovacuum, and no other process reads the table while it is emptied. */
export async function emptyProbe({ db, kind }: Database): Promise<void> {
  if (kind === "embedded") await db.execute(sql`TRUNCATE ${writeProbe}`);
}
