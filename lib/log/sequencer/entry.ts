/** Entry for the log, from its maker to the batch that seals and stores it. */

import { availableParallelism } from "node:os";
import type { LogReceipt } from "#lib/api/schemas/attest";
import type { ArrayElement, Executor } from "#lib/db/client";
import { AppError } from "#lib/errors";
import type { Share } from "#lib/jobs/fair-queue";
import type { WorkerPool } from "#lib/jobs/zk-worker-pool";
import type * as logWorker from "#lib/log/signing/log-worker";
import type { SigningJob } from "#lib/log/signing/log-worker";
import type { Signer, SigningKeys } from "#lib/log/signing/signing-keys";
import type { Logger } from "#lib/logger";
import { type JoinedBytes, joinBytes, splitBytes } from "#lib/protocol/encoding/bytes";
import { isSamePlace, type RecordPlace } from "#lib/protocol/record/agent-record";
import type { ClientNumber } from "#lib/protocol/statement/statement";
import { type SealedStatement, signStatement } from "#lib/protocol/tlog/log-leaf";

export interface UnsignedStatement {
  signer: Signer;
  payload: Uint8Array;
}

export interface HashedStatement extends UnsignedStatement {
  payloadHash: Uint8Array;
}

export interface SigningThread {
  /** Fewer statements are signed before it has answered. */
  least: number;
  isReady(): boolean;
  run(job: SigningJob): Promise<JoinedBytes>;
}

/** A batch that finds no thread is signed without it: its start takes a tenth of a second, and serves the next. */
export function openSigningThread(
  pool: Pick<WorkerPool<typeof logWorker>, "run" | "load" | "threadCount">,
  share: Share,
  processors = availableParallelism(),
): SigningThread {
  const isReady = () => {
    if (processors < 2 || pool.load().running > 0) return false;
    if (pool.threadCount() > 0) return true;
    pool.run("verifySignatures", joinBytes([]), share).catch(() => {});
    return false;
  };
  return { least: 32, isReady, run: (job) => pool.run("signStatements", job, share) };
}

/** Null if they are few or of several keys, or the thread is busy or fails. */
async function signAside(unsigned: readonly HashedStatement[], thread: SigningThread) {
  const [first] = unsigned;
  if (first === undefined || unsigned.length < thread.least || !thread.isReady()) return null;
  if (unsigned.some(({ signer }) => signer !== first.signer)) return null;
  const payloads = joinBytes(unsigned.map(({ payload }) => payload));
  const signed = await first.signer
    .lendSeed(2 * unsigned.length, (seed) => thread.run({ seed, ...payloads }))
    .catch(() => null);
  return signed && splitBytes(signed);
}

export async function signBatch(
  unsigned: readonly HashedStatement[],
  thread: SigningThread | undefined,
): Promise<SealedStatement[]> {
  const signed = thread === undefined ? null : await signAside(unsigned, thread);
  return unsigned.map(({ signer, payload, payloadHash }, i) => {
    const [signature, envelopeSignature, leaf] = signed?.slice(3 * i, 3 * i + 3) ?? [];
    return signature && envelopeSignature && leaf
      ? { payload, payloadHash, signature, envelopeSignature, leaf }
      : signStatement(signer, payload, payloadHash);
  });
}

/** Position, assigned by the batch, where the order is known. */
export interface Place {
  record: RecordPlace;
  /** True if its own number does not follow the last one of its instance; null without one. */
  clientGap: boolean | null;
}

export function requirePlace(place: Place | null): Place {
  if (place === null) throw new Error("an item of an agent has no place in its record");
  return place;
}

export const isSamePosition = (a: Place, b: Place) =>
  isSamePlace(a.record, b.record) && a.clientGap === b.clientGap;

