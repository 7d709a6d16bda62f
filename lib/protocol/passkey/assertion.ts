/**
 * Verifies one WebAuthn assertion (level 3, section 7.2) from its own bytes, for the service, the browser and the
 * offline verifier. What needs a memory is left to the service: that the credential is enrolled, and its counter.
 *
 * Every field is a stranger's. The order of the checks is the specification's, so the reason is the first step that
 * fails there.
 */
import { pow } from "@noble/curves/abstract/modular.js";
import { p256 } from "@noble/curves/nist.js";
import { bytesToNumberBE, numberToBytesBE } from "@noble/curves/utils.js";
import {
  base64UrlDecode,
  base64UrlEncode,
  bytesEqual,
  concatBytes,
  hexDecode,
  sha256,
  utf8Decode,
  utf8Encode,
} from "#lib/protocol/encoding/bytes";
import { isJsonObject, type JsonObject } from "#lib/protocol/encoding/canonical-json";
import { parseStrictJson } from "#lib/protocol/encoding/strict-json";
import type { VerifyEd25519 } from "#lib/protocol/keys/ed25519";
import { type Fault, fail, failBy, fault, type Outcome, pass } from "#lib/protocol/statement/outcome";
import { type AuthenticatorData, parseAuthenticatorData } from "./authenticator-data";
import type { RelyingParty } from "./challenge";
import { type PasskeyKey, parseCoseKey } from "./cose-key";

/** All base64url, as `PublicKeyCredential.toJSON()` writes them. */
export type PasskeyAssertion = {
  /** COSE. */
  public_key: string;
  authenticator_data: string;
  client_data_json: string;
  signature: string;
};

export interface ExpectedAssertion extends RelyingParty {
  challenge: Uint8Array;
}

export function checkAssertion(
  assertion: PasskeyAssertion,
  expected: ExpectedAssertion,
  verifyEd25519: VerifyEd25519,
): Outcome {
  const clientDataBytes = decode(assertion.client_data_json);
  const clientData = clientDataBytes && readClientData(clientDataBytes);
  if (!clientDataBytes || !clientData) return fail("passkey_malformed", { part: "clientDataJSON" });
  const authenticatorBytes = decode(assertion.authenticator_data);
  if (!authenticatorBytes) return fail("passkey_malformed", { part: "authenticatorData" });
  const data = parseAuthenticatorData(authenticatorBytes);
  if (!data.ok) return failBy(data);
  const problem = findClientDataFault(clientData, expected) ?? findAuthenticatorFault(data, expected);
  if (problem) return failBy(problem);
  const keyBytes = decode(assertion.public_key);
  const key = keyBytes ? parseCoseKey(keyBytes) : fault("passkey_key_malformed");
  if (!key.ok) return failBy(key);
  const signed = concatBytes(authenticatorBytes, sha256(clientDataBytes));
  const signature = decode(assertion.signature);
  if (!signature) return fail("passkey_malformed", { part: "signature" });
  const forged = findSignatureFault(signature, signed, key, verifyEd25519);
  return forged ? failBy(forged) : pass("a passkey's signature over this request and decision");
}

function decode(text: string): Uint8Array | null {
  try {
    return base64UrlDecode(text);
  } catch {
    return null;
  }
}

function readClientData(bytes: Uint8Array): JsonObject | null {
  try {
    const value = parseStrictJson(utf8Decode(bytes));
    return isJsonObject(value) ? value : null;
  } catch {
    return null;
  }
}

function findClientDataFault(clientData: JsonObject, { challenge, origin }: ExpectedAssertion): Fault | null {
  const { type, challenge: signed, origin: from, crossOrigin = false, topOrigin } = clientData;
  if (type !== "webauthn.get") return fault("passkey_type_wrong");
  if (signed !== base64UrlEncode(challenge)) return fault("passkey_challenge_mismatch");
  if (from !== origin) return fault("passkey_origin_mismatch");
  return crossOrigin === false && topOrigin === undefined ? null : fault("passkey_cross_origin");
}

function findAuthenticatorFault(data: AuthenticatorData, { rpId }: ExpectedAssertion): Fault | null {
  if (!bytesEqual(data.rpIdHash, sha256(utf8Encode(rpId)))) return fault("passkey_site_mismatch");
  if (!data.userPresent) return fault("passkey_user_absent");
  if (!data.userVerified) return fault("passkey_user_unverified");
  return data.backedUp && !data.backupEligible ? fault("passkey_backup_contradictory") : null;
}

function findSignatureFault(
  signature: Uint8Array,
  signed: Uint8Array,
  key: PasskeyKey,
  verifyEd25519: VerifyEd25519,
): Fault | null {
  if (key.algorithm === "EdDSA")
    return verifyEd25519(signature, signed, key.publicKey) ? null : fault("passkey_signature_invalid");
  if (key.algorithm === "RS256")
    return verifyRs256(signature, signed, key.modulus) ? null : fault("passkey_signature_invalid");
  const compact = readEcdsaSignature(signature);
  if (compact === null) return fault("passkey_malformed", { part: "signature" });
  // Authenticators write S of either half.
  return p256.verify(compact, signed, key.point, { lowS: false }) ? null : fault("passkey_signature_invalid");
}

/** `DigestInfo` of SHA-256 up to the digest (RFC 8017, section 9.2, note 1). */
const digestInfo = hexDecode("3031300d060960864801650304020105000420");

/** RSASSA-PKCS1-v1_5 (RFC 8017, section 8.2.2): the expected padding is written and compared whole, never parsed. */
function verifyRs256(signature: Uint8Array, signed: Uint8Array, modulus: Uint8Array): boolean {
  const { length } = modulus;
  const [n, s] = [bytesToNumberBE(modulus), bytesToNumberBE(signature)];
  if (signature.length !== length || s >= n) return false;
  const digest = concatBytes(Uint8Array.of(0), digestInfo, sha256(signed));
  const padding = new Uint8Array(length - digest.length - 2).fill(0xff);
  const expected = concatBytes(Uint8Array.of(0, 1), padding, digest);
  return bytesEqual(numberToBytesBE(pow(s, 65_537n, n), length), expected);
}

/** `r || s` of an `ECDSA-Sig-Value` (RFC 3279, section 2.2.3) in DER; null for any other spelling. */
function readEcdsaSignature(der: Uint8Array): Uint8Array | null {
  try {
    const read = p256.Signature.fromBytes(der, "der");
    return bytesEqual(read.toBytes("der"), der) ? read.toBytes("compact") : null;
  } catch {
    return null;
  }
}
