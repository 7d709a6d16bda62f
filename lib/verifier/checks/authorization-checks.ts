/**
 * The checks of what the service signed: its key, the binding to the request, what the page showed, the logged
 * decision.
 */

import {
  authorizationSigningBytes,
  bindRequest,
  type HumanAuthorization,
} from "#lib/protocol/approval/approval";
import { isEntryOfApproval } from "#lib/protocol/approval/approval-decision";
import { readTypes } from "#lib/protocol/approval/detail-types";
import { describeDomains } from "#lib/protocol/approval/requested-by";
import { isShownContent, type ShownContent } from "#lib/protocol/approval/shown-content";
import { base64Decode } from "#lib/protocol/encoding/bytes";
import { computeKeyId } from "#lib/protocol/keys/ed25519-key";
import { fail, type Outcome, pass, skip } from "#lib/protocol/statement/outcome";
import type { VerificationKey } from "#lib/protocol/world-id/groth16";

export interface AuthorizationVerifyOptions {
  /** The service's public keys, raw 32 bytes; undefined for a key id that is not the service's. */
  serviceKeys: (keyId: string) => Uint8Array | undefined;
  /** Strict Ed25519. */
  verifySignature: (signature: Uint8Array, message: Uint8Array, publicKey: Uint8Array) => boolean;
  /** World's v4 key; without it v4 proofs are `checked_by_world`. */
  v4Key?: VerificationKey;
  /** The details and names that the approval page showed, from a reader who holds them. */
  shown?: ShownContent;
}

export function checkSignature(
  authorization: HumanAuthorization,
  options: AuthorizationVerifyOptions,
): Outcome {
  const { key_id: key } = authorization;
  const publicKey = options.serviceKeys(key);
  if (publicKey === undefined) return fail("key_unknown", { key });
  if (computeKeyId(publicKey) !== key) return fail("key_id_mismatch");
  const signature = decode(authorization.signature);
  const isSigned =
    signature?.length === 64 &&
    options.verifySignature(signature, authorizationSigningBytes(authorization), publicKey);
  return isSigned ? pass("the service's signature over the whole object") : fail("signature_invalid");
}

function decode(text: string): Uint8Array | null {
  try {
    return base64Decode(text);
  } catch {
    return null;
  }
}

export function checkBinding(
  { request, binding }: HumanAuthorization,
  ...fields: (keyof HumanAuthorization["binding"])[]
): Outcome {
  const expected = bindRequest(request);
  const follows = fields.every((field) => binding[field] === expected[field]);
  return follows ? pass("follows from the request") : fail("binding_mismatch");
}

/** The object holds only a salted hash of what was on the page beside the action. */
export function checkShown(authorization: HumanAuthorization, shown: ShownContent | undefined): Outcome {
  if (shown === undefined) return skip("shown_content_absent");
  const { details } = authorization.request;
  const isTyped = details === undefined || readTypes(details, shown.context) !== null;
  if (!isTyped || !isShownContent(authorization.request, shown)) return fail("shown_content_mismatch");
  const domains = describeDomains(shown.requested_by);
  return pass(`the details, the names and who asks are those that the approval covers${domains}`);
}

/** Inclusion in the log is checked where the log's key is known (lib/verifier). */
export function checkLoggedDecision(
  authorization: HumanAuthorization,
  options: AuthorizationVerifyOptions,
): Outcome {
  if (authorization.log === undefined) return skip("entry_absent");
  const { key_id: key } = authorization;
  const publicKey = options.serviceKeys(key);
  if (publicKey === undefined) return fail("key_unknown", { key });
  return isEntryOfApproval(authorization, publicKey, options.verifySignature)
    ? pass("the log entry is that of this very approval")
    : fail("entry_decision_mismatch");
}
