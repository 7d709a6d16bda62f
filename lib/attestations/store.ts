/**
 * What is stored of a batch's attestations, as parameters of the database's function `store_attestations`
 * (drizzle/0007_store_batch.sql), which checks everything that they were made from.
 */
import { slugKey } from "#lib/agents/agents";
import { base64Decode, base64UrlDecode, hexEncode, utf8Decode } from "#lib/core/encoding/bytes";
import type { JsonObject } from "#lib/core/encoding/canonical-json";
import { factsOfStatement, findWarnings, type WarningCode } from "#lib/core/statement/warnings";
import { type ArrayElement, arrayLiteral } from "#lib/db/array-literal";
import type { FunctionCall } from "#lib/log/sequencer/append";
import type { LogItemKind, Placed } from "#lib/log/sequencer/item";
import { admitAttestations } from "./admit";
import { answerOf } from "./answer";
import {
  type AttestationItem,
  agentSignatureHash,
  type DayOf,
  dayName,
  keyDay,
  organizationDay,
  predicateJudgedAt,
  slugOf,
} from "./item";

type PlacedItem = Placed<AttestationItem>;

function warningCodesOf({ item, place }: PlacedItem): WarningCode[] {
  const { authorization } = item;
  const object = authorization && (JSON.parse(utf8Decode(authorization.object)) as JsonObject);
  return findWarnings(factsOfStatement(predicateJudgedAt(item, place), object, null));
}

/** One parameter for each column. */
function columns<Row>(rows: readonly Row[], ...read: ((row: Row) => ArrayElement)[]): string[] {
  return read.map((column) => arrayLiteral(rows.map(column)));
}

/** One of each name. */
function distinct<Row>(rows: readonly Row[], nameOf: (row: Row) => string): Row[] {
  return [...new Map(rows.map((row) => [nameOf(row), row])).values()];
}

const claimOf = (item: AttestationItem) => `${item.caller.organizationId} ${slugKey(slugOf(item))}`;

const isFirstUse = ({ agent }: AttestationItem) => agent === null;

/** Several items may be the first to use a slug: they get the agent of the last. */
function shareAgents(items: AttestationItem[]): void {
  const unclaimed = items.filter(isFirstUse);
  const ids = new Map(unclaimed.map((item) => [claimOf(item), item.agentId]));
  for (const item of unclaimed) item.agentId = ids.get(claimOf(item)) ?? item.agentId;
}

/** If two organizations are the first to use a slug, it comes twice, and the database refuses that. */
function nameNewAgents(placed: readonly PlacedItem[]) {
  const unclaimed = placed.map(({ item }) => item).filter(isFirstUse);
  return distinct(unclaimed, ({ agentId }) => agentId).map((item) => ({
    id: item.agentId,
    organization_id: item.caller.organizationId,
    slug: slugOf(item),
    slug_key: slugKey(slugOf(item)),
    created_at: item.predicate.timestamp,
  }));
}

/** What few attestations need; null if none of these does. */
function describeRare(placed: readonly PlacedItem[]): string | null {
  const agents = nameNewAgents(placed);
  const spent = placed.flatMap(({ item: { authorization, predicate } }) =>
    authorization ? [{ id: authorization.requestId, attestation_id: predicate.attestation_id }] : [],
  );
  const answers = placed.flatMap((one) =>
    one.item.hold === null
      ? []
      : [
          {
            organization_id: one.item.hold.organizationId,
            route: one.item.hold.route,
            key: one.item.hold.key,
            holder: one.item.hold.holder,
            status: 201,
            response: JSON.stringify(answerOf(one)),
            attestation_id: one.item.predicate.attestation_id,
          },
        ],
  );
  // The first signature that verifies under a registered key proves that the registrant holds it.
  const proven = placed.flatMap(({ item: { agent, isKeyUnproven, predicate } }) => {
    const key = predicate.registered.agent_public_key;
    return agent !== null && isKeyUnproven && predicate.verdicts.agent_authenticated === true && key !== null
      ? [{ agent_id: agent.id, public_key: `\\x${hexEncode(base64Decode(key))}`, at: predicate.timestamp }]
      : [];
  });
  const lists = Object.entries({ agents, spent, answers, proven }).filter(([, list]) => list.length > 0);
  return lists.length === 0 ? null : JSON.stringify(Object.fromEntries(lists));
}

function describeCallers(items: readonly AttestationItem[]): string[] {
  return columns(
    distinct(
      items.map(({ caller }) => caller),
      ({ keyId }) => keyId,
    ),
    ({ keyId }) => keyId,
    ({ organizationId }) => organizationId,
    ({ defaultPublic }) => defaultPublic,
    ({ attestationsPerDay }) => attestationsPerDay,
  );
}

/** In the order of their ids, so that no two batches wait for each other. */
function describeAgents(items: readonly AttestationItem[]): string[] {
  const known = items.flatMap(({ agent, caller }) =>
    agent === null ? [] : [{ ...agent, organizationId: caller.organizationId }],
  );
  return columns(
    distinct(known, ({ id }) => id).sort((a, b) => (a.id < b.id ? -1 : 1)),
    ({ id }) => id,
    ({ organizationId }) => organizationId,
    ({ version }) => version,
  );
}

/** In the order of their ids, as the agents are. */
function countDays(items: readonly AttestationItem[], read: (item: AttestationItem) => DayOf) {
  const counts = new Map<string, number>();
  for (const item of items) counts.set(dayName(read(item)), (counts.get(dayName(read(item))) ?? 0) + 1);
  return distinct(items, (item) => dayName(read(item)))
    .map((item) => ({ ...read(item), item, count: counts.get(dayName(read(item))) }))
    .sort((a, b) => (dayName(a) < dayName(b) ? -1 : 1));
}

function describeUsage(items: readonly AttestationItem[]): string[] {
  return columns(
    countDays(items, organizationDay),
    ({ id }) => id,
    ({ day }) => day,
    ({ count }) => count,
    ({ item }) => item.caller.attestationsPerDay,
  );
}

/** drizzle/0015_request_log.sql. Whether the key may have so many, the database knows. */
function countedBy(items: readonly AttestationItem[]): FunctionCall {
  const byKey = columns(
    countDays(items, keyDay),
    ({ id }) => id,
    ({ day }) => day,
    ({ count }) => count,
  );
  const testAgents = items
    .filter((item) => isFirstUse(item) && item.caller.isTest)
    .map(({ agentId }) => agentId);
  return { name: "count_by_key", parameters: [...byKey, arrayLiteral(testAgents)] };
}

/** Whoever has a webhook for it gets a message. */
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
  );
  const parameters = [
    ...[first.logId, first.item.context.settings.LIMIT_ATTEST_PER_DAY],
    ...describeCallers(items),
    ...describeAgents(items),
    ...describeUsage(items),
    describeRare(placed),
    ...rows,
  ];
  return [{ name: "store_attestations", parameters }, announcedBy(items), countedBy(items)];
}

export const attestationKind: LogItemKind<AttestationItem> = {
  kind: "attestation",
  admit: admitAttestations,
  storedBy,
  shareAgents,
};
