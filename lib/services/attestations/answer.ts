/** The answer to the caller of POST /v1/attest, once the place in the log is known. */
import type { AttestResponse } from "#lib/api/schemas/attest";
import type { Placed } from "#lib/log/sequencer/item";
import { hexEncode, utf8Decode } from "#lib/protocol/encoding/bytes";
import { type AttestationItem, predicateJudgedAt, slugOf } from "./item";
import { describeAttestation } from "./view";

export function answerOf({ item, sealed, place, receipt }: Placed<AttestationItem>): AttestResponse {
  const { context, zk } = item;
  const predicate = predicateJudgedAt(item, place);
  return {
    ...describeAttestation(context.settings.baseUrl, {
      id: predicate.attestation_id,
      slug: slugOf(item),
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
