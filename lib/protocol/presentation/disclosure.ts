/**
 * Selective disclosure: the constants, keys and headers of the BBS proofs (draft-irtf-cfrg-bbs-signatures).
 *
 * A proof shows some of the 24 messages of one attestation and hides the rest perfectly. Its header is the
 * same for every attestation, because the header appears in every presentation and would link them.
 */
import { base64UrlEncode, hexEncode, sha256 } from "#lib/protocol/encoding/bytes";
import { canonicalBytes, canonicalJson, type JsonValue } from "#lib/protocol/encoding/canonical-json";
import { type HumanApproval, isBacked, isHumanApproved } from "#lib/protocol/statement/human-approval";
import { PRODUCT_URI } from "#lib/protocol/statement/product";
import { parseActionStatement } from "#lib/protocol/statement/statement";

export const DISCLOSURE_SCHEMA = `${PRODUCT_URI}/disclosure/v1`;
export const BBS_CIPHERSUITE = "BBS_BLS12381G1_XMD:SHA-256_SSWU_RO_";
export const ZK_PROOF_TYPE = "bbs-selective-disclosure/1";

export const BBS_PUBLIC_KEY_BYTES = 96;
export const BBS_SIGNATURE_BYTES = 80;

/** Message i is about the name at position i. The order is part of the schema: it never changes. */
export const MESSAGE_NAMES = [
  "schema",
  "attestation_id",
  "payload_hash",
  "issued_at",
  "issued_date",
  "issued_month",
  "agent_slug",
  "agent_public_key",
  "organization",
  "action",
  "inputs_hash",
  "code_hash",
  "model_id",
  "metadata",
  "tools_used",
  "agent_authenticated",
  "code_hash_verified",
  "tools_authorized",
  "human_approved",
  "human_approval_method",
  "human_approval_level",
  "is_public",
  "human_approval_environment",
  "blinding",
] as const;
export type MessageName = (typeof MESSAGE_NAMES)[number];
export const MESSAGE_COUNT = MESSAGE_NAMES.length;

/** The payload's salt. A reader who learned it could test guesses of the whole payload against its hash. */
export const BLINDING_INDEX = MESSAGE_NAMES.indexOf("blinding");

/**
 * Messages that the public proof discloses, always all of them: a flag shown only when true would give away a false.
 */
export const PUBLIC_MESSAGE_NAMES = [
  "schema",
  "attestation_id",
  "issued_month",
  "agent_slug",
  "agent_authenticated",
  "code_hash_verified",
  "tools_authorized",
  "human_approved",
  "human_approval_method",
  "human_approval_environment",
] as const satisfies readonly MessageName[];

/** `{"iss":"https://countersign.dev","l":24,"schema":"https://countersign.dev/disclosure/v1"}` */
export const DISCLOSURE_HEADER: Uint8Array = canonicalBytes({
  iss: PRODUCT_URI,
  l: MESSAGE_COUNT,
  schema: DISCLOSURE_SCHEMA,
});

/** 272 bytes and one scalar of 32 for every hidden message. */
export function proofLengthBytes(disclosedCount: number): number {
  return 272 + 32 * (MESSAGE_COUNT - disclosedCount);
}

/** base64url(SHA-256(public key)): what the signed payload names and a verifier pins. */
export function zkKeyId(publicKey: Uint8Array): string {
  return base64UrlEncode(sha256(publicKey));
}

/** `predicate.zk` of the signed payload: binds the payload to the BBS key of its messages. */
export function zkPredicate(publicKey: Uint8Array): { suite: string; schema: string; kid: string } {
  return { suite: BBS_CIPHERSUITE, schema: DISCLOSURE_SCHEMA, kid: zkKeyId(publicKey) };
}

export interface ZkKeyPair {
  secretKey: Uint8Array;
  publicKey: Uint8Array;
}

/** The curve takes a tenth of a second to load, and most processes have no use for it. */
export const loadSignatures = () => import("@digitalbazaar/bbs-signatures");

/** The draft's KeyGen over a secret seed of exactly 32 bytes: the same seed makes the same keys. */
export async function zkKeyPairFromSeed(seed: Uint8Array): Promise<ZkKeyPair> {
  if (seed.length !== 32) throw new RangeError("a BBS seed has 32 bytes");
  const { generateKeyPair } = await loadSignatures();
  // The Buffers of Node are subclasses that share memory: a copy is a plain array of its own.
  return generateKeyPair({ seed: Uint8Array.from(seed), ciphersuite: BBS_CIPHERSUITE });
}

/*
 * The 24 messages of an attestation: a published, pure function of its canonical payload, so that whoever
 * has the payload can make them again and payload and proof cannot say different things.
 *
 * Message i is the RFC 8785 text of `[name, value]`, for example `["human_approved",true]`. What is absent
 * is null, always: a fixed count and order, so that the shape of a proof gives nothing away.
 */

/** Throws TypeError if the bytes are not the canonical statement of an action. */
export function disclosureMessages(payload: Uint8Array): string[] {
  const statement = parseActionStatement(payload);
  if (statement === null) throw new TypeError("the payload is not a canonical action statement");
  const { request, registered, verdicts, human_approval: approval, ...predicate } = statement.predicate;
  const values: Record<MessageName, JsonValue> = {
    schema: DISCLOSURE_SCHEMA,
    attestation_id: predicate.attestation_id,
    payload_hash: hexEncode(sha256(payload)),
    issued_at: predicate.timestamp,
    issued_date: predicate.timestamp.slice(0, "2026-11-21".length),
    issued_month: predicate.timestamp.slice(0, "2026-11".length),
    agent_slug: request["agent_slug"] ?? null,
    agent_public_key: registered.agent_public_key,
    organization: predicate.organization,
    action: request["action"] ?? null,
    inputs_hash: request["inputs_hash"] ?? null,
    code_hash: request["code_hash"] ?? null,
    model_id: request["model_id"] ?? null,
    metadata: request["metadata"] ?? null,
    tools_used: request["tools_used"] ?? null,
    agent_authenticated: verdicts.agent_authenticated,
    code_hash_verified: verdicts.code_hash_verified,
    tools_authorized: verdicts.tools_authorized,
    ...humanApprovalValues(approval),
    is_public: predicate.is_public,
    blinding: predicate.salt,
  };
  return MESSAGE_NAMES.map((name) => canonicalJson([name, values[name]]));
}

function humanApprovalValues(approval: HumanApproval) {
  const proven = isBacked(approval) ? approval : null;
  return {
    human_approved: isHumanApproved(approval),
    human_approval_method: approval.method,
    human_approval_level: proven?.level ?? null,
    human_approval_environment: proven?.environment ?? null,
  };
}

/** The value of message `index`; undefined if the text is not the canonical `[name, value]` of that index. */
export function parseMessage(index: number, text: string): JsonValue | undefined {
  const name = MESSAGE_NAMES[index];
  try {
    const pair: unknown = JSON.parse(text);
    if (name === undefined || !Array.isArray(pair) || pair.length !== 2 || pair[0] !== name) return undefined;
    const value = pair[1] as JsonValue;
    return canonicalJson([name, value]) === text ? value : undefined;
  } catch {
    return undefined;
  }
}
