/**
 * Challenge that a passkey signs to decide a request. It contains nothing random: it is derived from the request's
 * hash, which is salted, so an assertion is about one request and one decision and can't be replayed for another.
 *
 *     challenge = SHA-256("countersign approval v1\n" || request_hash(32) || "approve", "deny" or "revoke")
 */
import { concatBytes, hexDecode, sha256, utf8Encode } from "#lib/protocol/encoding/bytes";

/** `revoke` takes back what its signer approved. */
export type PasskeyDecision = "approve" | "deny" | "revoke";

const label = utf8Encode("countersign approval v1\n");

/** `requestHash`: the 64 hex digits; throws RangeError for anything else. */
export function approvalChallenge(requestHash: string, decision: PasskeyDecision): Uint8Array {
  const hash = hexDecode(requestHash);
  if (hash.length !== 32) throw new RangeError("a request's hash has 32 bytes");
  return sha256(concatBytes(label, hash, utf8Encode(decision)));
}

export interface RelyingParty {
  /** As browsers write it: no path, no standard port. */
  origin: string;
  rpId: string;
}

/** `baseUrl`: the service's public address, as in a request's `origin`. Throws TypeError for what is no address. */
export function relyingPartyOf(baseUrl: string): RelyingParty {
  const { origin, hostname } = new URL(baseUrl);
  return { origin, rpId: hostname };
}
