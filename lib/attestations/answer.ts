/** The answer to POST /v1/attest, once the place in the log is known. */
import type { AttestResponse, LogReceipt } from "#lib/contract/attest";
import { hexEncode, utf8Decode } from "#lib/domain/bytes";
import { type AttestationItem, slugOf } from "./item";
import { describeAttestation } from "./view";

export function describeAnswer(item: AttestationItem, log: LogReceipt): AttestResponse {
  const { context, predicate, payload, zk } = item;
  const answer = describeAttestation(context.settings.baseUrl, {
    id: predicate.attestation_id,
    slug: slugOf(item),
    isPublic: predicate.is_public,
    payload: utf8Decode(payload),
    payloadHashHex: hexEncode(item.payloadHash),
    signature: item.signature,
    envelopeSignature: item.envelopeSignature,
    keyId: item.keyId,
    hasZkProof: zk !== null,
    predicate,
    log,
  });
  return { ...answer, ...(zk === null ? {} : { zk: { proof: zk.zkProof, credential: zk.credential } }) };
}
