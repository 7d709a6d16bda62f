/**
 * Parameters of the database's function `store_attestations` (drizzle/0005_stop_uses.sql) for a batch's attestations;
 * it checks everything that they were made from.
 */

import { type ArrayElement, arrayLiteral } from "#lib/db/array-literal";
import type { FunctionCall } from "#lib/log/sequencer/append";
import type { LogItemKind, Placed } from "#lib/log/sequencer/item";
import { base64Decode, base64UrlDecode } from "#lib/protocol/encoding/bytes";
import { factsOfStatement, findWarnings, type WarningCode } from "#lib/protocol/statement/warnings";
import { slugKey } from "#lib/services/agents/agents";
import { serviceDailyLimit } from "#lib/services/keys/daily-limit";
import { answerOf } from "./answer";
import { type AttestationItem, agentSignatureHash, predicateJudgedAt, slugOf } from "./item";
import { judgementOf } from "./verdicts";

type PlacedItem = Placed<AttestationItem>;

function warningCodesOf({ item, place }: PlacedItem): WarningCode[] {
  return findWarnings(factsOfStatement(predicateJudgedAt(item, place), null));
}

/** One parameter for each column. */
function columns<Row>(rows: readonly Row[], ...read: ((row: Row) => ArrayElement)[]): string[] {
  return read.map((column) => arrayLiteral(rows.map(column)));
}

/** The first of each name. */
function distinct<Row>(rows: readonly Row[], nameOf: (row: Row) => string): Row[] {
  const found = new Map<string, Row>();
  for (const row of rows) if (!found.has(nameOf(row))) found.set(nameOf(row), row);
  return [...found.values()];
}

const claimOf = (item: AttestationItem) => `${item.caller.organizationId} ${slugKey(slugOf(item))}`;

const isFirstUse = ({ agent }: AttestationItem) => agent === null;

/** Several items may be the first to use a slug: they get the agent of the first. */
function shareAgents(items: AttestationItem[]): void {
  const unclaimed = items.filter(isFirstUse);
  const ids = new Map(distinct(unclaimed, claimOf).map((item) => [claimOf(item), item.agentId]));
  for (const item of unclaimed) item.agentId = ids.get(claimOf(item)) ?? item.agentId;
}

/** If two organizations are the first to use a slug, it comes twice, and the database gives it to the first. */
function describeNewAgents(placed: readonly PlacedItem[]): string | null {
  const unclaimed = placed.map(({ item }) => item).filter(isFirstUse);
  const agents = distinct(unclaimed, ({ agentId }) => agentId).map((item) => ({
    id: item.agentId,
    organization_id: item.caller.organizationId,
    slug: slugOf(item),
    slug_key: slugKey(slugOf(item)),
    is_test: item.caller.isTest,
    created_at: item.predicate.timestamp,
  }));
  return agents.length === 0 ? null : JSON.stringify(agents);
}

/** The first signature that verifies under a registered key proves that the registrant holds it. */
function provenKeyOf({ agent, isKeyUnproven, predicate }: AttestationItem): Uint8Array | null {
  const key = predicate.registered.agent_public_key;
  const isProven = agent !== null && isKeyUnproven && predicate.verdicts.agent_authenticated === true;
  return isProven && key !== null ? base64Decode(key) : null;
}

/** Organizations with a webhook for it get a message. */
function announcedBy(items: readonly AttestationItem[]): FunctionCall {
  const organizations = new Set(items.map(({ caller }) => caller.organizationId));
  const ids = items.map(({ predicate }) => predicate.attestation_id);
  return {
    name: "announce_attestations",
    parameters: [arrayLiteral([...organizations]), arrayLiteral(ids)],
  };
}

function storedBy(placed: PlacedItem[]): FunctionCall[] {
  const [first] = placed;
  if (!first) throw new Error("a batch without attestations");
  const items = placed.map(({ item }) => item);
  const rows = columns(
    placed,
    ({ item }) => item.caller.defaultPublic,
    ({ item }) => item.caller.attestationsPerDay,
    ({ item }) => slugKey(slugOf(item)),
    ({ item }) => item.agent?.version,
    ({ item }) => item.hold?.route,
    ({ item }) => item.hold?.key,
    ({ item }) => item.hold?.holder,
    (one) => one.item.hold && JSON.stringify(answerOf(one)),
    ({ item }) => provenKeyOf(item),
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
    (one) => arrayLiteral(warningCodesOf(one)),
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
  return [{ name: "store_attestations", parameters }, announcedBy(items)];
}

export const attestationKind: LogItemKind<AttestationItem> = {
  kind: "attestation",
  storedBy,
  judgementOf,
  shareAgents,
};
