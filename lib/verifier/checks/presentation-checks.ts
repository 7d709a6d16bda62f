/**
 * The steps of verifying a presentation, one function each. The presentation is attacker-controlled in
 * every field: a step may throw (the BBS library does on points off the curve), its caller reads that as a fail.
 */
import { base64UrlDecodeOrNull, base64UrlEncode, bytesEqual, utf8Encode } from "#lib/protocol/encoding/bytes";
import type { JsonValue } from "#lib/protocol/encoding/canonical-json";
import {
  BBS_CIPHERSUITE,
  BBS_PUBLIC_KEY_BYTES,
  BLINDING_INDEX,
  DISCLOSURE_HEADER,
  DISCLOSURE_SCHEMA,
  disclosureMessages,
  loadSignatures,
  MESSAGE_COUNT,
  MESSAGE_NAMES,
  type MessageName,
  PUBLIC_MESSAGE_NAMES,
  parseMessage,
  proofLengthBytes,
  ZK_PROOF_TYPE,
  zkKeyId,
} from "#lib/protocol/presentation/disclosure";
import {
  decodePresentationHeader,
  type PresentationHeader,
  parseZkProof,
  type ZkProof,
} from "#lib/protocol/presentation/presentation";
import { fail, type Outcome, pass, skip } from "#lib/protocol/statement/outcome";
import { parseActionStatement } from "#lib/protocol/statement/statement";

export interface PresentationExpectation {
  attestationId?: string;
  /** "public" asks for the public proof. */
  audience?: string;
  nonce?: string;
  /** Unix seconds; without it the validity period is shown, not judged. */
  nowSeconds?: number;
  /**
   * The canonical payload. Only for a caller that verifies the payload's own signature too: every disclosed message must
   * follow from it, and even a revoked key is good enough then.
   */
  payload?: Uint8Array;
}

export interface DisclosedMessage {
  index: number;
  name: MessageName;
  value: JsonValue;
}

export type PresentationOutcome = Outcome<"fail" | "not_applicable" | "not_run">;

/** A step reads only what the steps before it have put here. */
export interface State {
  value: unknown;
  pinnedKeys: readonly Uint8Array[];
  revokedKeys: readonly Uint8Array[];
  expected: PresentationExpectation;
  zkProof: ZkProof;
  publicKey: Uint8Array;
  isKeyRevoked?: boolean;
  proof: Uint8Array;
  presentationHeaderBytes: Uint8Array;
  presentationHeader: PresentationHeader;
  disclosed: (DisclosedMessage & { text: string })[];
}

/** Seconds that the clock of an honest prover may be ahead. */
const CLOCK_SKEW_SECONDS = 60;

export function checkShape(state: State): Outcome {
  const parsed = parseZkProof(state.value);
  if (typeof parsed === "string") return fail("zk_proof_malformed", { problem: parsed });
  state.zkProof = parsed;
  return pass("every field is known and within its bounds");
}

export function checkSuite({ zkProof }: State): Outcome {
  const known =
    zkProof.type === ZK_PROOF_TYPE &&
    zkProof.ciphersuite === BBS_CIPHERSUITE &&
    zkProof.schema === DISCLOSURE_SCHEMA;
  return known ? pass(`${BBS_CIPHERSUITE}, ${DISCLOSURE_SCHEMA}`) : fail("zk_suite_unknown");
}

/** The finder of a revoked key can sign any values with it: beside the payload alone it still says something. */
export function checkPinnedKey(state: State): Outcome {
  const { kid, public_key: publicKeyText } = state.zkProof;
  const isNamed = (key: Uint8Array) => zkKeyId(key) === kid;
  const revoked = state.revokedKeys.find(isNamed);
  state.isKeyRevoked = revoked !== undefined;
  if (revoked !== undefined && state.expected.payload === undefined) return fail("zk_key_revoked");
  const pinned = revoked ?? state.pinnedKeys.find(isNamed);
  if (pinned?.length !== BBS_PUBLIC_KEY_BYTES) return fail("key_unknown", { key: kid });
  if (base64UrlEncode(pinned) !== publicKeyText) return fail("key_id_mismatch");
  state.publicKey = Uint8Array.from(pinned);
  return revoked === undefined
    ? pass(`made under the pinned key ${kid}`)
    : pass(`made under the key ${kid}, revoked since: what counts is that the payload says the same`);
}

export function checkHeaders(state: State): Outcome {
  const header = base64UrlDecodeOrNull(state.zkProof.header);
  if (header === null || !bytesEqual(header, DISCLOSURE_HEADER)) return fail("zk_header_mismatch");
  const bytes = base64UrlDecodeOrNull(state.zkProof.presentation_header);
  const presentationHeader = bytes && decodePresentationHeader(bytes);
  if (!presentationHeader) return fail("presentation_header_malformed");
  state.presentationHeaderBytes = bytes;
  state.presentationHeader = presentationHeader;
  return pass("the header is the constant of this schema");
}

