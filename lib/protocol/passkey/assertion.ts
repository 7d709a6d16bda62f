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
  base64Decode,
  base64Encode,
  base64UrlDecodeOrNull,
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
import { type VerifyEd25519, vetPublicKey } from "#lib/protocol/keys/ed25519";
import { type Fault, fail, failBy, fault, type Outcome, pass } from "#lib/protocol/statement/outcome";
import { inclusionRanges, leafHash, rootOfBranch, rootOfLeafHashes } from "#lib/protocol/tlog/merkle";
import { loadMlDsa, ML_DSA_PUBLIC_KEY_BYTES, verifyMlDsa } from "#lib/protocol/tlog/ml-dsa";

/* Authenticator data of an assertion (WebAuthn level 3, section 6.1): `rpIdHash(32) || flags(1) || signCount(4)`. */

export interface AuthenticatorData {
  ok: true;
  rpIdHash: Uint8Array;
  userPresent: boolean;
  userVerified: boolean;
  backupEligible: boolean;
  backedUp: boolean;
  signCount: number;
}

const HEAD_BYTES = 37;
const flags = {
  userPresent: 0x01,
  userVerified: 0x04,
  backupEligible: 0x08,
  backedUp: 0x10,
  credential: 0x40,
  extensions: 0x80,
} as const;

/** Extension data is signed but not read: no extension is requested. */
export function parseAuthenticatorData(bytes: Uint8Array): AuthenticatorData | Fault {
  const bits = bytes[32] ?? 0;
  const has = (flag: number) => (bits & flag) !== 0;
  const isLong = bytes.length > HEAD_BYTES;
  // An assertion has no credential data, and nothing follows unless the flag of extensions says so.
  if (bytes.length < HEAD_BYTES || has(flags.credential) || isLong !== has(flags.extensions))
    return fault("passkey_malformed", { part: "authenticatorData" });
  return {
    ok: true,
    rpIdHash: bytes.slice(0, 32),
    userPresent: has(flags.userPresent),
    userVerified: has(flags.userVerified),
    backupEligible: has(flags.backupEligible),
    backedUp: has(flags.backedUp),
    signCount: new DataView(bytes.buffer, bytes.byteOffset + 33, 4).getUint32(0),
  };
}

/*
 * Challenge that a passkey signs to decide a request. It contains nothing random: it is derived from the request's
 * hash, which is salted, so an assertion is about one request and one decision and can't be replayed for another.
 *
 *     challenge = SHA-256("countersign approval v1\n" || request_hash(32) || "approve", "deny", "revoke", "amend" or "ask")
 */

/** `revoke` takes back what its signer approved; `amend` ends the request for a changed one; `ask` decides nothing. */
export type PasskeyDecision = "approve" | "deny" | "revoke" | "amend" | "ask";

const label = utf8Encode("countersign approval v1\n");

/** `requestHash`: the 64 hex digits; throws RangeError for anything else. */
export function approvalChallenge(requestHash: string, decision: PasskeyDecision): Uint8Array {
  const hash = hexDecode(requestHash);
  if (hash.length !== 32) throw new RangeError("a request's hash has 32 bytes");
  return sha256(concatBytes(label, hash, utf8Encode(decision)));
}

/*
 * Challenge of a list: one signature approves 2 to 20 requests, which are the leaves of a tree (RFC 9162, 2.1) in the
 * order of the page. Its label is another than that of a single request, so neither passes as the other, and the size is
 * signed because a root alone fits trees of several sizes.
 *
 *     leaf = request_hash(32)
 *     challenge = SHA-256("countersign approval list v2\n" || size(1) || root(32) || "approve")
 */

export const listSize = { min: 2, max: 20 } as const;

/** Place of one request in a list. */
export type ListBranch = {
  index: number;
  size: number;
  /** base64, from the leaf's sibling upwards. */
  proof: string[];
};

const listLabel = utf8Encode("countersign approval list v2\n");

const challengeOfList = (size: number, root: Uint8Array): Uint8Array =>
  sha256(concatBytes(listLabel, Uint8Array.of(size), root, utf8Encode("approve")));

