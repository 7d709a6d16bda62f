/**
 * Parameters of the database's function `store_attestations` (drizzle/0027_check_what_is_given.sql) for a batch's
 * attestations; it checks everything that they were made from. One alone goes to `append_attestation`
 * (drizzle/0028_append_one.sql).
 */

import type { KeyPrincipal } from "#lib/api/http/context";
import { type IdempotencyHold, takenOver } from "#lib/api/http/idempotency";
import type { AttestResponse } from "#lib/api/schemas/attest";
import { type ArrayElement, arrayLiteral } from "#lib/db/client";
import { AppError, fieldError } from "#lib/errors";
import { createShare } from "#lib/jobs/fair-queue";
import {
  type FunctionCall,
  type LogEntry,
  type LogEntryKind,
  type Place,
  type Placed,
  type Preparation,
  type Rejection,
  requirePlace,
  SigningKeyChanged,
  StaleInputs,
  type Verdict,
} from "#lib/log/sequencer/entry";
import { base64Decode, base64UrlDecode, hexEncode, sha256, utf8Decode } from "#lib/protocol/encoding/bytes";
import type { ZkKeyPair } from "#lib/protocol/presentation/disclosure";
import type { ZkCredential, ZkProof } from "#lib/protocol/presentation/presentation";
import {
  type ActionPredicate,
  buildActionStatement,
  readClientNumber,
  type UnplacedPredicate,
} from "#lib/protocol/statement/statement";
import { factsOfStatement, findWarnings, type WarningCode } from "#lib/protocol/statement/warnings";
import { formatCount } from "#lib/protocol/text/display-text";
import { slugKey, slugTaken } from "#lib/services/agents/agents";
import type { Context } from "#lib/services/approvals/context";
import { type UsedAuthorization, unusable } from "#lib/services/approvals/use/use-approval";
import {
  invalidApiKey,
  keyLookUpFailed,
  secondsToMidnight,
  serviceDailyLimit,
} from "#lib/services/keys/api-keys";
import { describeAttestation } from "./view";

/* An attestation on its way into the log: put together, but without a place yet, and so without a signature. */

export interface AttestationFacts {
  caller: KeyPrincipal;
  hold: IdempotencyHold | null;
  predicate: UnplacedPredicate;
  keyId: string;
  agentId: string;
  authorization: UsedAuthorization | null;
  /** Agent that was looked up; null for an unclaimed slug. */
  agent: { id: string; version: string } | null;
  /** The agent's registered key has not verified anything before. */
  isKeyUnproven: boolean;
}

export interface AttestationItem extends AttestationFacts, LogEntry {
  context: Context;
  agentId: string;
  /** The public proof, and the credential that goes to the caller alone; made for its place. */
  zk: { zkProof: ZkProof; credential: ZkCredential } | null;
}

type HasPredicate = Pick<AttestationFacts, "predicate">;

function predicateJudgedAt({ predicate }: HasPredicate, place: Place | null): UnplacedPredicate {
  const clientGap = place?.clientGap ?? null;
  if (clientGap === null) return predicate;
  return { ...predicate, verdicts: { ...predicate.verdicts, client_gap: clientGap } };
}

function predicateAt(item: HasPredicate, place: Place | null): ActionPredicate {
  return { ...predicateJudgedAt(item, place), record: requirePlace(place).record };
}

/** The proof is over the payload, which has its place in it: made off this thread, before the batch. */
function prepareProof(item: AttestationItem, keyPair: ZkKeyPair): Preparation {
  const share = createShare("other", { organization: item.caller.organizationId });
  let preparedFor: Place | null = null;
  return {
    get place() {
      return preparedFor;
    },
    make: async (place) => {
      const payload = buildActionStatement(predicateAt(item, place));
      item.zk = await item.context.pool.run("issueZkProof", { keyPair, payload }, share);
      preparedFor = place;
    },
  };
}

/** The item is `facts` with more. Throws SigningKeyChanged if the key at hand is not the one that the statement names. */
export function createEntry(
  context: Context,
  facts: AttestationFacts,
  zkKeyPair: ZkKeyPair | null,
): AttestationItem {
  const { signer } = context.keys;
  if (signer.keyId !== facts.keyId) throw new SigningKeyChanged();
  // Avoids spreading: an object that is spread and gets ten more properties takes V8 sixty times as long.
  const item: AttestationItem = Object.assign(facts, {
    context,
    zk: null,
    zkKeyId: facts.predicate.zk?.kid,
    isListed: facts.predicate.is_public,
    owner: facts.caller.organizationId,
    client: readClientNumber(facts.predicate.request),
    build: (place: Place | null) => ({ signer, payload: buildActionStatement(predicateAt(facts, place)) }),
    forget: () => {
      context.callers.forget(facts.caller.keyId);
      context.agents.delete(slugKey(readSlug(facts)));
    },
  });
  if (zkKeyPair !== null) item.preparation = prepareProof(item, zkKeyPair);
  return item;
}

