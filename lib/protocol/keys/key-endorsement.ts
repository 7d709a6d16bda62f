/**
 * The endorsement of a BBS key (GET /v1/pubkey, `zk.keys[].endorsement`): the key event in which the attestation key
 * of the time signed the BBS public key, as an in-toto Statement that is also a leaf of the log.
 */
import { base64Decode, base64Encode, hexEncode, sha256, utf8Encode } from "#lib/protocol/encoding/bytes";
import { isJsonObject } from "#lib/protocol/encoding/canonical-json";
import { zkKeyId } from "#lib/protocol/presentation/disclosure";
import type { TrustedKey } from "#lib/protocol/statement/receipt";
import { KEY_EVENT_PREDICATE, parseCanonical, STATEMENT_TYPE } from "#lib/protocol/statement/statement";
import type { VerifyEd25519 } from "./ed25519";

export interface KeyEndorsement {
  /** The log of `index`; a key that signed in several logs has a range in each. */
  logOrigin?: string;
  /** The event's log index, for the range in which the signing key was valid. */
  index: number;
  payload: string;
  /** base64 */
  signature: string;
  key_id: string;
}

/** Null if the endorsement holds for this BBS key; else a sentence that says what is wrong. Never throws. */
export function findEndorsementFault(
  publicKey: Uint8Array,
  endorsement: KeyEndorsement,
  signers: readonly TrustedKey[],
  verify: VerifyEd25519,
): string | null {
  const bytes = utf8Encode(endorsement.payload);
  const statement = parseCanonical(bytes);
  const predicate = statement?.["predicate"];
  if (statement === null || !isJsonObject(predicate)) return "the endorsement is not a canonical statement";
  const { _type: type, predicateType, subject } = statement;
  if (type !== STATEMENT_TYPE || predicateType !== KEY_EVENT_PREDICATE) return "not a key event";
  const { event, purpose, key_id: keyId, public_key: endorsed, signed_by: signedBy } = predicate;
  if (event !== "made" || purpose !== "zk") return "not the making of a BBS key";
  if (keyId !== zkKeyId(publicKey) || endorsed !== base64Encode(publicKey)) return "endorses another key";
  const [first] = Array.isArray(subject) ? subject : [];
  const digest = isJsonObject(first) && isJsonObject(first["digest"]) ? first["digest"]["sha256"] : null;
  if (digest !== hexEncode(sha256(publicKey))) return "its subject is another key";
  const { logOrigin } = endorsement;
  const isOfLog = (key: TrustedKey) =>
    logOrigin === undefined || key.logOrigin === undefined || key.logOrigin === logOrigin;
  const signer = signers.find((key) => key.keyId === endorsement.key_id && isOfLog(key));
  if (signer === undefined || signedBy !== endorsement.key_id) return "signed by an unknown key";
  const { validFromIndex: from, validToIndex: to } = signer;
  if (endorsement.index < from || (to !== null && endorsement.index >= to))
    return "signed by a key that was not valid at this log index";
  return isSigned(endorsement.signature, bytes, signer.publicKey, verify)
    ? null
    : "its signature does not verify";
}

function isSigned(text: string, bytes: Uint8Array, publicKey: Uint8Array, verify: VerifyEd25519): boolean {
  try {
    return verify(base64Decode(text), bytes, publicKey);
  } catch {
    return false;
  }
}
