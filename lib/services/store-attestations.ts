/** What attestations do in the sequencer's transaction: the last checks under the head's lock, then the rows. */
import { and, eq, inArray, isNull, sql } from "drizzle-orm";
import type { AttestResponse, LogReceipt } from "#lib/contract/attest";
import type { Executor } from "#lib/db/client";
import { agentKeys, agents, attestations, authorizationRequests, dailyUsage } from "#lib/db/schema";
import { base64Decode, base64UrlDecode, hexEncode, sha256 } from "#lib/domain/bytes";
import type { ZkCredential, ZkProof } from "#lib/domain/presentation";
import type { ActionPredicate } from "#lib/domain/statement";
import { AppError, fieldError } from "#lib/errors";
import { claimAgents, slugKey, slugTaken } from "./agents";
import { type Caller, utcDay } from "./api-keys";
import type { Context } from "./context";
import { authorizationAlreadyUsed } from "./embed-authorization";
import { completeIdempotent, type IdempotencyHold } from "./idempotency";
import type { LogItem, LogItemKind, Placed } from "./log-batch";

export interface AttestationItem extends LogItem {
  context: Context;
  caller: Caller;
  hold: IdempotencyHold | null;
  predicate: ActionPredicate;
  payload: Uint8Array;
  payloadHash: Uint8Array;
  signature: Uint8Array;
  envelopeSignature: Uint8Array;
  authorization: { requestId: string; object: Uint8Array } | null;
  /** The public proof, and the credential that goes to the caller alone. */
  zk: { zkProof: ZkProof; credential: ZkCredential } | null;
  /** The agent's registered key has not verified anything before. */
  isKeyUnproven: boolean;
  /** The answer to the caller, once the place in the log is known. */
  respond: (log: LogReceipt) => AttestResponse;
}

type Verdicts = (AppError | null)[];

/** Only verified signatures count: anyone can send bytes that verify under nothing. */
function agentSignatureHash({ predicate }: AttestationItem): Uint8Array | null {
  const { agent_signature, verdicts } = predicate;
  return agent_signature !== undefined && verdicts.agent_authenticated
    ? sha256(base64Decode(agent_signature))
    : null;
}

const isUnspent = and(
  eq(authorizationRequests.status, "approved"),
  isNull(authorizationRequests.attestation_id),
);

function daysOf(items: AttestationItem[]): Map<string, { organizationId: string; day: string }> {
  return new Map(
    items.map(({ caller, predicate }) => {
      const day = predicate.timestamp.slice(0, 10);
      return [`${caller.organizationId} ${day}`, { organizationId: caller.organizationId, day }];
    }),
  );
}

function usageKey({ caller, predicate }: AttestationItem): string {
  return `${caller.organizationId} ${predicate.timestamp.slice(0, 10)}`;
}

function dailyLimitExceeded(item: AttestationItem): AppError {
  const now = new Date(item.predicate.timestamp);
  const midnightMs = Date.parse(`${utcDay(now)}T00:00:00.000Z`) + 86_400_000;
  const retryAfter = String(Math.max(1, Math.ceil((midnightMs - now.getTime()) / 1000)));
  return new AppError(
    "daily_limit_exceeded",
    `the organization may record ${item.caller.attestationsPerDay} attestations per UTC day`,
    {
      headers: { "retry-after": retryAfter },
    },
  );
}

/** What the database holds before the batch; judged items add themselves. */
interface Ledger {
  /** Hex of a verified agent signature's hash → the attestation that used it. */
  signatures: Map<string, string>;
  /** usageKey → attestations recorded on that day. */
  usage: Map<string, number>;
  /** slug_key → organization */
  owners: Map<string, string>;
  /** Authorizations that are approved and back nothing yet. */
  unspent: Set<string>;
}

const slugOf = ({ predicate }: AttestationItem) => String(predicate.request["agent_slug"]);

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

async function readOwners(tx: Executor, items: AttestationItem[]): Promise<Ledger["owners"]> {
  const rows = await tx
    .select({ slug: agents.slug_key, organizationId: agents.organization_id })
    .from(agents)
    .where(inArray(agents.slug_key, [...new Set(items.map((item) => slugKey(slugOf(item))))]));
  return new Map(rows.map(({ slug, organizationId }) => [slug, organizationId]));
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
    `was used before, by attestation ${first}; a true repetition differs by a metadata.nonce`,
  );
}

