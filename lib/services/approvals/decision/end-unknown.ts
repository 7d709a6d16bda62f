/**
 * Ends approvals whose fate isn't known. A restored backup has them as they were: used, taken back or denied since, they
 * would work again. The new log begins with their ends (lib/log/keys/new-epoch.ts), which agents' records hold like others.
 */
import { and, asc, eq, inArray, type SQL, sql } from "drizzle-orm";
import type { Actor } from "#lib/api/http/principal";
import type { Executor } from "#lib/db/client";
import { readDatabaseTime } from "#lib/db/database-time";
import { authorizationRequests, grants } from "#lib/db/schema";
import type { LogItem, LogItemKind } from "#lib/log/sequencer/item";
import { type ChangeContext, changeKind, makeChange } from "#lib/services/agents/agent-changes";
import { databaseNow, isOpen, isRevocable, markExpired } from "#lib/services/approvals/rows";
import { makeDecision, undecided } from "./decide";
import { describeRevocation } from "./revoke";
import { decisionKind } from "./store";

const isGrant = sql<boolean>`EXISTS (SELECT FROM ${grants} WHERE ${grants.request_id} = ${authorizationRequests.id})`;
const isOverGrant = sql`EXISTS (SELECT FROM ${grants}
  WHERE ${grants.request_id} = ${authorizationRequests.id} AND ${grants.expires_at} <= ${databaseNow})`;

/** Lapsed approvals don't come back; a claimed one can be attested later. */
const isUnknown = and(
  isRevocable,
  sql`(${authorizationRequests.claimed_at} IS NOT NULL OR ${authorizationRequests.usable_until} IS NULL
    OR ${authorizationRequests.usable_until} > ${databaseNow})`,
  sql`NOT ${isOverGrant}`,
);

export interface UnknownApprovals {
  /** Approved, and not attested. */
  approvals: number;
  grants: number;
  /** Nobody has decided them, as far as this database knows. */
  waiting: number;
}

/** Approvals that {@link findUnknownApprovals} would end. */
export async function countUnknownApprovals(executor: Executor): Promise<UnknownApprovals> {
  const count = (condition: SQL | undefined) =>
    sql<number>`count(*) FILTER (WHERE ${condition})`.mapWith(Number);
  const [row] = await executor
    .select({
      approvals: count(and(isUnknown, sql`NOT ${isGrant}`)),
      grants: count(and(isUnknown, isGrant)),
      waiting: count(isOpen),
    })
    .from(authorizationRequests)
    .where(inArray(authorizationRequests.status, ["approved", "pending"]));
  return row ?? { approvals: 0, grants: 0, waiting: 0 };
}

const operator: Actor = { kind: "system", id: "new-epoch", ip: null };
const reason =
  "The service's database was restored from an older copy, so nobody knows whether this approval was used or taken back since.";

/** Approvals that end in one transaction, which holds the new log's head. */
const batchSize = 200;

interface Ending {
  kind: LogItemKind<LogItem>;
  item: LogItem;
}

/** The next of those that are still to be ended; none when all are. */
export async function findUnknownApprovals(context: ChangeContext, tx: Executor): Promise<Ending[]> {
  const { id, status, created_at } = authorizationRequests;
  const find = (condition: SQL | undefined) =>
    tx
      .select()
      .from(authorizationRequests)
      .where(condition)
      .orderBy(asc(created_at), asc(id))
      .limit(batchSize);
  const approved = await find(isUnknown);
  if (approved.length > 0)
    return approved.map((row) => ({
      kind: changeKind as LogItemKind<LogItem>,
      item: makeChange(context, describeRevocation(row, { actor: operator }, reason)),
    }));
  await markExpired(tx, eq(status, "pending"));
  const decidedAt = await readDatabaseTime(tx);
  return (await find(isOpen)).map((row) => ({
    kind: decisionKind as LogItemKind<LogItem>,
    item: makeDecision(context, row, { ...undecided, actor: operator, decidedAt, decision: "cancelled" }),
  }));
}
