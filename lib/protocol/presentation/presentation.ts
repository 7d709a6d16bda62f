/**
 * Credentials and presentations: the service signs the 24 messages once, the owner derives proofs that
 * disclose some of them, offline and unlinkably (draft-irtf-cfrg-bbs-signatures, ProofGen).
 *
 * The signature is never published: with it, a guess of all 24 messages could be tested.
 */
import { deriveProof, sign } from "@digitalbazaar/bbs-signatures";
import { base64UrlDecode, base64UrlEncode, utf8Encode } from "#lib/protocol/encoding/bytes";
import {
  BBS_CIPHERSUITE,
  BBS_PUBLIC_KEY_BYTES,
  BBS_SIGNATURE_BYTES,
  BLINDING_INDEX,
  DISCLOSURE_HEADER,
  DISCLOSURE_SCHEMA,
  MESSAGE_COUNT,
  MESSAGE_NAMES,
  type MessageName,
  PUBLIC_MESSAGE_NAMES,
  ZK_PROOF_TYPE,
  type ZkKeyPair,
  zkKeyId,
} from "./disclosure";
import { parseMessage } from "./disclosure-messages";
import { encodePresentationHeader, type PresentationHeader } from "./presentation-header";

/** For the owner alone. A bearer secret; every byte string is base64url. */
export type ZkCredential = {
  kid: string;
  public_key: string;
  header: string;
  signature: string;
  /** All 24, the blinding one too. */
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

/** The proof that GET /v1/verify/:id shows to everyone. */
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