/** An item that is refused changes nothing in the ledger, so it cannot stand in another's way. */
function judge(item: AttestationItem, ledger: Ledger): AppError | null {
  const organizationId = item.caller.organizationId;
  const slug = slugKey(slugOf(item));
  const hash = agentSignatureHash(item);
  const first = hash && ledger.signatures.get(hexEncode(hash));
  const count = (ledger.usage.get(usageKey(item)) ?? 0) + 1;
  const requestId = item.authorization?.requestId;
  if (first) return signatureReplayed(first);
  if ((ledger.owners.get(slug) ?? organizationId) !== organizationId) return slugTaken();
  if (requestId !== undefined && !ledger.unspent.has(requestId)) return authorizationAlreadyUsed();
  if (count > item.caller.attestationsPerDay) return dailyLimitExceeded(item);
  if (hash) ledger.signatures.set(hexEncode(hash), item.predicate.attestation_id);
  ledger.owners.set(slug, organizationId);
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

/** The first successful attest claims its slug. A registration that came in between may still win it. */
async function claimSlugs(tx: Executor, items: AttestationItem[]): Promise<boolean[]> {
  const [first] = items;
  if (!first) return [];
  const claims = items.map((item) => ({ slug: slugOf(item), organizationId: item.caller.organizationId }));
  const claimed = await claimAgents(first.context, tx, claims);
  return claimed.map((agent) => agent !== null);
}

async function admit(tx: Executor, items: AttestationItem[]): Promise<Verdicts> {
  const ledger: Ledger = {
    signatures: await readSignatures(tx, items),
    usage: await readUsage(tx, items),
    owners: await readOwners(tx, items),
    unspent: await readUnspent(tx, items),
  };
  const verdicts = items.map((item) => judge(item, ledger));
  const fit = [...items.entries()].filter(([i]) => verdicts[i] === null);
  const claimed = await claimSlugs(
    tx,
    fit.map(([, item]) => item),
  );
  for (const [n, [i, item]] of fit.entries()) {
    if (!claimed[n]) verdicts[i] = slugTaken();
    else if (!(await spendAuthorization(tx, item))) verdicts[i] = authorizationAlreadyUsed();
  }
  return verdicts;
}

async function insertRows(tx: Executor, placed: Placed<AttestationItem>[]): Promise<void> {
  const rows = placed.map(({ item, logId, receipt }) => {
    const { predicate } = item;
    const signatureHash = agentSignatureHash(item);
    return {
      id: predicate.attestation_id,
      organization_id: item.caller.organizationId,
      slug_key: String(predicate.request["agent_slug"]).toLowerCase(),
      api_key_id: item.caller.keyId,
      log_id: logId,
      leaf_index: receipt.index,
      payload: hexEncode(item.payload),
      payload_hash: hexEncode(item.payloadHash),
      signature: hexEncode(item.signature),
      envelope_signature: hexEncode(item.envelopeSignature),
      key_id: item.keyId,
      is_public: predicate.is_public,
      created_at: predicate.timestamp,
      action: predicate.request["action"],
      human_approval_method: predicate.human_approval.method,
      agent_signature_hash: signatureHash === null ? null : hexEncode(signatureHash),
      human_authorization: item.authorization === null ? null : hexEncode(item.authorization.object),
      authorization_id: item.authorization?.requestId ?? null,
      zk_proof: item.zk === null ? null : JSON.stringify(item.zk.zkProof),
      bbs_signature: item.zk === null ? null : hexEncode(base64UrlDecode(item.zk.credential.signature)),
    };
  });
  await tx.execute(sql`INSERT INTO attestations (id, organization_id, agent_id, api_key_id, log_id, leaf_index, payload, payload_hash,
      signature, envelope_signature, key_id, is_public, created_at, action, human_approval_method, agent_signature_hash,
      human_authorization, authorization_id, zk_proof, bbs_signature)
    SELECT r.id, r.organization_id, agents.id, r.api_key_id, r.log_id, r.leaf_index, decode(r.payload, 'hex'), decode(r.payload_hash, 'hex'),
      decode(r.signature, 'hex'), decode(r.envelope_signature, 'hex'), r.key_id, r.is_public, r.created_at, r.action,
      r.human_approval_method, decode(r.agent_signature_hash, 'hex'), decode(r.human_authorization, 'hex'), r.authorization_id,
      r.zk_proof, decode(r.bbs_signature, 'hex')
    FROM jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb) AS r(id uuid, organization_id uuid, slug_key text, api_key_id uuid,
      log_id int, leaf_index bigint, payload text, payload_hash text, signature text, envelope_signature text, key_id text,
      is_public boolean, created_at timestamptz, action text, human_approval_method text, agent_signature_hash text,
      human_authorization text, authorization_id text, zk_proof text, bbs_signature text)
    JOIN agents ON agents.slug_key = r.slug_key`);
}

async function countUsage(tx: Executor, placed: Placed<AttestationItem>[]): Promise<void> {
  for (const { organizationId, day } of daysOf(placed.map(({ item }) => item)).values()) {
    const count = placed.filter(({ item }) => usageKey(item) === `${organizationId} ${day}`).length;
    await tx
      .insert(dailyUsage)
      .values({ organization_id: organizationId, day, attestations: count })
      .onConflictDoUpdate({
        target: [dailyUsage.organization_id, dailyUsage.day],
        set: { attestations: sql`${dailyUsage.attestations} + ${count}` },
      });
  }
}

/** The first signature that verifies under a registered key proves that the registrant holds it. */
async function markKeysProven(tx: Executor, placed: Placed<AttestationItem>[]): Promise<void> {
  for (const { item } of placed) {
    const publicKey = item.predicate.registered.agent_public_key;
    if (!item.isKeyUnproven || item.predicate.verdicts.agent_authenticated !== true || publicKey === null)
      continue;
    await tx
      .update(agentKeys)
      .set({ proven_at: new Date(item.predicate.timestamp) })
      .where(
        and(
          eq(agentKeys.public_key, base64Decode(publicKey)),
          sql`${agentKeys.proven_at} IS NULL`,
          sql`${agentKeys.agent_id} = (SELECT id FROM agents WHERE slug_key = ${String(item.predicate.request["agent_slug"]).toLowerCase()})`,
        ),
      );
  }
}

async function store(tx: Executor, placed: Placed<AttestationItem>[]): Promise<void> {
  await insertRows(tx, placed);
  await countUsage(tx, placed);
  await markKeysProven(tx, placed);
  for (const { item, receipt } of placed) {
    if (item.hold === null) continue;
    await completeIdempotent(tx, item.hold, {
      status: 201,
      response: JSON.stringify(item.respond(receipt)),
      attestationId: item.predicate.attestation_id,
    });
  }
}

export const attestationKind: LogItemKind<AttestationItem> = { kind: "attestation", admit, store };