export interface LogEntry {
  /** Bytes to be signed, with the position of the item in them; null without an `agentId`. */
  build(place: Place | null): UnsignedStatement;
  /** The agent whose record it belongs to; the service's own statements are in none. */
  agentId?: string;
  client?: ClientNumber | null;
  /** True if its agent's feed counts it. */
  isListed?: boolean;
  /** Invalidates what the entry was made from: it must be read again. */
  forget?: () => void;
  preparation?: Preparation;
  keyId: string;
  /** The BBS key that the leaf's statement names, if it names one: it must be the active one too. */
  zkKeyId?: string | undefined;
  /** The active key that `keyId` takes the place of by this very item. */
  replacesKeyId?: string | undefined;
  /** The batch calls it before it locks anything but the head. It throws if the caller may no longer do this. */
  lockAndRecheckKey?: ((tx: Executor) => Promise<void>) | undefined;
  /** Quarantine key: if the database's functions refuse the item, its owner's go into batches of their own for a while. */
  owner?: string | undefined;
}

export interface Preparation {
  readonly place: Place | null;
  make(place: Place): Promise<void>;
}

/** True if the preparation is still to be made, or was made for a position in another agent's record. */
export const isUnprepared = ({ preparation, agentId }: LogEntry) =>
  preparation !== undefined && preparation.place?.record.agent_id !== agentId;

export interface Placed<Item> {
  item: Item;
  logId: number;
  place: Place | null;
  sealed: SealedStatement;
  receipt: LogReceipt;
}

/** Columns that every table of logged statements has. */
export const placedColumns = ({ item, logId, receipt, sealed }: Placed<LogEntry>) => ({
  log_id: logId,
  leaf_index: receipt.index,
  payload: sealed.payload,
  signature: sealed.signature,
  envelope_signature: sealed.envelopeSignature,
  signed_by: item.keyId,
});

/** Reason why the database's functions can't store an entry as it is. Each kind has its own verdicts and details. */
export interface Verdict {
  leaf_index: number;
  verdict: string;
  [detail: string]: unknown;
}

/** Rejected with this error; or retried in its place, or after the rest of its batch. */
export type Rejection = AppError | "again" | "after";

export type LeafKind =
  | "attestation"
  | "decision"
  | "agent_change"
  | "key_event"
  | "epoch"
  | "agent_heads"
  | "ruleset"
  | "approver_roster"
  | "planted_requests";

/** Parameter of a database's function: a value, or a column of the batch. */
export type Parameter = ArrayElement | readonly ArrayElement[];

export interface FunctionCall {
  name: string;
  parameters: readonly Parameter[];
  /** Function for a batch of one: does this and what `append_leaves` does, with both's parameters without lists. */
  alone?: string;
}

export interface LogEntryKind<Item extends LogEntry> {
  kind: LeafKind;
  /** True if `admit` locks agents, which comes before it locks anything else of theirs. */
  locksAgents?: boolean;
  /** True if `admit` locks organizations, which comes before agents. */
  locksOrganizations?: boolean;
  /** The last checks, under the head's lock; an error for each item that must not be stored. */
  admit?(tx: Executor, items: Item[]): Promise<(AppError | null)[]>;
  store?(tx: Executor, placed: Placed<Item>[]): Promise<void>;
  /**
   * Or functions of the database check and store it, in one statement with the leaves: all items or none, with a
   * verdict for each that is in the way. A batch of such items needs no look-ups.
   */
  insertStatements?(placed: Placed<Item>[]): FunctionCall[];
  toRejection?(item: Item, verdict: Verdict): Rejection;
  /** Items that claim the same slug get one agent, the first's. */
  mergeNewAgents?(items: Item[]): void;
}

export interface QueuedEntry {
  kind: LogEntryKind<LogEntry>;
  item: LogEntry;
  resolve: (placed: Placed<LogEntry>) => void;
  reject: (error: unknown) => void;
}

export interface Outcome {
  queued: QueuedEntry;
  result: Placed<LogEntry> | Error;
}

export interface Group {
  batch: QueuedEntry[];
  resolve: (placed: Placed<LogEntry>[]) => void;
  reject: (error: unknown) => void;
}

