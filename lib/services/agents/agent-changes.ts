/**
 * Changes of what an agent may do: each is one atomic change of state under the log head's lock, with a signed statement in
 * the agent's record. Attestations and decisions take the same lock, so each of them comes before a change or after it.
 */
import { and, count, desc, eq, gte, inArray, isNull, lt, type SQL, sql } from "drizzle-orm";
import type { Actor } from "#lib/api/http/context";
import { cutPage, decodeCursor, encodeCursor, type PageQuery } from "#lib/api/http/opaque-text";
import type { IdentityResponse, KeyHistoryEntry, KeyHistoryResponse } from "#lib/api/schemas/identity";
import { isCalendarTime } from "#lib/api/schemas/primitives";
import type { Executor } from "#lib/db/client";
import { agentChanges, agentKeys, agents } from "#lib/db/schema";
import { readDatabaseTime } from "#lib/db/shared-clock";
import { AppError } from "#lib/errors";
import {
  type LogEntry,
  type LogEntryKind,
  type Placed,
  placedColumns,
  requirePlace,
  submitSigned,
} from "#lib/log/sequencer/entry";
import { base64Encode, hexDecode, uuidV7 } from "#lib/protocol/encoding/bytes";
import {
  type AgentChange,
  type AgentChangeKind,
  buildChangeStatement,
  reasonHash,
} from "#lib/protocol/record/agent-heads";
import { formatCount, formatWait } from "#lib/protocol/text/display-text";
import type { WebhookEvent } from "#lib/protocol/webhook/webhook";
import { recordAudit } from "#lib/services/accounts/audit";
import type { AccountsContext } from "#lib/services/accounts/context";
import { secondsToMidnight, utcDay } from "#lib/services/keys/api-keys";
import { agentNotFound, findAgent } from "./agents";

export interface ChangeFacts {
  change: AgentChangeKind;
  agentId: string;
  organizationId: string;
  actor: Actor;
  /** Undefined for who holds an approval's link. */
  lockAndRecheckKey?: LogEntry["lockAndRecheckKey"];
  reason: string | null;
  /** The request whose approval is taken back. */
  request: { id: string; hash: string } | null;
  /** Changes the state if it is still what it must be; else says why not. */
  apply: (tx: Executor, at: Date) => Promise<AppError | null>;
  /** The audit log's subject, and what the webhook's message holds. */
  subject: string;
  event: WebhookEvent;
  announced: (changedAt: string) => Record<string, string | null>;
  callbackUrl: string | null;
}

export type ChangeContext = Pick<AccountsContext, "clock" | "random"> & {
  keys: Pick<AccountsContext["keys"], "signer">;
};

interface ChangeItem extends LogEntry {
  context: ChangeContext;
  facts: ChangeFacts;
  agentId: string;
  /** Time of the change; once it is admitted, the time of that, so that nothing that it forbids has a later one. */
  at: Date;
  salt: string | null;
}

/** Nothing to do: somebody else came first. */
export class Unchanged extends AppError {
  constructor() {
    super("service_unavailable", "the same change was being made at the same moment; try again");
  }
}

export function makeChange(context: ChangeContext, facts: ChangeFacts): ChangeItem {
  const { signer } = context.keys;
  const salt = facts.reason === null ? null : base64Encode(context.random(16));
  const change: Omit<AgentChange, "record" | "changed_at"> = {
    change: facts.change,
    key_id: signer.keyId,
    reason_hash: salt === null || facts.reason === null ? null : reasonHash(salt, facts.reason),
    request_hash: facts.request?.hash ?? null,
  };
  const item: ChangeItem = {
    context,
    facts,
    at: context.clock(),
    salt,
    agentId: facts.agentId,
    keyId: signer.keyId,
    lockAndRecheckKey: facts.lockAndRecheckKey,
    build: (place) => {
      const changed_at = item.at.toISOString();
      return {
        signer,
        payload: buildChangeStatement({ ...change, changed_at, record: requirePlace(place).record }),
      };
    },
  };
  return item;
}

