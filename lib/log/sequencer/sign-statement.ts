/** A statement of the service, signed twice (as it is and as an envelope), and its leaf of the log. */
import { signEnvelope } from "#lib/core/statement/dsse";
import { encodeLogLeaf, makeLogLeaf } from "#lib/core/tlog/log-leaf";
import type { Signer } from "#lib/signing/signer";

export interface SealedStatement {
  /** The exact signed bytes. */
  payload: Uint8Array;
  payloadHash: Uint8Array;
  /** Over the payload itself. */
  signature: Uint8Array;
  /** Over the envelope's PAE. */
  envelopeSignature: Uint8Array;
  /** The leaf's bytes. */
  leaf: Uint8Array;
}

export function sealStatement(signer: Signer, payload: Uint8Array): SealedStatement {
  const envelope = signEnvelope(payload, signer.publicKey, (bytes) => signer.sign(bytes));
  const leaf = makeLogLeaf(envelope, signer.publicKey);
  return {
    payload,
    payloadHash: leaf.payloadHash,
    signature: signer.sign(payload),
    envelopeSignature: envelope.signature,
    leaf: encodeLogLeaf(leaf),
  };
}