/** Nothing of a group was stored. Holds, for each item, why it is in the way; null for one that is not. */
export class GroupRefused extends Error {
  readonly reasons: readonly (AppError | null)[];
  constructor(reasons: readonly (AppError | null)[]) {
    super("a group was refused");
    this.reasons = reasons;
  }
}

/** A key was rotated since the item was signed, or a new log opened: load the keys and sign again. */
export class SigningKeyChanged extends Error {}

/** Inputs (a registration, a setting) changed since the entry was built; rebuild it. */
export class StaleInputs extends AppError {
  constructor() {
    super("service_unavailable", "what this depends on was changed at the same moment; try again");
  }
}

/*
 * Makes and signs an item and puts it into the log. If the key was rotated in between, by this process or another, the
 * new key is loaded and the item made again; so it is if what it was made from was changed.
 */

/** More changes than this during one request can't be meant. */
const maxAttempts = 3;

interface Reloading {
  logger: Logger;
  keys: Pick<SigningKeys, "reload">;
}

interface Submitting extends Reloading {
  log: {
    submit<Item extends LogEntry>(kind: LogEntryKind<Item>, item: Item): Promise<Placed<Item>>;
    submitAll<Item extends LogEntry>(
      kind: LogEntryKind<Item>,
      items: readonly Item[],
    ): Promise<Placed<Item>[]>;
  };
}

async function reloadKeys(context: Reloading): Promise<void> {
  try {
    await context.keys.reload();
  } catch (cause) {
    context.logger.error({ err: cause }, "a key was rotated, and the new one is not at hand");
    const detail = "a signing key was rotated, and this process does not have the new one yet";
    throw new AppError("service_unavailable", detail, { cause });
  }
}

const isOutdated = (error: unknown) => error instanceof SigningKeyChanged || error instanceof StaleInputs;

const rejection = (reason: unknown): PromiseRejectedResult => ({ status: "rejected", reason });

/** Rejected ones keep their reason; the others were not stored because of them. */
function refuseAll(reasons: readonly unknown[]): PromiseRejectedResult[] {
  const other = new AppError("batch_refused", "another entry was refused, so nothing was recorded");
  return reasons.map((reason) => rejection(reason ?? other));
}

/** Stores all that is made or nothing. A result for each; only a failure of the whole is thrown. */
export async function submitAllSigned<Item extends LogEntry>(
  context: Submitting,
  kind: LogEntryKind<Item>,
  make: (attempt: number) => Promise<PromiseSettledResult<Item>[]>,
): Promise<PromiseSettledResult<Placed<Item>>[]> {
  for (let attempt = 1; ; attempt += 1) {
    const made = await make(attempt);
    const items = made.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
    if (items.length < made.length)
      return refuseAll(made.map((one) => (one.status === "rejected" ? one.reason : null)));
    try {
      const placed = await context.log.submitAll(kind, items);
      return placed.map((value) => ({ status: "fulfilled", value }));
    } catch (error) {
      const reasons = error instanceof GroupRefused ? error.reasons : [error];
      if (attempt < maxAttempts && reasons.some(isOutdated)) {
        if (reasons.some((reason) => reason instanceof SigningKeyChanged)) await reloadKeys(context);
        continue;
      }
      if (error instanceof GroupRefused) return refuseAll(error.reasons);
      throw error;
    }
  }
}

export async function submitSigned<Item extends LogEntry>(
  context: Submitting,
  kind: LogEntryKind<Item>,
  make: (attempt: number) => Promise<Item>,
): Promise<Placed<Item>> {
  for (let attempt = 1; ; attempt += 1) {
    const item = await make(attempt);
    try {
      return await context.log.submit(kind, item);
    } catch (error) {
      if (attempt === maxAttempts || !isOutdated(error)) throw error;
      if (error instanceof SigningKeyChanged) await reloadKeys(context);
    }
  }
}
