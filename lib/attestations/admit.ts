/**
 * The last checks of attestations, under the head's lock, by what the database holds now: caller, replay, slug,
 * registration, authorization, daily limit. `store_attestations` makes them too, but refuses the batch as a whole.
 */
import { and, eq, inArray, or, sql } from "drizzle-orm";
import { claimAgents, describeRegistered, lockAgents, slugKey, slugTaken } from "#lib/agents/agents";
import { authorizationAlreadyUsed } from "#lib/approvals/embed";
import { isUsable } from "#lib/approvals/rows";
import { hexEncode } from "#lib/core/encoding/bytes";
import { canonicalJson } from "#lib/core/encoding/canonical-json";
import type { Executor } from "#lib/db/client";
import {
  apiKeys,
  attestations,
  authorizationRequests,
  dailyKeyUsage,
  dailyUsage,
  idempotencyKeys,
  organizations,
} from "#lib/db/schema";
import { together } from "#lib/db/settle-all";
import { AppError, fieldError } from "#lib/errors";
import { isReserved, takenOver } from "#lib/http/idempotency";
import { invalidApiKey, isLiveKey, keyLookUpFailed, secondsToMidnight } from "#lib/keys/api-keys";
import { Outdated } from "#lib/log/sequencer/item";
import {
  type AttestationItem,
  agentSignatureHash,
  dayName,
  distinctDays,
  keyDay,
  organizationDay,
  slugOf,
} from "./item";

type Verdicts = (AppError | null)[];
type Registered = Parameters<typeof describeRegistered>[0];

function dailyLimitExceeded(item: AttestationItem, who: string, limit: number): AppError {
  return new AppError("daily_limit_exceeded", `${who} can record ${limit} attestations per UTC day`, {
    headers: { "retry-after": secondsToMidnight(new Date(item.predicate.timestamp)) },
  });
}

interface CallerNow {
  isLive: boolean;
  isPublic: boolean;
  perDay: number | null;
  keyPerDay: number | null;
}

/** What the database holds before the batch; judged items add themselves. */
interface Ledger {
  /** API keys, with what their organizations set. */
  callers: Map<string, CallerNow>;
  /** Hex of a verified agent signature's hash → the attestation that used it. */
  signatures: Map<string, string>;
  /** {@link dayName} of an organization or a key → attestations recorded on that day. */
  usage: Map<string, number>;
  /** slug_key → the agent, locked */
  agents: Awaited<ReturnType<typeof lockAgents>>;
  /** Authorizations that can still be used. */
  unspent: Set<string>;
  /** Holders of idempotency keys whose reservation no later request has taken over. */
  holders: Set<string>;
}

async function readCallers(tx: Executor, items: AttestationItem[]): Promise<Ledger["callers"]> {
  const rows = await tx
    .select({
      id: apiKeys.id,
      isLive: sql<boolean>`(${isLiveKey} AND ${organizations.deleted_at} IS NULL)`,
      isPublic: organizations.default_public,
      perDay: organizations.attestations_per_day,
      keyPerDay: apiKeys.attestations_per_day,
    })
    .from(apiKeys)
    .innerJoin(organizations, eq(organizations.id, apiKeys.organization_id))
    .where(inArray(apiKeys.id, [...new Set(items.map(({ caller }) => caller.keyId))]));
  return new Map(rows.map(({ id, ...caller }) => [id, caller]));
}

async function readSignatures(tx: Executor, items: AttestationItem[]): Promise<Ledger["signatures"]> {
  const hashes = items.map(agentSignatureHash).filter((hash) => hash !== null);
  if (hashes.length === 0) return new Map();
  const rows = await tx
    .select({ id: attestations.id, hash: attestations.agent_signature_hash })
    .from(attestations)
    .where(inArray(attestations.agent_signature_hash, hashes));
  return new Map(rows.map(({ id, hash }) => [hexEncode(hash ?? new Uint8Array()), id]));
}

async function readUsage(tx: Executor, items: AttestationItem[]): Promise<Ledger["usage"]> {
  const { attestations: ofAll } = dailyUsage;
  const { attestations: ofKey } = dailyKeyUsage;
  const organizationDays = distinctDays(items, organizationDay).map(async (one) => {
    const isIt = and(eq(dailyUsage.organization_id, one.id), eq(dailyUsage.day, one.day));
    return [one, await tx.select({ total: ofAll }).from(dailyUsage).where(isIt)] as const;
  });
  const keyDays = distinctDays(items, keyDay).map(async (one) => {
    const isIt = and(eq(dailyKeyUsage.api_key_id, one.id), eq(dailyKeyUsage.day, one.day));
    return [one, await tx.select({ total: ofKey }).from(dailyKeyUsage).where(isIt)] as const;
  });
  const found = await together(...organizationDays, ...keyDays);
  return new Map(found.map(([one, [row]]) => [dayName(one), row?.total ?? 0]));
}

async function readUnspent(tx: Executor, items: AttestationItem[]): Promise<Ledger["unspent"]> {
  const wanted = items.flatMap(({ authorization }) => (authorization ? [authorization.requestId] : []));
  if (wanted.length === 0) return new Set();
  const rows = await tx
    .select({ id: authorizationRequests.id })
    .from(authorizationRequests)
    .where(and(inArray(authorizationRequests.id, wanted), isUsable))
    .for("update");
  return new Set(rows.map(({ id }) => id));
}