/** Hashes verified signatures only: anyone can send bytes that verify under nothing. */
function agentSignatureHash({ predicate }: AttestationItem): Uint8Array | null {
  const { agent_signature, verdicts } = predicate;
  return agent_signature !== undefined && verdicts.agent_authenticated
    ? sha256(base64Decode(agent_signature))
    : null;
}

const readSlug = ({ predicate }: Pick<AttestationFacts, "predicate">) =>
  String(predicate.request["agent_slug"]);

/* The answer to the caller of POST /v1/attest, once the place in the log is known. */

export function buildResponse({ item, sealed, place, receipt }: Placed<AttestationItem>): AttestResponse {
  const { context, zk } = item;
  const predicate = predicateJudgedAt(item, place);
  return {
    ...describeAttestation(context.settings.baseUrl, {
      id: predicate.attestation_id,
      slug: readSlug(item),
      isPublic: predicate.is_public,
      payload: utf8Decode(sealed.payload),
      payloadHashHex: hexEncode(sealed.payloadHash),
      signature: sealed.signature,
      envelopeSignature: sealed.envelopeSignature,
      keyId: item.keyId,
      hasZkProof: zk !== null,
      predicate,
      record: place?.record ?? null,
      log: receipt,
    }),
    ...(zk === null ? {} : { zk: { proof: zk.zkProof, credential: zk.credential } }),
  };
}

/*
 * Translates verdicts of the database's function `store_attestations` (drizzle/0027_check_what_is_given.sql), where the
 * rules are, into errors for the caller.
 */

function dailyLimitExceeded(item: AttestationItem, who: string, limit: unknown): AppError {
  const most = formatCount(Number(limit), "attestation");
  return new AppError("daily_limit_exceeded", `${who} can record ${most} per UTC day`, {
    headers: { "retry-after": secondsToMidnight(new Date(item.predicate.timestamp)) },
  });
}

function signatureReplayed(first: unknown): AppError {
  return fieldError(
    "agent_signature_replayed",
    "agent_signature",
    `was already used by attestation ${first}; if the agent really did this again, sign a request with another metadata.nonce`,
  );
}

/** The slug was claimed meanwhile, for the same organization and with nothing registered: no verdict changes. */
function putWithClaimed(item: AttestationItem, { owner, owner_version }: Verdict): Rejection {
  item.agent = { id: String(owner), version: String(owner_version) };
  item.agentId = item.agent.id;
  return "again";
}

function toRejection(item: AttestationItem, verdict: Verdict): Rejection {
  switch (verdict.verdict) {
    case "unknown_key":
      return keyLookUpFailed();
    case "ended_key":
      return invalidApiKey();
    case "outdated":
      return new StaleInputs();
    case "taken_over":
      return takenOver();
    case "signature_replayed":
      return signatureReplayed(verdict["replayed"]);
    case "slug_taken":
      return slugTaken();
    case "slug_claimed":
      return putWithClaimed(item, verdict);
    case "unusable_authorization":
      return unusable(verdict["why"]);
    case "organization_limit":
      return dailyLimitExceeded(item, "the organization", verdict["per_day"]);
    case "key_limit":
      return dailyLimitExceeded(item, "this API key", verdict["per_day"]);
    case "after_neighbour":
      return "after";
    default:
      throw new Error(`the database gave an unknown verdict: ${verdict.verdict}`);
  }
}

type PlacedEntry = Placed<AttestationItem>;

function listWarningCodes({ item, place }: PlacedEntry): WarningCode[] {
  return findWarnings(factsOfStatement(predicateJudgedAt(item, place), null));
}

function columns<Row>(rows: readonly Row[], ...read: ((row: Row) => ArrayElement)[]): ArrayElement[][] {
  return read.map((column) => rows.map(column));
}

