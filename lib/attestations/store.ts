/** What attestations do in the sequencer's transaction: the last checks, then the rows. */
import { and, eq, sql } from "drizzle-orm";
import { slugKey } from "#lib/agents/agents";
import type { Executor } from "#lib/db/client";
import { agentKeys, type attestations, dailyUsage } from "#lib/db/schema";
import { together } from "#lib/db/together";
import { base64Decode, base64UrlDecode, hexEncode, utf8Decode } from "#lib/domain/bytes";
import type { JsonObject } from "#lib/domain/canonical-json";
import { factsOfStatement, findWarnings, type WarningCode } from "#lib/domain/warnings";
import { completeIdempotent } from "#lib/door/idempotency";
import type { LogItemKind, Placed } from "#lib/log/batch";
import { admitAttestations } from "./admit";
import { type AttestationItem, agentSignatureHash, daysOf, slugOf, usageKey } from "./item";

function warningCodesOf({ predicate, authorization }: AttestationItem): WarningCode[] {
  const object = authorization && (JSON.parse(utf8Decode(authorization.object)) as JsonObject);
  return findWarnings(factsOfStatement(predicate, object, null));
}

/** As PostgreSQL reads bytes from text. */
const byteaOf = (bytes: Uint8Array | null | undefined) => bytes && `\\x${hexEncode(bytes)}`;

/** By the table's columns; what an attestation gets later is missing, and `slug_key` finds its agent. */
function toRow({ item, logId, receipt }: Placed<AttestationItem>) {
  const { predicate, authorization, zk } = item;
  return {
    id: predicate.attestation_id,
    organization_id: item.caller.organizationId,
    slug_key: slugKey(slugOf(item)),
    api_key_id: item.caller.keyId,
    log_id: logId,
    leaf_index: receipt.index,
    payload: byteaOf(item.payload),
    payload_hash: byteaOf(item.payloadHash),
    signature: byteaOf(item.signature),
    envelope_signature: byteaOf(item.envelopeSignature),
    key_id: item.keyId,
    is_public: predicate.is_public,
    created_at: predicate.timestamp,
    action: predicate.request["action"],
    human_approval_method: predicate.human_approval.method,
    warnings: warningCodesOf(item),
    agent_signature_hash: byteaOf(agentSignatureHash(item)),
    human_authorization: byteaOf(authorization?.object),
    authorization_id: authorization?.requestId,
    zk_proof: zk && JSON.stringify(zk.zkProof),
    bbs_signature: byteaOf(zk && base64UrlDecode(zk.credential.signature)),
  } satisfies Record<Exclude<keyof typeof attestations.$inferSelect, "agent_id" | "erased_at">, unknown> & {
    slug_key: string;
  };
}

/** All rows are one parameter, so that the statement is the same text for any number of them and keeps its name. */
async function insertRows(tx: Executor, placed: Placed<AttestationItem>[]): Promise<void> {
  await tx.execute(sql`INSERT INTO attestations
    SELECT stored.*
    FROM jsonb_array_elements(${JSON.stringify(placed.map(toRow))}::text::jsonb) AS given
    JOIN agents ON agents.slug_key = given ->> 'slug_key'
    CROSS JOIN LATERAL jsonb_populate_record(NULL::attestations, given || jsonb_build_object('agent_id', agents.id)) AS stored`);
}

async function countUsage(tx: Executor, placed: Placed<AttestationItem>[]): Promise<void> {
  const days = [...daysOf(placed.map(({ item }) => item)).values()];
  const count = async ({ organizationId, day }: (typeof days)[number]) => {
    const more = placed.filter(({ item }) => usageKey(item) === `${organizationId} ${day}`).length;
    await tx
      .insert(dailyUsage)
      .values({ organization_id: organizationId, day, attestations: more })
      .onConflictDoUpdate({
        target: [dailyUsage.organization_id, dailyUsage.day],
        set: { attestations: sql`${dailyUsage.attestations} + ${more}` },
      });
  };
  await together(...days.map(count));
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
          sql`${agentKeys.agent_id} = (SELECT id FROM agents WHERE slug_key = ${slugKey(slugOf(item))})`,
        ),
      );
  }
}

async function keepAnswers(tx: Executor, placed: Placed<AttestationItem>[]): Promise<void> {
  const keep = async ({ item, receipt }: Placed<AttestationItem>) => {
    if (item.hold === null) return;
    await completeIdempotent(tx, item.hold, {
      status: 201,
      response: JSON.stringify(item.respond(receipt)),
      attestationId: item.predicate.attestation_id,
    });
  };
  await together(...placed.map(keep));
}

async function store(tx: Executor, placed: Placed<AttestationItem>[]): Promise<void> {
  await together(
    insertRows(tx, placed),
    countUsage(tx, placed),
    markKeysProven(tx, placed),
    keepAnswers(tx, placed),
  );
}

export const attestationKind: LogItemKind<AttestationItem> = {
  kind: "attestation",
  admit: admitAttestations,
  store,
};
