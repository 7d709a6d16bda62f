/**
 * One interface to the database, embedded (PGlite, files under DATA_DIR) or PostgreSQL. Inside a
 * transaction use only `tx`: the embedded database has one session and would wait for itself.
 */
import { type SQL, sql } from "drizzle-orm";
import type { PgDatabase, PgQueryResultHKT } from "drizzle-orm/pg-core";
import { startLockKey } from "#lib/db/postgres/first-connection";
import { logIfSlow } from "./migrations";
import type * as schema from "./schema";

export type Executor = PgDatabase<PgQueryResultHKT, typeof schema>;

export type Statement<Row extends object> = (...parameters: unknown[]) => Promise<Row[]>;

/**
 * Calls back with each payload sent by NOTIFY on the channel, by this process or another; and whenever it listens, at
 * first and after its connection was lost, because the server doesn't keep what was sent in between.
 */
export type Listen = (
  channel: string,
  onPayload: (payload: string) => void,
  onListening?: () => void,
) => Promise<void>;

/** Writing statements wait for locks, so they have connections of their own, and reads don't wait behind them. */
export type StatementUse = "read" | "write";

export interface Database {
  kind: "embedded" | "postgres";
  /** Behind a pooler that shares server connections between transactions: correct, and slower. */
  isPooled: boolean;
  /** True if every statement that ended since then (of `performance.now()`) has reached it. */
  wasReachableSince(ms: number): boolean;
  db: Executor;
  /**
   * Executor of transactions whose first statements only lock or read: BEGIN leaves together with them, in one round trip. If
   * it fails, they alone have run, outside of a transaction.
   */
  pipelined: Pick<Executor, "transaction">;
  /**
   * A statement of the hot path: one text with $1 parameters, parsed and planned once for each connection and answered
   * in one round trip, whose plan uses indexes whatever the tables held when it was made. `bigint` comes as a number.
   */
  statement<Row extends object>(text: string, use?: StatementUse): Statement<Row>;
  /**
   * A reading statement that answers many callers at once (./batched-reads.ts). `types` are those of its parameters,
   * none of them a list. Callers with the same parameters get the same rows, so they must not change them.
   */
  batched<Row extends object>(text: string, types: readonly string[]): Statement<Readonly<Row>>;
  /** Plain SQL with $1 parameters, for libraries that bring their own statements. */
  query(text: string, values: unknown[]): Promise<{ rows: Record<string, unknown>[] }>;
  /** Null behind a pooler, unless there is an address for listening. */
  listen: Listen | null;
  close(): Promise<void>;
}

/** Runs `work` in one transaction while no other starting process of this database is inside. */
export async function withStartLock<T>(database: Database, work: (tx: Executor) => Promise<T>): Promise<T> {
  return database.db.transaction(async (tx) => {
    // The process inside may be making keys, which takes its time on a busy machine.
    await tx.execute(sql`SET LOCAL lock_timeout = 0`);
    const lock = tx.execute(sql`SELECT pg_advisory_xact_lock(${startLockKey})`);
    await logIfSlow("another process that is starting on this database", lock);
    return work(tx);
  });
}

/**
 * Statements of one transaction in one round trip: sent in the order of the steps, each with a snapshot of its own, and none
 * waits for another's answer. A step asks before it waits for anything. Settles when all have, so that none is left behind to
 * be sent after a rollback.
 */
export async function pipeline<Steps extends (() => Promise<unknown>)[]>(
  ...steps: Steps
): Promise<{ [Index in keyof Steps]: Awaited<ReturnType<Steps[Index]>> }> {
  // Called one by one, all within one turn: the driver takes what each asks in the same order.
  const settled = await Promise.allSettled(steps.map(async (step) => step()));
  const values = settled.map((one) => {
    if (one.status === "rejected") throw one.reason;
    return one.value;
  });
  return values as { [Index in keyof Steps]: Awaited<ReturnType<Steps[Index]>> };
}

/** The rows of a plain statement. Cast in SQL what must not be text. */
export async function queryRows<T>(executor: Executor, statement: SQL): Promise<T[]> {
  return (await executor.execute(statement)) as unknown as T[];
}

export type ArrayElement = string | number | boolean | Uint8Array | null | undefined;

/** A comma, a brace, a quote, a backslash, white space, the word NULL or nothing at all must be quoted. */
const needsQuotes = /[\s,{}"\\]|^null$|^$/i;

function writeElement(element: ArrayElement): string {
  if (element === null || element === undefined) return "NULL";
  if (element instanceof Uint8Array)
    return `\\\\x${Buffer.from(element.buffer, element.byteOffset, element.length).toString("hex")}`;
  const text = String(element);
  return needsQuotes.test(text) ? `"${text.replaceAll(/["\\]/g, "\\$&")}"` : text;
}

/**
 * List as PostgreSQL reads it from text (manual, section 8.15.2). Drivers guess the types of lists, each its own way;
 * text they pass on as it is, and the server knows what it expects.
 */
export function arrayLiteral(elements: readonly ArrayElement[]): string {
  return `{${elements.map(writeElement).join(",")}}`;
}

/** Pattern of LIKE: `%`, `_` and `\` of the text mean themselves. */
export const containing = (text: string) => `%${text.replaceAll(/[\\%_]/g, "\\$&")}%`;

const byteaOid = 17;

/** List of bytes in PostgreSQL's own format (array_recv): half the size of text, and copied where text is parsed. */
function packBytes(elements: readonly ArrayElement[]): Uint8Array {
  const parts = elements.map((element) => (element instanceof Uint8Array ? element : null));
  const packed = Buffer.allocUnsafe(parts.reduce((size, part) => size + 4 + (part?.length ?? 0), 20));
  let end = 0;
  const writeNumber = (value: number) => {
    end = packed.writeInt32BE(value, end);
  };
  // One dimension, possibly with nulls, counted from 1.
  for (const value of [1, 1, byteaOid, parts.length, 1]) writeNumber(value);
  for (const part of parts) {
    writeNumber(part?.length ?? -1);
    if (part === null) continue;
    packed.set(part, end);
    end += part.length;
  }
  return packed;
}

/** List as a parameter of a statement: bytes packed, all else as text. */
export const packList = (elements: readonly ArrayElement[]): string | Uint8Array =>
  elements.some((element) => element instanceof Uint8Array) ? packBytes(elements) : arrayLiteral(elements);
