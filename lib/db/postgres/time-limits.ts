/** Limits on the time of PostgreSQL's statements, locks and transactions: set for a session, or a pooler's transaction. */
import type postgres from "postgres";

/* Planning of the hot path's statements. */

/**
 * A generic plan, made once for each connection: if the tables were empty then, or had no statistics, it must use their
 * indexes all the same, and in their order. A bitmap has none, so a page would cost all rows of an agent; nor has what is
 * sorted, which looks free while statistics count a few hundred rows, and reads all rows of a log.
 */
export const planSettings = {
  plan_cache_mode: "force_generic_plan",
  enable_seqscan: "off",
  enable_bitmapscan: "off",
  enable_hashjoin: "off",
  enable_mergejoin: "off",
  enable_sort: "off",
  jit: "off",
};

/** No statement may take longer. */
export const statementTimeoutMs = 15_000;
/** No request waits longer for a statement and its turn: the answer is 503. An agent's page has three in a row. */
export const overdueMs = 8_000;
/** A longer lock is not the service's, whose own take milliseconds. */
const lockTimeoutMs = 3_000;

/** Settings of a session from its start, if sessions are ours. */
export const sessionSettings = {
  statement_timeout: statementTimeoutMs,
  lock_timeout: lockTimeoutMs,
  idle_in_transaction_session_timeout: 2 * statementTimeoutMs,
};

const setLocally = (settings: object) =>
  Object.entries(settings)
    .map(([name, value]) => `SET LOCAL ${name} = ${value}`)
    .join("; ");

/** Settings of each transaction instead, if they are not. */
const limits = setLocally(sessionSettings);
/** Settings of the hot path's functions: a session with other uses plans each of their statements again at every call. */
export const limitsAndPlans = setLocally({ ...sessionSettings, ...planSettings });

type Work = (tx: postgres.TransactionSql) => Promise<unknown>;

/** BEGIN leaves with the settings, and nothing more is sent before both were answered. */
export const inLimits = (client: postgres.Sql, work: Work, mode = "", settings = limits) =>
  client.beginPipelined(mode, async (tx) => {
    await tx.unsafe(settings);
    return work(tx);
  });

/**
 * Part of the client that drizzle uses, each statement within the time limits: one that is alone is a transaction too.
 */
export function limitTransactions(client: postgres.Sql): postgres.Sql {
  const unsafe = (...statement: Parameters<postgres.Sql["unsafe"]>) => ({
    // biome-ignore lint/suspicious/noThenProperty: as the driver's own query, which runs when it is awaited
    then: (...settle: Parameters<Promise<unknown>["then"]>) =>
      inLimits(client, async (tx) => tx.unsafe(...statement)).then(...settle),
    values: () => inLimits(client, async (tx) => tx.unsafe(...statement).values()),
  });
  const begin = (...given: [Work] | [string, Work]) =>
    given.length === 1 ? inLimits(client, given[0]) : inLimits(client, given[1], given[0]);
  return new Proxy(client, {
    get: (target, name, receiver) =>
      name === "begin" ? begin : name === "unsafe" ? unsafe : Reflect.get(target, name, receiver),
  });
}
