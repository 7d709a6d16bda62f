/** What attestations do in the sequencer's transaction: the last checks, then the rows. */
import { and, eq, sql } from "drizzle-orm";
import { slugKey } from "#lib/agents/agents";
import type { Executor } from "#lib/db/client";
import { agentKeys, dailyUsage } from "#lib/db/schema";
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

async function insertRows(tx: Executor, placed: Placed<AttestationItem>[]): Promise<void> {
  const rows = placed.map(({ item, logId, receipt }) => {
    const { predicate } = item;
    const signatureHash = agentSignatureHash(item);
    return {
      id: predicate.attestation_id,
      organization_id: item.caller.organizationId,
      slug_key: slugKey(slugOf(item)),
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
      warnings: warningCodesOf(item),
      agent_signature_hash: signatureHash === null ? null : hexEncode(signatureHash),
      human_authorization: item.authorization === null ? null : hexEncode(item.authorization.object),
      authorization_id: item.authorization?.requestId ?? null,
      zk_proof: item.zk === null ? null : JSON.stringify(item.zk.zkProof),
      bbs_signature: item.zk === null ? null : hexEncode(base64UrlDecode(item.zk.credential.signature)),
    };
  });
  await tx.execute(sql`INSERT INTO attestations (id, organization_id, agent_id, api_key_id, log_id, leaf_index, payload, payload_hash,
      signature, envelope_signature, key_id, is_public, created_at, action, human_approval_method, warnings, agent_signature_hash,
      human_authorization, authorization_id, zk_proof, bbs_signature)
    SELECT r.id, r.organization_id, agents.id, r.api_key_id, r.log_id, r.leaf_index, decode(r.payload, 'hex'), decode(r.payload_hash, 'hex'),
      decode(r.signature, 'hex'), decode(r.envelope_signature, 'hex'), r.key_id, r.is_public, r.created_at, r.action,
      r.human_approval_method, r.warnings, decode(r.agent_signature_hash, 'hex'), decode(r.human_authorization, 'hex'), r.authorization_id,
      r.zk_proof, decode(r.bbs_signature, 'hex')
    FROM jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb) AS r(id uuid, organization_id uuid, slug_key text, api_key_id uuid,
      log_id int, leaf_index bigint, payload text, payload_hash text, signature text, envelope_signature text, key_id text,
      is_public boolean, created_at timestamptz, action text, human_approval_method text, warnings text[], agent_signature_hash text,
      human_authorization text, authorization_id text, zk_proof text, bbs_signature text)
    JOIN agents ON agents.slug_key = r.slug_key`);
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
