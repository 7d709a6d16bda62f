/**
 * Answers in memory, each under the digest of what it was made from: every byte that could change it. Each request for one
 * has the database digest the stored bytes again, and gets the same text while none of them has changed.
 */
import { sql } from "drizzle-orm";
import { LRUCache } from "lru-cache";
import type { Database, Executor } from "#lib/db/client";
import type { Replica } from "#lib/db/postgres/replica";

export interface CachedResponse {
  digest: string;
  /** Other inputs of the answer: who sees it, and under which keys. */
  view: string;
  /** JSON in ASCII. */
  text: string;
}

export type AnswerKind = "verification" | "page" | "entry" | "feed";

const kindsOfOne = ["verification", "page", "entry"] as const satisfies AnswerKind[];

export interface ResponseCache {
  get(kind: AnswerKind, name: string): CachedResponse | undefined;
  /** Marks the beginning, before anything is read for an answer that is to be kept. */
  begin(): number;
  /** No-op if anything was forgotten since `begin`, which the answer may contain. */
  keep(begun: number, kind: AnswerKind, name: string, answer: CachedResponse): void;
  /** Forgets everything that may have the content of this attestation. */
  forget(id: string): void;
  clear(): void;
}

const mebibyte = 2 ** 20;
/** Room for answers of one attestation; those of several have a quarter of it. */
const maxBytes = 24 * mebibyte;
const overheadBytes = 300;

const createRoom = (maxSize: number) =>
  new LRUCache<string, CachedResponse>({
    maxSize,
    sizeCalculation: ({ text }) => text.length + overheadBytes,
  });

function createResponseCache(limit: number): ResponseCache {
  const ofOne = createRoom(limit);
  const ofSeveral = createRoom(Math.ceil(limit / 4));
  let forgotten = 0;
  const chooseRoom = (kind: AnswerKind) => (kind === "feed" ? ofSeveral : ofOne);
  return {
    get: (kind, name) => chooseRoom(kind).get(`${kind} ${name}`),
    begin: () => forgotten,
    keep: (begun, kind, name, answer) => {
      if (begun === forgotten) chooseRoom(kind).set(`${kind} ${name}`, answer);
    },
    forget: (id) => {
      forgotten += 1;
      for (const kind of kindsOfOne) ofOne.delete(`${kind} ${id}`);
      ofSeveral.clear();
    },
    clear: () => {
      forgotten += 1;
      ofOne.clear();
      ofSeveral.clear();
    },
  };
}

const channel = "countersign_erased";

/** Tells every process, when the transaction is committed. */
export async function announceErased(executor: Executor, id: string): Promise<void> {
  await executor.execute(sql`SELECT pg_notify(${channel}, ${id})`);
}

/** Opens the cache of a process. Where it can't hear what others erase, it remembers nothing. */
export async function openResponseCache({ listen }: Database): Promise<ResponseCache> {
  const answers = createResponseCache(listen === null ? 1 : maxBytes);
  if (listen === null) return answers;
  // Notifications sent while this process didn't listen are lost.
  await listen(channel, answers.forget, answers.clear);
  return answers;
}

/* Serves public reads, without a key or session, from the replica, if there is one. */

interface Reading {
  database: Database;
  replica: Replica | null;
}

/** Falls back to the primary if the replica misses the row or fails: a new record is there, or nowhere. */
export async function readPublicly<Context extends Reading, Value>(
  context: Context,
  read: (context: Context) => Promise<Value>,
): Promise<Value> {
  const database = context.replica?.fresh() ?? null;
  if (database === null) return read(context);
  return read({ ...context, database }).catch(() => read(context));
}

/** A client that authenticates finds what it has just written. */
export const readFor = <Context extends Reading, Value>(
  viewer: object | null,
  context: Context,
  read: (context: Context) => Promise<Value>,
): Promise<Value> => (viewer === null ? readPublicly(context, read) : read(context));
