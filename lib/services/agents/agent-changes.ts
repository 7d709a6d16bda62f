/**
 * Changes of what an agent may do: each is one atomic change of state under the log head's lock, with a signed statement in
 * the agent's record. Attestations and decisions take the same lock, so each of them comes before a change or after it.
 */
import { inArray, type SQL, sql } from "drizzle-orm";
import type { Actor } from "#lib/api/http/principal";
import type { Executor } from "#lib/db/client";
import { readDatabaseTime } from "#lib/db/database-time";
import { agentChanges, agents } from "#lib/db/schema";
import { AppError } from "#lib/errors";
import { type LogItem, type LogItemKind, type Placed, requirePlace } from "#lib/log/sequencer/item";
import { sealStatement } from "#lib/log/sequencer/sign-statement";
import { submitSigned } from "#lib/log/sequencer/submit-signed";
import { base64Encode } from "#lib/protocol/encoding/bytes";
import { uuidV7 } from "#lib/protocol/encoding/ids";
import {
  type AgentChange,
  type AgentChangeKind,
  buildChangeStatement,
  reasonHash,
} from "#lib/protocol/record/agent-change";
import type { WebhookEvent } from "#lib/protocol/webhook/webhook-events";
import { recordAudit } from "#lib/services/accounts/audit";
import type { AccountsContext } from "#lib/services/accounts/context";

export interface ChangeFacts {
  change: AgentChangeKind;
  agentId: string;
  organizationId: string;
  actor: Actor;
  /** Undefined for who holds an approval's link. */
  holdCaller?: LogItem["holdCaller"];
  /** The organization's own words. */
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

/** Dependencies that make and store a change. */
export type ChangeContext = Pick<AccountsContext, "clock" | "random"> & {
  keys: Pick<AccountsContext["keys"], "signer">;
};

interface ChangeItem extends LogItem {
  context: ChangeContext;
  facts: ChangeFacts;
  agentId: string;
  /** When it was made; once it is admitted, the time of that, so that nothing that it forbids has a later one. */
  at: Date;
  salt: string | null;
}

/** It is so already: somebody else came first. */
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
    holdCaller: facts.holdCaller,
    seal: (place) => {
      const changed_at = item.at.toISOString();
      return sealStatement(
        signer,
        buildChangeStatement({ ...change, changed_at, record: requirePlace(place).record }),
      );
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

async function storeOne(
  tx: Executor,
  { item, logId, receipt, sealed, place }: Placed<ChangeItem>,
): Promise<void> {
  const { context, facts, at } = item;
  const { organizationId, reason, actor, subject } = facts;
  const id = uuidV7(at.getTime(), context.random(16));
  await tx.insert(agentChanges).values({
    id,
    organization_id: organizationId,
    agent_id: item.agentId,
    change: facts.change,
    request_id: facts.request?.id ?? null,
    changed_at: at,
    reason,
    reason_salt: item.salt,
    payload: sealed.payload,
    signature: sealed.signature,
    envelope_signature: sealed.envelopeSignature,
    signed_by: item.keyId,
    log: JSON.stringify({ ...receipt, record: place?.record ?? null }),
    log_id: logId,
    leaf_index: receipt.index,
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

export const changeKind: LogItemKind<ChangeItem> = { kind: "agent_change", locksAgents: true, admit, store };

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