async function readHolders(tx: Executor, items: AttestationItem[]): Promise<Ledger["holders"]> {
  const wanted = items.flatMap(({ hold }) => (hold === null ? [] : [isReserved(hold)]));
  if (wanted.length === 0) return new Set();
  const rows = await tx
    .select({ holder: idempotencyKeys.holder })
    .from(idempotencyKeys)
    .where(or(...wanted))
    .for("update");
  return new Set(rows.map(({ holder }) => holder));
}

function signatureReplayed(first: string): AppError {
  return fieldError(
    "agent_signature_replayed",
    "agent_signature",
    `was already used by attestation ${first}; if the agent really did this again, sign a request with another metadata.nonce`,
  );
}

/** Every verdict of the payload, and whom an approval was given to, was drawn from what was registered when it was made. */
function isAsRegistered({ predicate }: AttestationItem, agent: Registered): boolean {
  return canonicalJson({ ...predicate.registered }) === canonicalJson({ ...describeRegistered(agent) });
}

function isCallerAsRead({ caller, context }: AttestationItem, now: CallerNow): boolean {
  const perDay = now.perDay ?? context.settings.LIMIT_ATTEST_PER_DAY;
  return caller.defaultPublic === now.isPublic && caller.attestationsPerDay === perDay;
}

/** Null if there is room for it on its day, which is then taken. */
function takePlace(item: AttestationItem, { keyPerDay }: CallerNow, { usage }: Ledger): AppError | null {
  const [ofAll, ofKey] = [dayName(organizationDay(item)), dayName(keyDay(item))];
  const [all, own] = [(usage.get(ofAll) ?? 0) + 1, (usage.get(ofKey) ?? 0) + 1];
  const { attestationsPerDay } = item.caller;
  if (all > attestationsPerDay) return dailyLimitExceeded(item, "the organization", attestationsPerDay);
  if (keyPerDay !== null && own > keyPerDay) return dailyLimitExceeded(item, "this API key", keyPerDay);
  usage.set(ofAll, all).set(ofKey, own);
  return null;
}

/** An item that is refused changes nothing in the ledger, so it cannot stand in another's way. */
function judge(item: AttestationItem, ledger: Ledger): AppError | null {
  const { organizationId, keyId } = item.caller;
  const caller = ledger.callers.get(keyId);
  if (caller === undefined) return keyLookUpFailed();
  if (!caller.isLive) return invalidApiKey();
  if (!isCallerAsRead(item, caller)) return new Outdated();
  if (item.hold !== null && !ledger.holders.has(item.hold.holder)) return takenOver();
  const agent = ledger.agents.get(slugKey(slugOf(item)));
  const hash = agentSignatureHash(item);
  const first = hash && ledger.signatures.get(hexEncode(hash));
  const requestId = item.authorization?.requestId;
  if (first) return signatureReplayed(first);
  if (agent !== undefined && agent.organization_id !== organizationId) return slugTaken();
  if (agent !== undefined && !isAsRegistered(item, agent)) return new Outdated();
  if (requestId !== undefined && !ledger.unspent.has(requestId)) return authorizationAlreadyUsed();
  const full = takePlace(item, caller, ledger);
  if (full !== null) return full;
  if (hash) ledger.signatures.set(hexEncode(hash), item.predicate.attestation_id);
  if (requestId !== undefined) ledger.unspent.delete(requestId);
  return null;
}

/**
 * The first successful attest claims its slug. A registration that came in between may still win it, or fill it in.
 * Known agents are locked and judged already.
 */
async function claimSlugs(tx: Executor, items: AttestationItem[], ledger: Ledger): Promise<Verdicts> {
  const unclaimed = items.filter((item) => !ledger.agents.has(slugKey(slugOf(item))));
  const [first] = unclaimed;
  if (!first) return items.map(() => null);
  const claims = unclaimed.map((item) => ({
    slug: slugOf(item),
    organizationId: item.caller.organizationId,
    isTest: item.caller.isTest,
  }));
  const claimed = await claimAgents(first.context, tx, claims);
  const fresh = await lockAgents(
    tx,
    claims.map(({ slug }) => slug),
  );
  for (const [key, agent] of fresh) ledger.agents.set(key, agent);
  return items.map((item) => {
    const at = unclaimed.indexOf(item);
    if (at < 0) return null;
    if (!claimed[at]) return slugTaken();
    const agent = fresh.get(slugKey(slugOf(item)));
    return agent === undefined || isAsRegistered(item, agent) ? null : new Outdated();
  });
}

/** An error for each item that may not be recorded; the others get their agent as it is now. */
export async function admitAttestations(tx: Executor, items: AttestationItem[]): Promise<Verdicts> {
  const [callers, signatures, usage, agents, unspent, holders] = await together(
    readCallers(tx, items),
    readSignatures(tx, items),
    readUsage(tx, items),
    lockAgents(tx, items.map(slugOf)),
    readUnspent(tx, items),
    readHolders(tx, items),
  );
  const ledger: Ledger = { callers, signatures, usage, agents, unspent, holders };
  const verdicts = items.map((item) => judge(item, ledger));
  const fit = [...items.entries()].filter(([i]) => verdicts[i] === null);
  const claimed = await claimSlugs(
    tx,
    fit.map(([, item]) => item),
    ledger,
  );
  for (const [n, [i, item]] of fit.entries()) {
    verdicts[i] = claimed[n] ?? null;
    item.agent = ledger.agents.get(slugKey(slugOf(item))) ?? null;
    item.agentId = item.agent?.id ?? item.agentId;
  }
  return verdicts;
}
