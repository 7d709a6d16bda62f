/**
 * The statements and transactions of a client that wait for an answer. The driver has no limit for how long: it sends
 * statements one behind the other on a connection, and each may wait for a lock until the server ends it. So a request that
 * waits for too long gets an error, while the statement itself may still run.
 */
import type postgres from "postgres";
import { isUnreachable, OVERDUE } from "./failures";

interface Waiting {
  sinceMs: number;
  /** A transaction that has its connection: from here on the server's own limits hold. */
  isStarted: boolean;
  isOverdue: boolean;
  /** Null once it was called, or if the wait has no limit. */
  giveUp: (() => void) | null;
}

export interface WaitingList {
  /** The client, whose statements and transactions are known to wait. */
  follow(client: postgres.Sql): postgres.Sql;
  /** When the one that waits longest was asked; null if none does. */
  oldestMs(): number | null;
  /** Ends the wait of those for a turn or an answer since then that there is none. */
  giveUpSince(ms: number): void;
  /** True if every statement that ended since then has reached the database. */
  wasReachableSince(ms: number): boolean;
}

const overdue = () =>
  Object.assign(new Error("the database does not answer this statement in time"), { code: OVERDUE });

export function createWaitingList(now: () => number): WaitingList {
  const waiting = new Set<Waiting>();
  let failedMs = Number.NEGATIVE_INFINITY;

  /** The answer, or the end of the wait for it. */
  function limit<T>(one: Waiting, answer: Promise<T>): Promise<T> {
    waiting.add(one);
    return new Promise((resolve, reject) => {
      one.giveUp = () => {
        one.giveUp = null;
        one.isOverdue = true;
        failedMs = now();
        reject(overdue());
      };
      answer.then(
        (value) => {
          waiting.delete(one);
          resolve(value);
        },
        (error: unknown) => {
          waiting.delete(one);
          if (isUnreachable(error)) failedMs = now();
          reject(error);
        },
      );
    });
  }

  const begin = (): Waiting => ({ sinceMs: now(), isStarted: false, isOverdue: false, giveUp: null });

  /** The driver sends a statement when it is first awaited. */
  function followStatement<Query extends Promise<unknown>>(query: Query): Query {
    const send = query.then.bind(query);
    let answer: Promise<unknown> | null = null;
    const then: typeof send = (...settle) => {
      answer ??= limit(begin(), new Promise((resolve, reject) => void send(resolve, reject)));
      return answer.then(...settle);
    };
    return Object.assign(query, { then });
  }

  type Work = (tx: postgres.TransactionSql) => unknown;
  function followTransaction(client: postgres.Sql, given: unknown[]): Promise<unknown> {
    const one = begin();
    const work = given.pop() as Work;
    const start: Work = (tx) => {
      if (one.isOverdue) throw overdue();
      one.isStarted = true;
      return work(tx);
    };
    return limit(one, client.begin(...(given as [string]), start));
  }

  return {
    follow: (client) =>
      new Proxy(client, {
        get(target, name, receiver) {
          if (name === "unsafe")
            return (...given: Parameters<postgres.Sql["unsafe"]>) => followStatement(target.unsafe(...given));
          if (name === "begin") return (...given: unknown[]) => followTransaction(target, given);
          return Reflect.get(target, name, receiver);
        },
      }),
    oldestMs: () => {
      for (const { sinceMs } of waiting) return sinceMs;
      return null;
    },
    giveUpSince: (ms) => {
      for (const one of waiting) {
        if (one.sinceMs > ms) break;
        if (!one.isStarted) one.giveUp?.();
      }
    },
    wasReachableSince: (ms) => failedMs < ms,
  };
}
