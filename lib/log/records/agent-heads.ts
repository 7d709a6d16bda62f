/**
 * Snapshots of the heads of all agents' records (lib/protocol/record/agent-heads.ts): read at one moment, put in order by a
 * worker, and signed into the log only if every leaf is counted. From 100,000 agents on only what has changed is read.
 */
import { and, desc, eq, isNotNull, lt, type SQL, sql } from "drizzle-orm";
import { type Executor, queryRows } from "#lib/db/client";
import { agentHeads, logLeaves, logs } from "#lib/db/schema";
import { AppError } from "#lib/errors";
import type { LogContext } from "#lib/log/context";
import { readOpenHead } from "#lib/log/reading/reader";
import { kindsOfRecords } from "#lib/log/sequencer/append";
import {
  type LogEntry,
  type LogEntryKind,
  type Placed,
  placedColumns,
  submitSigned,
} from "#lib/log/sequencer/entry";
import { concatBytes } from "#lib/protocol/encoding/bytes";
import {
  type AgentHeads,
  addsUp,
  buildHeadsStatement,
  type mergeHeads,
} from "#lib/protocol/record/agent-heads";

type Merged = ReturnType<typeof mergeHeads>;

export interface SnapshotContext extends Pick<LogContext, "database" | "clock" | "log" | "logger"> {
  keys: Pick<LogContext["keys"], "signer" | "reload">;
  /** `mergeHeads`, off the request thread where there is one. */
  merge(before: Uint8Array, given: Uint8Array): Promise<Merged>;
}

interface HeadsItem extends LogEntry {
  logId: number;
  heads: Pick<AgentHeads, "covers_size" | "agents">;
  last: Pick<LastSnapshot, "log_id" | "covers_size"> | null;
  merged: Merged;
}

async function readLast(executor: Executor) {
  const { log_id, covers_size, agents, created_at } = agentHeads;
  const [last] = await executor
    .select({ log_id, covers_size, agents, created_at, hasRows: isNotNull(agentHeads.rows) })
    .from(agentHeads)
    .orderBy(desc(log_id), desc(covers_size))
    .limit(1);
  return last ?? null;
}

type LastSnapshot = NonNullable<Awaited<ReturnType<typeof readLast>>>;

/** Thrown if another process was first, so that there is one. */
export class SnapshotTaken extends AppError {
  constructor() {
    super("idempotency_conflict", "another snapshot was made at the same moment");
  }
}

const isSame = (a: HeadsItem["last"], b: HeadsItem["last"]) =>
  a?.log_id === b?.log_id && a?.covers_size === b?.covers_size;

const agentHeadsKind: LogEntryKind<HeadsItem> = {
  kind: "agent_heads",
  admit: async (tx, items) => {
    const [last, open] = [await readLast(tx), await readOpenHead(tx)];
    return items.map((item, i) =>
      i === 0 && item.logId === open.id && isSame(item.last, last) ? null : new SnapshotTaken(),
    );
  },
  store: async (tx, placed) => {
    for (const one of placed as Placed<HeadsItem>[]) {
      const { covers_size, agents } = one.item.heads;
      const { rows, nodes } = one.item.merged;
      await tx.insert(agentHeads).values({ ...placedColumns(one), covers_size, agents, rows, nodes });
    }
  },
};

const headsAtOnce = 10_000;

/** Reads the input of lib/protocol/record/agent-heads.ts, for all agents or for those with a new entry. */
async function readHeads(tx: Executor, since: LastSnapshot | null): Promise<Uint8Array> {
  const pages: Uint8Array[] = [];
  const changed =
    since === null
      ? sql`true`
      : sql`agent_id IN (SELECT agent_id FROM log_leaves WHERE agent_id IS NOT NULL
          AND (log_id, leaf_index) >= (${since.log_id}::int, ${since.covers_size}::bigint))`;
  let after: string | null = "00000000-0000-0000-0000-000000000000";
  while (after !== null) {
    const page: SQL = sql`SELECT max(id) AS last, string_agg(head, ''::bytea ORDER BY id) AS heads, count(*)::int AS count
      FROM (SELECT agent_id::text AS id, salt || convert_to(agent_id::text, 'UTF8') || int8send(sequence) || link AS head
        FROM agent_records WHERE sequence > 0 AND agent_id > ${after}::uuid AND ${changed}
        ORDER BY agent_id LIMIT ${headsAtOnce}) AS page`;
    const [row] = await queryRows<{ last: string | null; heads: Uint8Array | null; count: number }>(tx, page);
    if (row?.heads) pages.push(new Uint8Array(row.heads));
    after = row?.count === headsAtOnce ? row.last : null;
  }
  return concatBytes(...pages);
}

