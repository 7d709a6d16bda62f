/** Everything that was acknowledged, compared with what is stored and with what the public log proves. */
import postgres from "postgres";
import { verifyCheckpoint } from "#lib/protocol/tlog/checkpoint";
import { checkEverything, visitServer } from "#support/load";
import type { Receiver } from "#support/webhook-receiver";
import type { Ledger } from "./ledger";

export interface Comparison {
  /** Acknowledged things that are not there as they were. */
  lost: string[];
  /** Things that happened twice, or two ways. */
  doubled: string[];
  /** Things that the log does not prove. */
  forked: string[];
  /** Attestations whose answer nobody heard, and which were stored all the same. */
  storedUnheard: number;
  logSize: number;
  events: number;
}

type Sql = postgres.Sql;
type Found = Pick<Comparison, "lost" | "doubled">;

async function compareAttestations(sql: Sql, ledger: Ledger, { lost, doubled }: Found): Promise<number> {
  const rows = await sql<{ id: string; action: string | null; leaf: string; size: number | null }[]>`
    SELECT id, action, leaf_index::text AS leaf, length(payload) AS size FROM attestations`;
  const byId = new Map(rows.map((row) => [row.id, row]));
  const byAction = new Map<string, number>();
  for (const { action } of rows) if (action !== null) byAction.set(action, (byAction.get(action) ?? 0) + 1);
  for (const { id, log } of ledger.receipts) {
    const row = byId.get(id);
    if (row === undefined) lost.push(`attestation ${id}`);
    else if (row.leaf !== String(log.index)) lost.push(`leaf ${log.index} of attestation ${id}`);
    else if (row.size === null && !ledger.erasing.has(id)) lost.push(`the content of attestation ${id}`);
  }
  for (const { action, acknowledged } of ledger.sent)
    if (acknowledged.size > 1 || (byAction.get(action) ?? 0) > 1) doubled.push(`attestation ${action}`);
  return rows.length - new Set(ledger.receipts.map(({ id }) => id)).size;
}

async function compareErasures(sql: Sql, { erased }: Ledger, { lost }: Found): Promise<void> {
  const kept = await sql<{ id: string }[]>`
    SELECT id FROM attestations WHERE id = ANY(${[...erased]}) AND (payload IS NOT NULL OR action IS NOT NULL)`;
  for (const { id } of kept) lost.push(`the erasure of ${id}`);
}

async function compareDecisions(sql: Sql, ledger: Ledger, { lost, doubled }: Found): Promise<void> {
  const rows = await sql<{ id: string; status: string; leaf: string | null; given: number; used: number }[]>`
    SELECT r.id, r.status, r.leaf_index::text AS leaf,
      (SELECT count(*)::int FROM approvals a WHERE a.request_id = r.id) AS given,
      (SELECT count(*)::int FROM attestations t WHERE t.authorization_id = r.id) AS used
    FROM authorization_requests r`;
  const byId = new Map(rows.map((row) => [row.id, row]));
  for (const id of ledger.authorizations) if (!byId.has(id)) lost.push(`request ${id}`);
  for (const [id, decisions] of ledger.decisions) {
    if (decisions.size > 1) doubled.push(`the decision of ${id}: ${[...decisions].join(" and ")}`);
    for (const decision of decisions)
      if (byId.get(id)?.status !== decision)
        lost.push(`${decision} of ${id}, which is ${byId.get(id)?.status}`);
  }
  for (const { id, given, used } of rows) {
    if (given > 1) doubled.push(`approval of ${id}`);
    if (used > 1) doubled.push(`use of ${id}`);
  }
  for (const { authorizationId: id, acknowledged } of ledger.sent)
    if (id !== null && acknowledged.size > 1) doubled.push(`use of ${id}`);
}

/** Each attestation and each decision has one leaf, and each such leaf belongs to one. */
async function compareLeaves(sql: Sql, { doubled }: Found): Promise<void> {
  const [row] = await sql<{ attested: string; decided: string }[]>`
    SELECT (SELECT count(*) FROM log_leaves WHERE kind = 'attestation') - (SELECT count(*) FROM attestations) AS attested,
      (SELECT count(*) FROM log_leaves WHERE kind = 'decision')
        - (SELECT count(*) FROM authorization_requests WHERE leaf_index IS NOT NULL) AS decided`;
  if (row?.attested !== "0") doubled.push(`${row?.attested} leaves too many of attestations`);
  if (row?.decided !== "0") doubled.push(`${row?.decided} leaves too many of decisions`);
}

/** Every event has its message, unless its subject was erased, and every message has come at least once. */
async function compareEvents(sql: Sql, receiver: Receiver, { lost }: Found): Promise<number> {
  const silent = await sql<{ id: string }[]>`
    SELECT id::text FROM attestations t WHERE payload IS NOT NULL AND NOT EXISTS
      (SELECT FROM webhook_messages m WHERE m.subject = t.id::text AND m.type = 'attestation.created')
    UNION ALL SELECT id FROM authorization_requests r WHERE status <> 'pending'
      AND NOT (status = 'approved' AND human_authorization IS NULL) AND NOT EXISTS
      (SELECT FROM webhook_messages m WHERE m.subject = r.id AND m.type = 'authorization.' || r.status)`;
  for (const { id } of silent) lost.push(`the event of ${id}`);
  const isPending = async () => {
    // As if the time had passed after which the next attempt is due, or a dead process is given up.
    const waiting = await sql`UPDATE webhook_deliveries SET next_attempt_at = now() WHERE status = 'pending'
      AND next_attempt_at > now() + interval '1 second' AND last_attempt_at < now() - interval '15 seconds'`;
    const [row] = await sql`SELECT count(*)::int AS n FROM webhook_deliveries WHERE status = 'pending'`;
    return waiting.count + Number(row?.["n"]) > 0;
  };
  while (await isPending()) await new Promise((resolve) => setTimeout(resolve, 500));
  const messages = await sql<{ id: string }[]>`SELECT id FROM webhook_messages`;
  const arrived = new Set(receiver.received.map(({ headers }) => headers["webhook-id"] ?? ""));
  for (const { id } of messages) if (!arrived.has(id)) lost.push(`message ${id}`);
  return messages.length;
}

/** The log holds, and extends every checkpoint that anyone was shown. */
async function findForks(base: string, ledger: Ledger): Promise<{ forked: string[]; size: number }> {
  const forked: string[] = [];
  const { log, logKey } = await visitServer(base);
  const { size } = await log.checkpoint();
  for (const text of ledger.checkpoints) {
    const verdict = verifyCheckpoint(text, logKey);
    if (!verdict.ok) forked.push(verdict.problem);
    else if (!(await log.isPrefix(verdict.checkpoint, size)))
      forked.push(`the log does not extend its checkpoint of size ${verdict.checkpoint.size}`);
  }
  await checkEverything(base, ledger.receipts).catch((error: Error) => forked.push(error.message));
  return { forked, size };
}

export async function compare(
  ledger: Ledger,
  at: { base: string; databaseUrl: string; receiver: Receiver },
): Promise<Comparison> {
  const sql = postgres(at.databaseUrl, { max: 1, onnotice: () => {} });
  try {
    const found: Found = { lost: [], doubled: [] };
    const storedUnheard = await compareAttestations(sql, ledger, found);
    await compareErasures(sql, ledger, found);
    await compareDecisions(sql, ledger, found);
    await compareLeaves(sql, found);
    const events = await compareEvents(sql, at.receiver, found);
    const { forked, size } = await findForks(at.base, ledger);
    return { ...found, forked, storedUnheard, logSize: size, events };
  } finally {
    await sql.end();
  }
}
