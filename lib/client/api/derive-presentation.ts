/**
 * Deriving a presentation from a credential without the service: in Node or in the browser, offline, so that
 * the service does not learn to whom it was shown.
 */
import { base64UrlDecode } from "#lib/protocol/encoding/bytes";
import type { MessageName } from "#lib/protocol/presentation/disclosure";
import {
  derivePresentation as derive,
  type ZkCredential,
  type ZkProof,
} from "#lib/protocol/presentation/presentation";
import { verifyPresentation } from "#lib/verifier/checks/presentation-verify";

export interface DeriveOptions {
  /** Names of the messages to show, in any order. Never `blinding`. */
  disclose: readonly MessageName[];
  audience: string;
  nonce: string;
  /** Default one hour. */
  expiresInSeconds?: number;
  /** Default now. */
  issuedAt?: Date;
}

/**
 * `credential` is `zk.credential` of the answer to POST /v1/attest. Throws RangeError if it, a name, the audience or
 * the nonce does not fit, and Error if its signature is not one over its messages.
 */
export async function derivePresentation(
  credential: ZkCredential,
  { disclose, audience, nonce, expiresInSeconds = 3_600, issuedAt = new Date() }: DeriveOptions,
): Promise<ZkProof> {
  const issuedAtSeconds = Math.floor(issuedAt.getTime() / 1_000);
  const expiresAtSeconds = issuedAtSeconds + expiresInSeconds;
  const presentation = await derive(credential, disclose, {
    kind: "audience",
    audience,
    nonce,
    issuedAtSeconds,
    expiresAtSeconds,
  });
  // A proof made with a false signature looks like any other: better to learn it here than at the verifier's.
  const { ok } = await verifyPresentation(presentation, {
    pinnedKeys: [base64UrlDecode(credential.public_key)],
    expected: { audience, nonce, nowSeconds: issuedAtSeconds },
  });
  if (!ok) throw new Error("the credential's signature does not fit its messages");
  return presentation;
}
