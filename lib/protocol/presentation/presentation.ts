/**
 * Credentials and presentations: the service signs the 24 messages once, the owner derives proofs that
 * disclose some of them, offline and unlinkably (draft-irtf-cfrg-bbs-signatures, ProofGen).
 *
 * The signature is never published: with it, a guess of all 24 messages could be tested.
 */

import { base64UrlDecode, base64UrlEncode, utf8Decode, utf8Encode } from "#lib/protocol/encoding/bytes";
import {
  canonicalBytes,
  canonicalJson,
  isJsonObject,
  type JsonValue,
} from "#lib/protocol/encoding/canonical-json";
import {
  BBS_CIPHERSUITE,
  BBS_PUBLIC_KEY_BYTES,
  BBS_SIGNATURE_BYTES,
  BLINDING_INDEX,
  DISCLOSURE_HEADER,
  DISCLOSURE_SCHEMA,
  loadSignatures,
  MESSAGE_COUNT,
  MESSAGE_NAMES,
  type MessageName,
  PUBLIC_MESSAGE_NAMES,
  parseMessage,
  proofLengthBytes,
  ZK_PROOF_TYPE,
  type ZkKeyPair,
  zkKeyId,
} from "./disclosure";

/*
 * The presentation header: whom a proof was made for. It is inside the proof, so it can't be changed.
 *
 *   {"attestation_id":"…","aud":"public"}              the public proof, replayable by design
 *   {"aud":"…","exp":1795237200,"iat":1795233600,"nonce":"…"}   made for one verifier, Unix seconds
 */

export const MAX_AUDIENCE_LENGTH = 512;
export const MAX_NONCE_LENGTH = 256;
export const PUBLIC_AUDIENCE = "public";

export interface PublicHeader {
  kind: "public";
  attestationId: string;
}
export interface AudienceHeader {
  kind: "audience";
  audience: string;
  nonce: string;
  issuedAtSeconds: number;
  expiresAtSeconds: number;
}
export type PresentationHeader = PublicHeader | AudienceHeader;

/** Throws RangeError if the parts would not be accepted by a verifier. */
export function encodePresentationHeader(header: PresentationHeader): Uint8Array {
  const value: JsonValue =
    header.kind === "public"
      ? { aud: PUBLIC_AUDIENCE, attestation_id: header.attestationId }
      : {
          aud: header.audience,
          nonce: header.nonce,
          iat: header.issuedAtSeconds,
          exp: header.expiresAtSeconds,
        };
  const bytes = canonicalBytes(value);
  if (decodePresentationHeader(bytes) === null) throw new RangeError("not a presentation header");
  return bytes;
}

/** Null if the bytes are not exactly one of the two headers in canonical form. */
export function decodePresentationHeader(bytes: Uint8Array): PresentationHeader | null {
  let value: JsonValue;
  try {
    const text = utf8Decode(bytes);
    value = JSON.parse(text) as JsonValue;
    if (canonicalJson(value) !== text) return null;
  } catch {
    return null;
  }
  if (!isJsonObject(value)) return null;
  const { aud, attestation_id: attestationId, nonce, iat, exp } = value;
  const names = Object.keys(value).sort().join();
  if (names === "attestation_id,aud") {
    return aud === PUBLIC_AUDIENCE && isText(attestationId, 64) ? { kind: "public", attestationId } : null;
  }
  if (names !== "aud,exp,iat,nonce" || aud === PUBLIC_AUDIENCE) return null;
  if (!isText(aud, MAX_AUDIENCE_LENGTH) || !isText(nonce, MAX_NONCE_LENGTH)) return null;
  if (!isUnixSeconds(iat) || !isUnixSeconds(exp) || exp <= iat) return null;
  return { kind: "audience", audience: aud, nonce, issuedAtSeconds: iat, expiresAtSeconds: exp };
}

/** Counts Unicode code points, like the API. */
function isText(value: JsonValue | undefined, maxLength: number): value is string {
  return typeof value === "string" && value !== "" && [...value].length <= maxLength;
}

function isUnixSeconds(value: JsonValue | undefined): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

/** Secret of the owner, a bearer's; every byte string is base64url. */
export type ZkCredential = {
  kid: string;
  public_key: string;
  header: string;
  signature: string;
  messages: string[];
};

/** Proof as given to a verifier; every byte string is base64url. `disclosed` maps a message's index to its text. */
export type ZkProof = {
  type: string;
  ciphersuite: string;
  schema: string;
  kid: string;
  public_key: string;
  header: string;
  presentation_header: string;
  total_messages: number;
  disclosed: Record<string, string>;
  proof: string;
};

/** Throws RangeError unless the messages are the 24 of the schema, in order. */
export async function signMessages(keyPair: ZkKeyPair, messages: readonly string[]): Promise<ZkCredential> {
  assertMessages(messages);
  const { sign } = await loadSignatures();
  const signature = await sign({
    ...keyPair,
    header: DISCLOSURE_HEADER,
    messages: messages.map(utf8Encode),
    ciphersuite: BBS_CIPHERSUITE,
  });
  return {
    kid: zkKeyId(keyPair.publicKey),
    public_key: base64UrlEncode(keyPair.publicKey),
    header: base64UrlEncode(DISCLOSURE_HEADER),
    signature: base64UrlEncode(signature),
    messages: [...messages],
  };
}

/**
 * Names may come in any order and more than once. Throws RangeError for a credential that is not of this
 * schema, an unknown name, and `blinding`. It does not verify the credential's signature: a false one
 * makes a proof that does not verify.
 */
