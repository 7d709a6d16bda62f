/** A statement of the service, signed twice (as it is and as an envelope), and its leaf of the log. */

import type { Signer } from "#lib/log/signing/signer";
import { signEnvelope } from "#lib/protocol/statement/dsse";
import { encodeLogLeaf, makeLogLeaf } from "#lib/protocol/tlog/log-leaf";

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