/** Agents first, and then requests: a claim locks them in the same order. */
async function admit(tx: Executor, items: ChangeItem[]): Promise<(AppError | null)[]> {
  const ids = [...new Set(items.map(({ agentId }) => agentId))];
  await tx
    .select({ id: agents.id })
    .from(agents)
    .where(inArray(agents.id, ids))
    .orderBy(agents.id)
    .for("update");
  const verdicts: (AppError | null)[] = [];
  for (const item of items) {
    item.at = await readDatabaseTime(tx);
    verdicts.push(await item.facts.apply(tx, item.at));
  }
  return verdicts;
}

const announce = (id: string, { facts, at }: ChangeItem): SQL => {
  const said = JSON.stringify(facts.announced(at.toISOString())).slice(1, -1);
  const subject = facts.request?.id ?? id;
  return sql`SELECT announce_event(${facts.organizationId}, ${facts.event}, ${subject}, ${at.toISOString()}::timestamptz, ${said}, ${facts.callbackUrl})`;
};

async function storeOne(tx: Executor, one: Placed<ChangeItem>): Promise<void> {
  const { item, receipt, place } = one;
  const { context, facts, at } = item;
  const { organizationId, reason, actor, subject } = facts;
  const id = uuidV7(at.getTime(), context.random(16));
  await tx.insert(agentChanges).values({
    ...placedColumns(one),
    id,
    organization_id: organizationId,
    agent_id: item.agentId,
    change: facts.change,
    request_id: facts.request?.id ?? null,
    changed_at: at,
    reason,
    reason_salt: item.salt,
    log: JSON.stringify({ ...receipt, record: place?.record ?? null }),
  });
  await recordAudit(context, tx, {
    organizationId,
    actor,
    action: facts.event,
    subject,
    ...(reason !== null && { detail: { reason } }),
  });
  await tx.execute(announce(id, item));
}

async function store(tx: Executor, placed: Placed<ChangeItem>[]): Promise<void> {
  for (const one of placed) await storeOne(tx, one);
}

export const changeKind: LogEntryKind<ChangeItem> = { kind: "agent_change", locksAgents: true, admit, store };

/** False if it was so already. */
export async function changeAgent(context: AccountsContext, facts: ChangeFacts): Promise<boolean> {
  try {
    await submitSigned(context, changeKind, async () => makeChange(context, facts));
    return true;
  } catch (error) {
    if (error instanceof Unchanged) return false;
    throw error;
  }
}

/* The keys that an agent has had: replaced one by one, only so often a day, and read in pages. */

type KeyRow = typeof agentKeys.$inferSelect;

/** Number of keys that an agent's record itself shows. */
const newestShown = 10;

/** The place of the last key shown: no two keys of an agent are registered at the same time. */
const toCursor = (row: KeyRow) => encodeCursor(String(row.registered_at.getTime()));

function readPlace(text: string): Date | undefined {
  const registeredAt = new Date(/^\d{1,15}$/.test(text) ? Number(text) : Number.NaN);
  return isCalendarTime(registeredAt) ? registeredAt : undefined;
}

function describeKey(key: KeyRow): KeyHistoryEntry {
  return {
    public_key: base64Encode(key.public_key),
    status: key.proven_at === null ? "unproven" : "proven",
    registered_at: key.registered_at.toISOString(),
    proven_at: key.proven_at?.toISOString() ?? null,
    retired_at: key.retired_at?.toISOString() ?? null,
  };
}

async function readPage(executor: Executor, agentId: string, limit: number, before?: Date) {
  const rows = await executor
    .select()
    .from(agentKeys)
    .where(
      and(
        eq(agentKeys.agent_id, agentId),
        before === undefined ? undefined : lt(agentKeys.registered_at, before),
      ),
    )
    .orderBy(desc(agentKeys.registered_at))
    .limit(limit + 1);
  return cutKeys(rows, limit);
}

function cutKeys(rows: readonly KeyRow[], limit: number) {
  const { shown, nextCursor } = cutPage(rows, { limit }, toCursor);
  return { keys: shown.map(describeKey), cursor: nextCursor };
}

/** The newest keys in the order in which they were registered, and where the older ones begin. */
export type NewestKeys = Pick<IdentityResponse, "key_history" | "key_history_cursor">;