/** `requestHashes`: in the order of the page. Throws RangeError for too few, too many, or one that occurs twice. */
export function buildList(requestHashes: readonly string[]): {
  challenge: Uint8Array;
  branches: ListBranch[];
} {
  const size = requestHashes.length;
  if (size < listSize.min || size > listSize.max) throw new RangeError("a list has 2 to 20 requests");
  if (new Set(requestHashes).size !== size) throw new RangeError("a request occurs twice");
  const leaves = requestHashes.map((hash) => leafHash(hexDecode(hash)));
  const branches = requestHashes.map((_, index) => {
    const ranges = inclusionRanges(index, size);
    return {
      index,
      size,
      proof: ranges.map(([from, to]) => base64Encode(rootOfLeafHashes(leaves.slice(from, to)))),
    };
  });
  return { challenge: challengeOfList(size, rootOfLeafHashes(leaves)), branches };
}

/** Challenge of the list that the branch leads to; a fault for a branch of no list, or of one that has the request twice. */
export function branchChallenge(
  requestHash: string,
  { index, size, proof }: ListBranch,
): { ok: true; challenge: Uint8Array } | Fault {
  const leaf = leafHash(hexDecode(requestHash));
  const siblings = proof.map(base64Decode);
  const root = rootOfBranch({ leafHash: leaf, index, size, proof: siblings });
  if (root === null) return fault("list_malformed", { size });
  if (siblings.some((sibling) => bytesEqual(sibling, leaf))) return fault("list_repeated");
  return { ok: true, challenge: challengeOfList(size, root) };
}

export interface RelyingParty {
  /** Origin in browsers' form: no path, no standard port. */
  origin: string;
  rpId: string;
}

/** `baseUrl`: the service's public address, as in a request's `origin`. Throws TypeError for what is no address. */
export function toRelyingParty(baseUrl: string): RelyingParty {
  const { origin, hostname } = new URL(baseUrl);
  return { origin, rpId: hostname };
}

/*
 * A credential's public key in COSE (RFC 9053, RFC 9964), in the one form that CTAP2's canonical CBOR gives it. WebAuthn wants this
 * form of authenticators, so the key is compared with a template and no CBOR is parsed here.
 *
 *     ES256: a5 01 02 03 26 20 01 21 58 20 <x, 32 bytes> 22 58 20 <y, 32 bytes>
 *     EdDSA: a4 01 01 03 27 20 06 21 58 20 <x, 32 bytes>
 *     RS256: a4 01 03 03 39 01 00 20 59 <length, 2 bytes> <n, 256 to 512 bytes> 21 43 01 00 01
 *     ML-DSA-44: a3 01 07 03 38 2f 20 59 05 20 <public key, 1,312 bytes>
 */

export type PasskeyKey =
  | { ok: true; algorithm: "ES256" /** SEC 1, uncompressed: 65 bytes. */; point: Uint8Array }
  | { ok: true; algorithm: "EdDSA" /** RFC 8032: 32 bytes. */; publicKey: Uint8Array }
  /** RSA with the exponent 65,537; big-endian, its first bit set. */
  | { ok: true; algorithm: "RS256"; modulus: Uint8Array }
  | { ok: true; algorithm: "ML-DSA-44"; publicKey: Uint8Array };

const COORDINATE_BYTES = 32;
const es256 = { start: hexDecode("a5010203262001215820"), middle: hexDecode("225820") };
const edDsa = { start: hexDecode("a4010103272006215820") };
const mlDsa = { start: hexDecode("a3010703382f20590520") };
const rs256 = { start: hexDecode("a40103033901002059"), end: hexDecode("2143010001") };
/** 2,048 to 4,096 bits. */
const modulusBytes = { min: 256, max: 512 };
/** Bytes of the longest key: ML-DSA-44. */
export const maxCoseKeyBytes = mlDsa.start.length + ML_DSA_PUBLIC_KEY_BYTES;

const encodeEs256Key = (x: Uint8Array, y: Uint8Array): Uint8Array =>
  concatBytes(es256.start, x, es256.middle, y);

const startsWith = (bytes: Uint8Array, start: Uint8Array) =>
  bytesEqual(bytes.subarray(0, start.length), start);

