/** The checks of what the service did: hashed, signed under a key of its own, and put into the log. */
import { bytesEqual, sha256 } from "./bytes";
import { verifyCheckpoint } from "./checkpoint";
import { verifyEnvelope } from "./dsse";
import type { VerifyEd25519 } from "./ed25519";
import { computeDsseKeyId } from "./ed25519-key";
import { leafMatchesEnvelope, parseLogLeaf } from "./log-leaf";
import { leafHash, verifyInclusion } from "./merkle";
import type { Receipt, Trust, TrustedKey } from "./receipt";
import { type ActionStatement, STATEMENT_MEDIA_TYPE } from "./statement";

export interface Outcome {
  status: "pass" | "fail" | "not_applicable";
  detail: string;
  /** The receipt does not carry what the check reads. */
  isMissing?: true;
}
export const pass = (detail: string): Outcome => ({ status: "pass", detail });
export const fail = (detail: string): Outcome => ({ status: "fail", detail });
export const skip = (detail: string): Outcome => ({ status: "not_applicable", detail });
export const miss = (detail: string): Outcome => ({ status: "not_applicable", detail, isMissing: true });

export interface Subject {
  receipt: Receipt;
  trust: Trust;
  payload: Uint8Array | null;
  statement: ActionStatement | null;
  key: TrustedKey | undefined;
  verify: VerifyEd25519;
}

const whyWithout = {
  erased: "the payload was erased",
  lost: "the payload is gone",
  hidden: "the payload is private",
} as const;

export function withoutPayload({ receipt: { payload } }: Subject): Outcome {
  return miss(whyWithout[typeof payload === "string" ? payload : "hidden"]);
}

export function checkPayloadHash(subject: Subject): Outcome {
  const { receipt, payload, statement } = subject;
  if (receipt.payload === "lost") return fail("the payload is gone, and no erasure is recorded");
  if (receipt.isErased && receipt.payload !== "erased")
    return fail("an erasure is recorded, and yet the payload is there");
  if (payload === null) return withoutPayload(subject);
  if (!bytesEqual(sha256(payload), receipt.payloadHash))
    return fail("the payload does not have the hash that was recorded");
  if (statement === null) return fail("the payload is not a canonical statement about an agent's action");
  const { predicate } = statement;
  if (predicate.attestation_id !== receipt.attestationId)
    return fail("the payload is that of another attestation");
  if (String(predicate.request["agent_slug"]).toLowerCase() !== receipt.agentSlug.toLowerCase()) {
    return fail("the payload is about another agent");
  }
  if (predicate.key_id !== receipt.keyId) return fail("the payload names another signing key");
  if (predicate.is_public !== receipt.isPublic) return fail("the payload has another visibility");
  return pass("SHA-256 of the signed bytes is payload_hash, and they are this attestation's statement");
}

export function checkSignature(subject: Subject): Outcome {
  const { receipt, payload, key, verify } = subject;
  if (payload === null) return withoutPayload(subject);
  if (key === undefined) return fail(`key ${receipt.keyId} is not one of the service's keys`);
  if (receipt.signature !== "absent" && !verify(receipt.signature, payload, key.publicKey))
    return fail("the Ed25519 signature does not verify");
  if (!verifyEnvelope(envelopeOf(payload, receipt, key), key.publicKey, verify))
    return fail("the envelope's signature does not verify");
  const over = receipt.signature === "absent" ? ", over the envelope" : "";
  return pass(`Ed25519 by key ${key.keyId}${over}`);
}

function envelopeOf(payload: Uint8Array, receipt: Receipt, key: TrustedKey) {
  return {
    payloadType: STATEMENT_MEDIA_TYPE,
    payload,
    keyId: computeDsseKeyId(key.publicKey),
    signature: receipt.envelopeSignature,
  };
}

export function checkKeyValidity({ receipt, key }: Subject): Outcome {
  if (key === undefined) return fail(`key ${receipt.keyId} is not one of the service's keys`);
  const { index } = receipt.log;
  const isWithin = index >= key.validFromIndex && (key.validToIndex === null || index < key.validToIndex);
  const range = `log indexes ${key.validFromIndex} to ${key.validToIndex === null ? "now" : key.validToIndex - 1}`;
  return isWithin
    ? pass(`key ${key.keyId} signs for ${range}`)
    : fail(`index ${index} is outside the key's ${range}`);
}

export function checkLogInclusion({ receipt, trust, payload, key }: Subject): Outcome {
  const { log } = receipt;
  const checkpoint = verifyCheckpoint(log.checkpoint, trust.logKey, trust.verifySignature);
  if (!checkpoint.ok) return fail(checkpoint.problem);
  const { size, root } = checkpoint.checkpoint;
  if (size !== log.treeSize) return fail("the checkpoint is of another size than the proof");
  let entry: ReturnType<typeof parseLogLeaf>;
  try {
    entry = parseLogLeaf(log.entry);
  } catch {
    return fail("the log entry is malformed");
  }
  if (!bytesEqual(entry.payloadHash, receipt.payloadHash))
    return fail("the log entry is about another payload");
  if (!bytesEqual(entry.signature, receipt.envelopeSignature))
    return fail("the log entry has another signature");
  if (key === undefined || !bytesEqual(entry.publicKey, key.publicKey))
    return fail("the log entry names another key");
  if (payload !== null && !leafMatchesEnvelope(log.entry, envelopeOf(payload, receipt, key), key.publicKey)) {
    return fail("the log entry is not that of the signed envelope");
  }
  const claim = { leafHash: leafHash(log.entry), index: log.index, size, proof: log.inclusionProof, root };
  return verifyInclusion(claim)
    ? pass(`leaf ${log.index} of ${size}`)
    : fail("the inclusion proof does not lead to the root");
}

export function checkCheckpointSignature({ receipt, trust }: Subject): Outcome {
  const verdict = verifyCheckpoint(receipt.log.checkpoint, trust.logKey, trust.verifySignature);
  return verdict.ok
    ? pass(`checkpoint of ${verdict.checkpoint.origin} at size ${verdict.checkpoint.size}`)
    : fail(verdict.problem);
}