export async function readNewestKeys(executor: Executor, agentId: string): Promise<NewestKeys> {
  return toHistory(await readPage(executor, agentId, newestShown));
}

const toHistory = ({ keys, cursor }: ReturnType<typeof cutKeys>): NewestKeys => ({
  key_history: keys.reverse(),
  key_history_cursor: cursor,
});

/** SQL of what {@link parseNewestKeys} takes, for a statement that reads more of the agent. */
export const selectNewestKeys = (agentId: string) => `SELECT json_agg(json_build_object(
    'public_key', encode(newest.public_key, 'hex'), 'registered_at', newest.registered_at,
    'proven_at', newest.proven_at, 'retired_at', newest.retired_at) ORDER BY newest.registered_at DESC)::text
  FROM (SELECT * FROM agent_keys WHERE agent_id = ${agentId} ORDER BY registered_at DESC LIMIT ${newestShown + 1}) AS newest`;

/** `json`: null if there is none. */
export function parseNewestKeys(agentId: string, json: string | null): NewestKeys {
  const keys = JSON.parse(json ?? "[]") as Record<keyof KeyRow, string | null>[];
  const time = (text: string | null) => (text === null ? null : new Date(text));
  const rows = keys.map(({ public_key, registered_at, proven_at, retired_at }) => ({
    agent_id: agentId,
    public_key: hexDecode(public_key ?? ""),
    registered_at: new Date(registered_at ?? 0),
    proven_at: time(proven_at),
    retired_at: time(retired_at),
  }));
  return toHistory(cutKeys(rows, newestShown));
}

export async function listAgentKeys(
  executor: Executor,
  slug: string,
  query: PageQuery,
): Promise<KeyHistoryResponse> {
  const agent = await findAgent(executor, slug);
  if (agent === null) throw agentNotFound();
  const before = query.cursor === undefined ? undefined : decodeCursor(query.cursor, readPlace);
  const { keys, cursor } = await readPage(executor, agent.id, query.limit, before);
  return { slug: agent.slug, keys, next_cursor: cursor };
}

async function requireChangesLeft(
  context: AccountsContext,
  tx: Executor,
  agentId: string,
  now: Date,
): Promise<void> {
  const limit = context.settings.LIMIT_KEY_CHANGES_PER_DAY;
  const midnight = new Date(`${utcDay(now)}T00:00:00.000Z`);
  const [today] = await tx
    .select({ keys: count() })
    .from(agentKeys)
    .where(and(eq(agentKeys.agent_id, agentId), gte(agentKeys.registered_at, midnight)));
  if ((today?.keys ?? 0) < limit) return;
  const seconds = secondsToMidnight(now);
  throw new AppError(
    "rate_limit_exceeded",
    `an agent can have ${formatCount(limit, "new key")} per UTC day; try again in ${formatWait(Number(seconds))}`,
    { headers: { "retry-after": seconds } },
  );
}

/** The caller holds the lock of the agent's row, so that changes are counted one after another. */
export async function replaceKey(
  context: AccountsContext,
  tx: Executor,
  agentId: string,
  publicKey: Uint8Array | null,
  isProven: boolean,
): Promise<void> {
  const now = context.clock();
  if (publicKey !== null) await requireChangesLeft(context, tx, agentId, now);
  await tx
    .update(agentKeys)
    .set({ retired_at: now })
    .where(and(eq(agentKeys.agent_id, agentId), isNull(agentKeys.retired_at)));
  if (publicKey === null) return;
  const [newest] = await tx
    .select()
    .from(agentKeys)
    .where(eq(agentKeys.agent_id, agentId))
    .orderBy(desc(agentKeys.registered_at))
    .limit(1);
  // Two changes in one millisecond, or a clock that was set back, must not share or swap their places.
  const registeredAt = new Date(Math.max(now.getTime(), (newest?.registered_at.getTime() ?? 0) + 1));
  await tx.insert(agentKeys).values({
    agent_id: agentId,
    public_key: publicKey,
    registered_at: registeredAt,
    proven_at: isProven ? registeredAt : null,
  });
}