export async function derivePresentation(
  credential: ZkCredential,
  disclose: readonly MessageName[],
  header: PresentationHeader,
): Promise<ZkProof> {
  const { publicKey, signature } = readCredential(credential);
  const indexes = toIndexes(disclose);
  const presentationHeader = encodePresentationHeader(header);
  const { deriveProof } = await loadSignatures();
  const proof = await deriveProof({
    publicKey,
    signature,
    header: DISCLOSURE_HEADER,
    messages: credential.messages.map(utf8Encode),
    presentationHeader,
    disclosedMessageIndexes: indexes,
    ciphersuite: BBS_CIPHERSUITE,
  });
  return {
    type: ZK_PROOF_TYPE,
    ciphersuite: BBS_CIPHERSUITE,
    schema: DISCLOSURE_SCHEMA,
    kid: credential.kid,
    public_key: credential.public_key,
    header: credential.header,
    presentation_header: base64UrlEncode(presentationHeader),
    total_messages: MESSAGE_COUNT,
    disclosed: Object.fromEntries(indexes.map((index) => [String(index), messageAt(credential, index)])),
    proof: base64UrlEncode(proof),
  };
}

export async function derivePublicProof(credential: ZkCredential): Promise<ZkProof> {
  const index = MESSAGE_NAMES.indexOf("attestation_id");
  const attestationId = parseMessage(index, messageAt(credential, index));
  if (typeof attestationId !== "string") throw new RangeError("the credential names no attestation");
  return derivePresentation(credential, PUBLIC_MESSAGE_NAMES, { kind: "public", attestationId });
}

/** Ascending and without repetition: the library makes an invalid proof of anything else. */
function toIndexes(names: readonly MessageName[]): number[] {
  const indexes = [...new Set(names)].map((name) => MESSAGE_NAMES.indexOf(name)).sort((a, b) => a - b);
  if (indexes.includes(-1)) throw new RangeError("unknown message name");
  if (indexes.includes(BLINDING_INDEX)) throw new RangeError("blinding is never disclosed");
  return indexes;
}

function readCredential(credential: ZkCredential): { publicKey: Uint8Array; signature: Uint8Array } {
  const publicKey = base64UrlDecode(credential.public_key);
  const signature = base64UrlDecode(credential.signature);
  if (publicKey.length !== BBS_PUBLIC_KEY_BYTES || zkKeyId(publicKey) !== credential.kid) {
    throw new RangeError("the credential's kid is not the hash of its public key");
  }
  if (signature.length !== BBS_SIGNATURE_BYTES) throw new RangeError("a BBS signature has 80 bytes");
  if (credential.header !== base64UrlEncode(DISCLOSURE_HEADER)) {
    throw new RangeError("the credential is of another schema");
  }
  assertMessages(credential.messages);
  return { publicKey, signature };
}

function assertMessages(messages: readonly string[]): void {
  const fits =
    messages.length === MESSAGE_COUNT && messages.every((m, i) => parseMessage(i, m) !== undefined);
  if (!fits) throw new RangeError(`not the ${MESSAGE_COUNT} messages of ${DISCLOSURE_SCHEMA}`);
}

function messageAt(credential: ZkCredential, index: number): string {
  const message = credential.messages[index];
  if (message === undefined) throw new RangeError("the credential lacks a message");
  return message;
}

/*
 * The shape of a presentation as JSON: every field known, typed and bounded before anything is decoded or
 * handed to the BBS library, whose work grows with the length of what it gets.
 */

const MAX_MESSAGE_LENGTH = 65_536;
/** Characters of base64url, in the order in which the proof's JSON lists them. */
const MAX_TEXT_LENGTH: Record<Exclude<keyof ZkProof, "total_messages" | "disclosed">, number> = {
  type: 64,
  ciphersuite: 64,
  schema: 256,
  kid: 43,
  public_key: base64UrlLength(BBS_PUBLIC_KEY_BYTES),
  header: 1_024,
  presentation_header: 8_192,
  proof: base64UrlLength(proofLengthBytes(0)),
};
const FIELD_NAMES = [...Object.keys(MAX_TEXT_LENGTH), "total_messages", "disclosed"].sort().join();

function base64UrlLength(bytes: number): number {
  return Math.ceil((bytes * 4) / 3);
}

export function parseZkProof(value: unknown): ZkProof | string {
  if (!isJsonObject(value)) return "not an object";
  if (Object.keys(value).sort().join() !== FIELD_NAMES) return "fields are missing or unknown";
  for (const [name, maxLength] of Object.entries(MAX_TEXT_LENGTH)) {
    const text = value[name];
    if (typeof text !== "string") return `${name} is not a string`;
    if (text.length > maxLength) return `${name} is longer than ${maxLength} characters`;
  }
  if (typeof value["total_messages"] !== "number") return "total_messages is not a number";
  return describeDisclosedFault(value["disclosed"]) ?? (value as ZkProof);
}

function describeDisclosedFault(disclosed: JsonValue | undefined): string | null {
  if (!isJsonObject(disclosed)) return "disclosed is not an object";
  const texts = Object.values(disclosed);
  if (texts.length > MESSAGE_COUNT) return `disclosed has more than ${MESSAGE_COUNT} messages`;
  if (texts.some((text) => typeof text !== "string" || text.length > MAX_MESSAGE_LENGTH)) {
    return `a disclosed message is not a string of at most ${MAX_MESSAGE_LENGTH} characters`;
  }
  return null;
}
