/** The last checks of attestations, under the head's lock: replay, slug, registration, authorization, daily limit. */
import { and, eq, inArray, isNull } from "drizzle-orm";
import { claimAgents, describeRegistered, lockAgents, slugKey, slugTaken } from "#lib/agents/agents";
import { authorizationAlreadyUsed } from "#lib/approvals/embed";
import type { Executor } from "#lib/db/client";
import { attestations, authorizationRequests, dailyUsage } from "#lib/db/schema";
import { hexEncode } from "#lib/domain/bytes";
import { canonicalJson } from "#lib/domain/canonical-json";
import { AppError, fieldError } from "#lib/errors";
import { secondsToMidnight } from "#lib/keys/api-keys";
import { RegistrationChanged } from "#lib/log/batch";
import { type AttestationItem, agentSignatureHash, daysOf, slugOf, usageKey } from "./item";

type Verdicts = (AppError | null)[];
type Registered = Parameters<typeof describeRegistered>[0];

const isUnspent = and(
  eq(authorizationRequests.status, "approved"),
  isNull(authorizationRequests.attestation_id),
);

function dailyLimitExceeded(item: AttestationItem): AppError {
  return new AppError(
    "daily_limit_exceeded",
    `the organization can record ${item.caller.attestationsPerDay} attestations per UTC day`,
    { headers: { "retry-after": secondsToMidnight(new Date(item.predicate.timestamp)) } },
  );
}

/** What the database holds before the batch; judged items add themselves. */
interface Ledger {
  /** Hex of a verified agent signature's hash → the attestation that used it. */
  signatures: Map<string, string>;
  /** usageKey → attestations recorded on that day. */
  usage: Map<string, number>;
  /** slug_key → the agent, locked */
  agents: Awaited<ReturnType<typeof lockAgents>>;
  /** Authorizations that are approved and back nothing yet. */
  unspent: Set<string>;
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
  const usage: Ledger["usage"] = new Map();
  for (const [name, { organizationId, day }] of daysOf(items)) {
    const [row] = await tx
      .select({ attestations: dailyUsage.attestations })
      .from(dailyUsage)
      .where(and(eq(dailyUsage.organization_id, organizationId), eq(dailyUsage.day, day)));
    usage.set(name, row?.attestations ?? 0);
  }
  return usage;
}

async function readUnspent(tx: Executor, items: AttestationItem[]): Promise<Ledger["unspent"]> {
  const wanted = items.flatMap(({ authorization }) => (authorization ? [authorization.requestId] : []));
  if (wanted.length === 0) return new Set();
  const rows = await tx
    .select({ id: authorizationRequests.id })
    .from(authorizationRequests)
    .where(and(inArray(authorizationRequests.id, wanted), isUnspent));
  return new Set(rows.map(({ id }) => id));
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

/** An item that is refused changes nothing in the ledger, so it cannot block another. */
function judge(item: AttestationItem, ledger: Ledger): AppError | null {
  const organizationId = item.caller.organizationId;
  const agent = ledger.agents.get(slugKey(slugOf(item)));
  const hash = agentSignatureHash(item);
  const first = hash && ledger.signatures.get(hexEncode(hash));
  const count = (ledger.usage.get(usageKey(item)) ?? 0) + 1;
  const requestId = item.authorization?.requestId;
  if (first) return signatureReplayed(first);
  if (agent !== undefined && agent.organization_id !== organizationId) return slugTaken();
  if (agent !== undefined && !isAsRegistered(item, agent)) return new RegistrationChanged();
  if (requestId !== undefined && !ledger.unspent.has(requestId)) return authorizationAlreadyUsed();
  if (count > item.caller.attestationsPerDay) return dailyLimitExceeded(item);
  if (hash) ledger.signatures.set(hexEncode(hash), item.predicate.attestation_id);
  if (requestId !== undefined) ledger.unspent.delete(requestId);
  ledger.usage.set(usageKey(item), count);
  return null;
}

/** Uses the authorization up; it is won by one attestation, ever. */
async function spendAuthorization(tx: Executor, item: AttestationItem): Promise<boolean> {
  if (item.authorization === null) return true;
  const used = await tx
    .update(authorizationRequests)
    .set({ attestation_id: item.predicate.attestation_id })
    .where(and(eq(authorizationRequests.id, item.authorization.requestId), isUnspent))
    .returning({ id: authorizationRequests.id });
  return used.length === 1;
}

/** The first successful attest claims its slug. A registration that came in between may still win it, or fill it in. */
async function claimSlugs(tx: Executor, items: AttestationItem[], ledger: Ledger): Promise<Verdicts> {
  const [first] = items;
  if (!first) return [];
  const claims = items.map((item) => ({ slug: slugOf(item), organizationId: item.caller.organizationId }));
  const claimed = await claimAgents(first.context, tx, claims);
  const isNew = (slug: string) => !ledger.agents.has(slugKey(slug));
  const unjudged = claims.map(({ slug }) => slug).filter(isNew);
  const fresh: Ledger["agents"] = unjudged.length === 0 ? new Map() : await lockAgents(tx, unjudged);
  return items.map((item, i) => {
    if (!claimed[i]) return slugTaken();
    const agent = fresh.get(slugKey(slugOf(item)));
    return agent === undefined || isAsRegistered(item, agent) ? null : new RegistrationChanged();
  });
}

/** An error for each item that may not be recorded. */
export async function admitAttestations(tx: Executor, items: AttestationItem[]): Promise<Verdicts> {
  const ledger: Ledger = {
    signatures: await readSignatures(tx, items),
    usage: await readUsage(tx, items),
    agents: await lockAgents(tx, items.map(slugOf)),
    unspent: await readUnspent(tx, items),
  };
  const verdicts = items.map((item) => judge(item, ledger));
  const fit = [...items.entries()].filter(([i]) => verdicts[i] === null);
  const claimed = await claimSlugs(
    tx,
    fit.map(([, item]) => item),
    ledger,
  );
  for (const [n, [i, item]] of fit.entries()) {
    const refused = claimed[n];
    if (refused) verdicts[i] = refused;
    else if (!(await spendAuthorization(tx, item))) verdicts[i] = authorizationAlreadyUsed();
  }
  return verdicts;
}