async function readRows(tx: Executor, { log_id, covers_size }: LastSnapshot): Promise<Uint8Array> {
  const [row] = await tx
    .select({ rows: agentHeads.rows })
    .from(agentHeads)
    .where(and(eq(agentHeads.log_id, log_id), eq(agentHeads.covers_size, covers_size)));
  return row?.rows ?? new Uint8Array();
}

export const isStatement = sql`${logLeaves.kind} NOT IN ${sql.raw(kindsOfRecords)}`;

async function gather({ database }: SnapshotContext, incrementalFrom: number) {
  return database.db.transaction(
    async (tx) => {
      const head = await readOpenHead(tx);
      const last = await readLast(tx);
      const isIncremental = last?.hasRows === true && last.agents >= incrementalFrom;
      const [earlier] = await tx
        .select({ size: sql<number>`coalesce(sum(${logs.size}), 0)`.mapWith(Number) })
        .from(logs)
        .where(isNotNull(logs.closed_at));
      return {
        head,
        last,
        before: isIncremental ? await readRows(tx, last) : new Uint8Array(),
        given: await readHeads(tx, isIncremental ? last : null),
        statements: await tx.$count(logLeaves, isStatement),
        earlierSize: earlier?.size ?? 0,
      };
    },
    { isolationLevel: "repeatable read", accessMode: "read only" },
  );
}

const incrementalFromAgents = 100_000;

async function makeItem(context: SnapshotContext, incrementalFrom: number): Promise<HeadsItem> {
  // Taken before anything is read, so that nothing that was there then is left out.
  const at = context.clock().toISOString();
  const { head, last, before, given, ...counted } = await gather(context, incrementalFrom);
  const merged = await context.merge(before, given);
  const { signer } = context.keys;
  const about = {
    log_origin: head.origin,
    covers_size: head.size,
    statements: counted.statements,
    earlier_size: counted.earlierSize,
    at,
    signed_by: signer.keyId,
  };
  const heads = { ...about, agents: merged.agents, entries: merged.entries };
  if (!addsUp({ ...heads, root: "" }))
    throw new Error(`the agents' records do not add up to the log: ${JSON.stringify(heads)}`);
  const payload = buildHeadsStatement(merged, about);
  return {
    keyId: signer.keyId,
    logId: head.id,
    heads,
    last,
    merged,
    build: () => ({ signer, payload }),
  };
}

export interface Snapshot {
  coversSize: number;
  agents: number;
  index: number;
}

/** Throws if the records do not add up, or another process made one at the same moment. */
export async function makeSnapshot(
  context: SnapshotContext,
  incrementalFrom = incrementalFromAgents,
): Promise<Snapshot> {
  const { item, receipt } = await submitSigned(context, agentHeadsKind, () =>
    makeItem(context, incrementalFrom),
  );
  return { coversSize: item.heads.covers_size, agents: item.heads.agents, index: receipt.index };
}

/** Counts the leaves since the newest snapshot, without its own statement; null time if there is none. */
export async function readSinceSnapshot(executor: Executor): Promise<{ leaves: number; at: Date }> {
  const [last, head] = [await readLast(executor), await readOpenHead(executor)];
  const leaves = head.size - (last?.log_id === head.id ? last.covers_size + 1 : 0);
  return { leaves, at: last?.created_at ?? head.created_at };
}

/** Null if there is no such snapshot, or its rows were dropped. */
export async function readHeadRows(
  executor: Executor,
  logId: number,
  coversSize: number,
): Promise<Uint8Array | null> {
  const [snapshot] = await executor
    .select({ rows: agentHeads.rows })
    .from(agentHeads)
    .where(and(eq(agentHeads.log_id, logId), eq(agentHeads.covers_size, coversSize)));
  return snapshot?.rows ?? null;
}

/** Rows of old snapshots: their statements stay, and the newest is always whole. */
export async function dropOldRows(executor: Executor, before: Date): Promise<void> {
  const last = await readLast(executor);
  if (last === null) return;
  const isOlder = sql`(${agentHeads.log_id}, ${agentHeads.covers_size}) < (${last.log_id}::int, ${last.covers_size}::bigint)`;
  await executor
    .update(agentHeads)
    .set({ rows: null, nodes: null })
    .where(and(isOlder, isNotNull(agentHeads.rows), lt(agentHeads.created_at, before)));
}
