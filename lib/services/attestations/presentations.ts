/**
 * POST /v1/attestations/:id/presentations: the credential is put together again from what is stored (payload, BBS
 * signature, the key that the payload names), and a proof for one audience is derived from it in the pool.
 */
import { and, eq } from "drizzle-orm";
import { ownsRow, type Principal } from "#lib/api/http/context";
import type { Handlers } from "#lib/api/http/pipeline";
import type { presentationsOperations as specs } from "#lib/api/operations/attestations";
import { DEFAULT_LIFETIME_SECONDS, type PresentationRequest } from "#lib/api/schemas/attest";
import { signingKeys } from "#lib/db/schema";
import { AppError } from "#lib/errors";
import { createShare } from "#lib/jobs/fair-queue";
import { base64UrlEncode } from "#lib/protocol/encoding/bytes";
import { DISCLOSURE_HEADER, disclosureMessages } from "#lib/protocol/presentation/disclosure";
import type { ZkCredential, ZkProof } from "#lib/protocol/presentation/presentation";
import { recordAct } from "#lib/services/accounts/audit";
import type { Context } from "#lib/services/approvals/context";
import { attestationNotFound, readAttestation, type StoredAttestation } from "./stored-receipt";

async function readCredential(context: Context, stored: StoredAttestation): Promise<ZkCredential> {
  const { payload, bbs_signature: signature, statement } = stored;
  if (payload === null)
    throw new AppError("attestation_erased", "the content of this attestation was erased");
  const kid = statement?.predicate.zk?.kid;
  if (signature === null || kid === undefined) {
    throw new AppError(
      "zk_not_enabled",
      "this attestation was created without enable_zk, so it cannot be presented",
    );
  }
  const [key] = await context.database.db
    .select({ publicKey: signingKeys.public_key, status: signingKeys.status })
    .from(signingKeys)
    .where(and(eq(signingKeys.purpose, "zk"), eq(signingKeys.key_id, kid)));
  if (!key) throw new Error(`the BBS key ${kid} of attestation ${stored.id} is unknown`);
  if (key.status === "revoked")
    throw new AppError(
      "zk_key_revoked",
      "the BBS key of this attestation was revoked, so nobody would accept a presentation",
    );
  return {
    kid,
    public_key: base64UrlEncode(key.publicKey),
    header: base64UrlEncode(DISCLOSURE_HEADER),
    signature: base64UrlEncode(signature),
    messages: disclosureMessages(payload),
  };
}

/** Serves the owner alone; for everyone else the attestation does not exist here, be it public or not. */
export async function createPresentation(
  context: Context,
  principal: Principal,
  id: string,
  wanted: PresentationRequest,
): Promise<ZkProof> {
  const { organizationId } = principal;
  const { db } = context.database;
  const stored = await readAttestation(context, id);
  if (!ownsRow(principal, stored)) throw attestationNotFound();
  const credential = await readCredential(context, stored);
  const issuedAtSeconds = Math.floor(context.clock().getTime() / 1_000);
  const job = {
    credential,
    disclose: wanted.disclose,
    header: {
      kind: "audience",
      audience: wanted.audience,
      nonce: wanted.nonce,
      issuedAtSeconds,
      expiresAtSeconds: issuedAtSeconds + (wanted.expires_in ?? DEFAULT_LIFETIME_SECONDS),
    },
  } as const;
  const presentation = await context.pool.run(
    "derivePresentation",
    job,
    createShare("other", { organization: organizationId }),
  );
  await recordAct(context, db, principal, {
    action: "presentation.created",
    subject: stored.id,
    detail: { disclosed: [...new Set(wanted.disclose)], audience: wanted.audience },
  });
  return presentation;
}

/* Runs the operations of lib/api/operations/attestations.ts. */

export const presentationsHandlers: Handlers<typeof specs, Context> = {
  createPresentation: async (call) => ({
    status: 201,
    body: await createPresentation(call.context, call.principal, call.params["id"] ?? "", call.body),
  }),
};