/**
 * Loads what checking an assertion by one of these keys needs, since the check itself waits for nothing. `publicKeys`:
 * base64url, untrusted.
 */
export async function loadAlgorithms(publicKeys: readonly string[]): Promise<void> {
  const start = base64UrlEncode(mlDsa.start.subarray(0, 9));
  if (publicKeys.some((key) => key.startsWith(start))) await loadMlDsa();
}

export function parseCoseKey(bytes: Uint8Array): PasskeyKey | Fault {
  if (startsWith(bytes, es256.start)) return readEs256(bytes);
  if (startsWith(bytes, edDsa.start)) return readEdDsa(bytes);
  if (startsWith(bytes, rs256.start)) return readRs256(bytes);
  if (startsWith(bytes, mlDsa.start)) return readMlDsa(bytes);
  return fault("passkey_key_unsupported");
}

function readEs256(bytes: Uint8Array): PasskeyKey | Fault {
  const x = bytes.subarray(es256.start.length, es256.start.length + COORDINATE_BYTES);
  const y = bytes.subarray(-COORDINATE_BYTES);
  if (!bytesEqual(encodeEs256Key(x, y), bytes)) return fault("passkey_key_malformed");
  const point = concatBytes(Uint8Array.of(4), x, y);
  try {
    p256.Point.fromBytes(point).assertValidity();
  } catch {
    return fault("passkey_key_malformed");
  }
  return { ok: true, algorithm: "ES256", point };
}

function readEdDsa(bytes: Uint8Array): PasskeyKey | Fault {
  const publicKey = bytes.slice(edDsa.start.length);
  if (!vetPublicKey(publicKey).ok) return fault("passkey_key_malformed");
  return { ok: true, algorithm: "EdDSA", publicKey };
}

function readMlDsa(bytes: Uint8Array): PasskeyKey | Fault {
  const publicKey = bytes.slice(mlDsa.start.length);
  if (publicKey.length !== ML_DSA_PUBLIC_KEY_BYTES) return fault("passkey_key_malformed");
  return { ok: true, algorithm: "ML-DSA-44", publicKey };
}

function readRs256(bytes: Uint8Array): PasskeyKey | Fault {
  const modulus = bytes.slice(rs256.start.length + 2, -rs256.end.length);
  const { length } = modulus;
  const written = concatBytes(rs256.start, Uint8Array.of(length >> 8, length & 0xff), modulus, rs256.end);
  const [first = 0, last = 0] = [modulus[0], modulus.at(-1)];
  const isFit = length >= modulusBytes.min && length <= modulusBytes.max && first >= 0x80 && last % 2 === 1;
  if (!isFit || !bytesEqual(written, bytes)) return fault("passkey_key_malformed");
  return { ok: true, algorithm: "RS256", modulus };
}

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
  const clientDataBytes = base64UrlDecodeOrNull(assertion.client_data_json);
  const clientData = clientDataBytes && readClientData(clientDataBytes);
  if (!clientDataBytes || !clientData) return fail("passkey_malformed", { part: "clientDataJSON" });
  const authenticatorBytes = base64UrlDecodeOrNull(assertion.authenticator_data);
  if (!authenticatorBytes) return fail("passkey_malformed", { part: "authenticatorData" });
  const data = parseAuthenticatorData(authenticatorBytes);
  if (!data.ok) return failBy(data);
  const problem = findClientDataFault(clientData, expected) ?? findAuthenticatorFault(data, expected);
  if (problem) return failBy(problem);
  const keyBytes = base64UrlDecodeOrNull(assertion.public_key);
  const key = keyBytes ? parseCoseKey(keyBytes) : fault("passkey_key_malformed");
  if (!key.ok) return failBy(key);
  const signed = concatBytes(authenticatorBytes, sha256(clientDataBytes));
  const signature = base64UrlDecodeOrNull(assertion.signature);
  if (!signature) return fail("passkey_malformed", { part: "signature" });
  const forged = findSignatureFault(signature, signed, key, verifyEd25519);
  return forged ? failBy(forged) : pass("a passkey's signature over this request and decision");
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
  if (key.algorithm === "ML-DSA-44")
    return verifyMlDsa(signature, signed, key.publicKey) ? null : fault("passkey_signature_invalid");
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