export function checkLength(state: State): Outcome {
  const { total_messages: total, disclosed, proof: text } = state.zkProof;
  if (total !== MESSAGE_COUNT) return fail("message_count_mismatch", { count: MESSAGE_COUNT });
  const proof = base64UrlDecodeOrNull(text);
  const wanted = proofLengthBytes(Object.keys(disclosed).length);
  if (proof?.length !== wanted) return fail("proof_length_mismatch", { bytes: wanted });
  state.proof = proof;
  return pass(`${wanted} bytes for ${MESSAGE_COUNT} messages`);
}

export function checkIndexes(state: State): Outcome {
  for (const [key, text] of Object.entries(state.zkProof.disclosed)) {
    const index = Number(key);
    const name = MESSAGE_NAMES[index];
    // Requires one spelling for each index: "01" and "1.0" would be a second entry for the same message. An object lists such
    // keys once and in ascending order.
    if (name === undefined || String(index) !== key) return fail("index_out_of_range");
    if (index === BLINDING_INDEX) return fail("blinding_disclosed");
    state.disclosed.push({ index, name, value: null, text });
  }
  if (state.presentationHeader.kind === "public") {
    const names = state.disclosed.map(({ name }) => name).join();
    if (names !== PUBLIC_MESSAGE_NAMES.join()) return fail("public_messages_mismatch");
  }
  return pass(`${state.disclosed.length} of ${MESSAGE_COUNT} messages are disclosed`);
}

export function checkMessages(state: State): Outcome {
  for (const message of state.disclosed) {
    const value = parseMessage(message.index, message.text);
    if (value === undefined) return fail("message_malformed", { index: message.index, name: message.name });
    message.value = value;
  }
  return pass("every message is canonical and stands at its index");
}

export function checkAudience({ presentationHeader: header, expected }: State): Outcome {
  const audience = header.kind === "public" ? "public" : header.audience;
  if (expected.audience === undefined) return skip("audience_not_given", { audience });
  return audience === expected.audience ? pass("made for this audience") : fail("audience_mismatch");
}

export function checkNonce({ presentationHeader: header, expected }: State): Outcome {
  if (expected.nonce === undefined) return skip("nonce_not_given");
  const matches = header.kind === "audience" && header.nonce === expected.nonce;
  return matches ? pass("answers this nonce") : fail("nonce_mismatch");
}

export function checkValidityPeriod({ presentationHeader: header, expected }: State): Outcome {
  if (header.kind === "public") return skip("never_expires");
  const { nowSeconds } = expected;
  if (nowSeconds === undefined) return skip("time_not_given");
  if (header.issuedAtSeconds > nowSeconds + CLOCK_SKEW_SECONDS) return fail("issued_in_future");
  return nowSeconds < header.expiresAtSeconds ? pass("not expired") : fail("expired");
}

export async function checkProof(state: State): Promise<Outcome> {
  if (hasZeroScalar(state.proof)) return fail("zk_proof_invalid");
  const { verifyProof } = await loadSignatures();
  const verified = await verifyProof({
    publicKey: state.publicKey,
    proof: state.proof,
    header: DISCLOSURE_HEADER,
    presentationHeader: state.presentationHeaderBytes,
    disclosedMessages: state.disclosed.map(({ text }) => utf8Encode(text)),
    disclosedMessageIndexes: state.disclosed.map(({ index }) => index),
    ciphersuite: BBS_CIPHERSUITE,
  });
  return verified ? pass("the proof verifies") : fail("zk_proof_invalid");
}

/** The draft refuses scalars of zero; the library means to, but compares a BigInt with a Number. */
function hasZeroScalar(proof: Uint8Array): boolean {
  for (let start = 144; start < proof.length; start += 32) {
    if (proof.subarray(start, start + 32).every((byte) => byte === 0)) return true;
  }
  return false;
}

export function checkAttestationId({ disclosed, presentationHeader: header, expected }: State): Outcome {
  const value = disclosed.find(({ name }) => name === "attestation_id")?.value;
  if (header.kind === "public" && header.attestationId !== value) return fail("attestation_mismatch");
  if (expected.attestationId === undefined) return skip("attestation_not_given");
  return value === expected.attestationId ? pass("about this attestation") : fail("attestation_mismatch");
}

export function checkPayload({ disclosed, zkProof, expected }: State): Outcome {
  if (expected.payload === undefined) return skip("payload_not_given");
  const messages = disclosureMessages(expected.payload);
  if (parseActionStatement(expected.payload)?.predicate.zk?.kid !== zkProof.kid)
    return fail("zk_key_mismatch");
  const differing = disclosed.find(({ index, text }) => messages[index] !== text);
  return differing
    ? fail("field_mismatch", { field: differing.name })
    : pass("every message follows from the payload");
}