function distinct<Row>(rows: readonly Row[], nameOf: (row: Row) => string): Row[] {
  const found = new Map<string, Row>();
  for (const row of rows) if (!found.has(nameOf(row))) found.set(nameOf(row), row);
  return [...found.values()];
}

const nameClaim = (item: AttestationItem) => `${item.caller.organizationId} ${slugKey(readSlug(item))}`;

const isFirstUse = ({ agent }: AttestationItem) => agent === null;

/** Several items may be the first to use a slug: they get the agent of the first. */
function mergeNewAgents(items: AttestationItem[]): void {
  const unclaimed = items.filter(isFirstUse);
  const ids = new Map(distinct(unclaimed, nameClaim).map((item) => [nameClaim(item), item.agentId]));
  for (const item of unclaimed) item.agentId = ids.get(nameClaim(item)) ?? item.agentId;
}

/** If two organizations are the first to use a slug, it comes twice, and the database gives it to the first. */
function describeNewAgents(placed: readonly PlacedEntry[]): string | null {
  const unclaimed = placed.map(({ item }) => item).filter(isFirstUse);
  const agents = distinct(unclaimed, ({ agentId }) => agentId).map((item) => ({
    id: item.agentId,
    organization_id: item.caller.organizationId,
    slug: readSlug(item),
    slug_key: slugKey(readSlug(item)),
    is_test: item.caller.isTest,
    created_at: item.predicate.timestamp,
  }));
  return agents.length === 0 ? null : JSON.stringify(agents);
}

/** The first signature that verifies under a registered key proves that the registrant holds it. */
function findProvenKey({ agent, isKeyUnproven, predicate }: AttestationItem): Uint8Array | null {
  const key = predicate.registered.agent_public_key;
  const isProven = agent !== null && isKeyUnproven && predicate.verdicts.agent_authenticated === true;
  return isProven && key !== null ? base64Decode(key) : null;
}

function announcedBy(items: readonly AttestationItem[]): FunctionCall {
  const organizations = new Set(items.map(({ caller }) => caller.organizationId));
  const ids = items.map(({ predicate }) => predicate.attestation_id);
  return {
    name: "announce_attestations",
    parameters: [[...organizations], ids],
  };
}

function insertStatements(placed: PlacedEntry[]): FunctionCall[] {
  const [first] = placed;
  if (!first) throw new Error("a batch without attestations");
  const items = placed.map(({ item }) => item);
  const rows = columns(
    placed,
    ({ item }) => item.caller.defaultPublic,
    ({ item }) => item.caller.attestationsPerDay,
    ({ item }) => slugKey(readSlug(item)),
    ({ item }) => item.agent?.version,
    ({ item }) => item.hold?.route,
    ({ item }) => item.hold?.key,
    ({ item }) => item.hold?.holder,
    (one) => one.item.hold && (one.item.predicate.trace ? "{}" : JSON.stringify(buildResponse(one))),
    ({ item }) => findProvenKey(item),
    ({ item }) => item.predicate.attestation_id,
    ({ item }) => item.caller.organizationId,
    ({ item }) => item.agentId,
    ({ item }) => item.caller.keyId,
    ({ receipt }) => receipt.index,
    ({ sealed }) => sealed.payload,
    ({ sealed }) => sealed.payloadHash,
    ({ sealed }) => sealed.signature,
    ({ sealed }) => sealed.envelopeSignature,
    ({ item }) => item.keyId,
    ({ item }) => item.predicate.is_public,
    ({ item }) => item.predicate.timestamp,
    ({ item }) => String(item.predicate.request["action"]),
    ({ item }) => item.predicate.human_approval.method,
    (one) => arrayLiteral(listWarningCodes(one)),
    ({ item }) => agentSignatureHash(item),
    ({ item }) => item.authorization?.object,
    ({ item }) => item.authorization?.requestId,
    ({ item }) => item.zk && JSON.stringify(item.zk.zkProof),
    ({ item }) => item.zk && base64UrlDecode(item.zk.credential.signature),
    ({ item }) => item.authorization?.rulesVersion,
    ({ item }) => item.predicate.approval_stopped?.reason,
  );
  const perDay = serviceDailyLimit(first.item.context.settings);
  const parameters = [first.logId, perDay, describeNewAgents(placed), ...rows];
  return [{ name: "store_attestations", parameters, alone: "append_attestation" }, announcedBy(items)];
}

export const attestationKind: LogEntryKind<AttestationItem> = {
  kind: "attestation",
  insertStatements,
  toRejection,
  mergeNewAgents,
};
