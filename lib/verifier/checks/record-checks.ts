/** The checks of what the service did: hashed, signed under a key of its own, and put into the log. */
import { bytesEqual, hexDecode, hexEncode } from "#lib/protocol/encoding/bytes";
import { computeDsseKeyId, SIGNATURE_BYTES, type VerifyEd25519 } from "#lib/protocol/keys/ed25519";
import {
  emptyRecord,
  extendRecord,
  isSameHead,
  isSamePlace,
  type RecordHead,
  type RecordNeighbour,
  type RecordNeighbours,
  type RecordPlace,
} from "#lib/protocol/record/agent-record";
import { verifyEnvelope } from "#lib/protocol/statement/dsse";
import { type Fault, fail, failBy, fault, type Outcome, pass, skip } from "#lib/protocol/statement/outcome";
import type { Reason, ValuesOf } from "#lib/protocol/statement/reasons";
import type { Receipt, Trust, TrustedKey } from "#lib/protocol/statement/receipt";
import { type ActionStatement, STATEMENT_MEDIA_TYPE } from "#lib/protocol/statement/statement";
import type { CheckpointVerdict } from "#lib/protocol/tlog/checkpoint";
import { leafMatchesEnvelope, parseLogLeaf } from "#lib/protocol/tlog/log-leaf";
import { HASH_BYTES, leafHash, verifyInclusion } from "#lib/protocol/tlog/merkle";

export type RecordOutcome = Outcome & { isMissing?: true };

export function miss<Code extends Reason>(reason: Code, ...values: ValuesOf<Code>): RecordOutcome {
  return { ...skip(reason, ...values), isMissing: true };
}

export interface Subject {
  receipt: Receipt;
  trust: Trust;
  payload: Uint8Array | null;
  /** SHA-256 of the payload. */
  ownHash: Uint8Array;
  statement: ActionStatement | null;
  key: TrustedKey | undefined;
  verify: VerifyEd25519;
  /** Verdict on the receipt's checkpoint under the log's key. */
  checkpoint: CheckpointVerdict;
}

const whyWithout = { erased: "payload_erased", lost: "payload_lost", hidden: "payload_private" } as const;

export function withoutPayload({ receipt: { payload } }: Subject): RecordOutcome {
  return miss(whyWithout[typeof payload === "string" ? payload : "hidden"]);
}

export function checkPayloadHash(subject: Subject): RecordOutcome {
  const { receipt, payload, ownHash, statement } = subject;
  if (receipt.payload === "lost") return fail("payload_lost");
  if (receipt.isErased && receipt.payload !== "erased") return fail("payload_not_erased");
  if (payload === null) return withoutPayload(subject);
  if (!bytesEqual(ownHash, receipt.payloadHash)) return fail("payload_hash_mismatch");
  if (statement === null) return fail("statement_malformed");
  const { predicate } = statement;
  if (predicate.attestation_id !== receipt.attestationId) return fail("attestation_mismatch");
  if (String(predicate.request["agent_slug"]).toLowerCase() !== receipt.agentSlug.toLowerCase()) {
    return fail("agent_mismatch");
  }
  if (predicate.key_id !== receipt.keyId) return fail("key_mismatch");
  if (predicate.is_public !== receipt.isPublic) return fail("visibility_mismatch");
  return pass("SHA-256 of the signed bytes is payload_hash, and they are this attestation's statement");
}

export function checkSignature(subject: Subject): RecordOutcome {
  const { receipt, payload, key } = subject;
  const { verifyPayload: verify = subject.verify } = subject.trust;
  if (payload === null) return withoutPayload(subject);
  if (key === undefined) return fail("key_unknown", { key: receipt.keyId });
  if (receipt.signature !== "absent" && !verify(receipt.signature, payload, key.publicKey))
    return fail("signature_invalid");
  if (!verifyEnvelope(buildEnvelope(payload, receipt, key), key.publicKey, verify))
    return fail("envelope_signature_invalid");
  const over = receipt.signature === "absent" ? ", over the envelope" : "";
  return pass(`Ed25519 by key ${key.keyId}${over}`);
}

function buildEnvelope(payload: Uint8Array, receipt: Receipt, key: TrustedKey) {
  return {
    payloadType: STATEMENT_MEDIA_TYPE,
    payload,
    keyId: computeDsseKeyId(key.publicKey),
    signature: receipt.envelopeSignature,
  };
}

export function checkKeyValidity({ receipt, key }: Subject): RecordOutcome {
  if (key === undefined) return fail("key_unknown", { key: receipt.keyId });
  const { index } = receipt.log;
  const isWithin = index >= key.validFromIndex && (key.validToIndex === null || index < key.validToIndex);
  const range = `log indexes ${key.validFromIndex} to ${key.validToIndex === null ? "now" : key.validToIndex - 1}`;
  return isWithin ? pass(`key ${key.keyId} signs for ${range}`) : fail("key_out_of_range", { index, range });
}

export function checkLogInclusion(subject: Subject): RecordOutcome {
  const { receipt, payload, key, checkpoint } = subject;
  const { log } = receipt;
  if (!checkpoint.ok) return failBy(checkpoint);
  const { size, root } = checkpoint.checkpoint;
  if (size !== log.treeSize) return fail("checkpoint_mismatch");
  if (payload === null || key === undefined || !isOwnEntry(subject, payload, key)) {
    const mismatch = findMismatch(subject);
    if (mismatch !== undefined) return mismatch;
  }
  const claim = { leafHash: leafHash(log.entry), index: log.index, size, proof: log.inclusionProof, root };
  return verifyInclusion(claim) ? pass(`leaf ${log.index} of ${size}`) : fail("inclusion_proof_invalid");
}

/** If the entry is exactly the leaf of this payload and signature, there is nothing more to compare. */
function isOwnEntry({ receipt, ownHash }: Subject, payload: Uint8Array, key: TrustedKey): boolean {
  return (
    receipt.envelopeSignature.length === SIGNATURE_BYTES &&
    bytesEqual(ownHash, receipt.payloadHash) &&
    leafMatchesEnvelope(receipt.log.entry, buildEnvelope(payload, receipt, key), key.publicKey, ownHash)
  );
}

/** The first field of the entry that is not the receipt's. */
function findMismatch({ receipt, payload, key }: Subject): RecordOutcome | undefined {
  const { log } = receipt;
  let entry: ReturnType<typeof parseLogLeaf>;
  try {
    entry = parseLogLeaf(log.entry);
  } catch {
    return fail("entry_malformed");
  }
  if (!bytesEqual(entry.payloadHash, receipt.payloadHash)) return fail("entry_payload_mismatch");
  if (!bytesEqual(entry.signature, receipt.envelopeSignature)) return fail("entry_signature_mismatch");
  if (key === undefined || !bytesEqual(entry.publicKey, key.publicKey)) return fail("entry_key_mismatch");
  if (
    payload !== null &&
    !leafMatchesEnvelope(log.entry, buildEnvelope(payload, receipt, key), key.publicKey)
  ) {
    return fail("entry_envelope_mismatch");
  }
  return undefined;
}

export function checkCheckpointSignature({ checkpoint: verdict }: Subject): RecordOutcome {
  return verdict.ok
    ? pass(`checkpoint of ${verdict.checkpoint.origin} at size ${verdict.checkpoint.size}`)
    : failBy(verdict);
}

/*
 * The check of an attestation's place in its agent's record: the entries on both sides and the head, as the service
 * shows them, fit the number and the link that were signed. The whole record is another matter, which takes all hashes.
 */

/** Hex; null if they are not hashes, as in a changed row. */
function linkAfter(sequence: number, { previous, payloadHash }: RecordNeighbour): string | null {
  if (previous.length !== HASH_BYTES || payloadHash.length !== HASH_BYTES) return null;
  return hexEncode(extendRecord({ sequence: sequence - 1, link: previous }, payloadHash).link);
}

function followsBefore(
  { agent_id, sequence, previous }: RecordPlace,
  before: RecordNeighbour | null,
): boolean {
  if (sequence === 1) return before === null && previous === hexEncode(emptyRecord(agent_id).link);
  return before !== null && previous === linkAfter(sequence - 1, before);
}

function leadsToHead(sequence: number, link: string, { after, head }: RecordNeighbours): boolean {
  if (after === null) return head.sequence === sequence && hexEncode(head.link) === link;
  if (hexEncode(after.previous) !== link || head.sequence <= sequence) return false;
  return head.sequence > sequence + 1 || hexEncode(head.link) === linkAfter(sequence + 1, after);
}

export function checkAgentRecord(subject: Subject): RecordOutcome {
  const { receipt, statement } = subject;
  const shown = receipt.record === "absent" ? null : receipt.record;
  const signed = statement?.predicate.record;
  if (signed && shown !== null && !isSamePlace(signed, shown.place)) return fail("record_mismatch");
  const place = signed ?? shown?.place;
  if (!place) return withoutPayload(subject);
  const neighbours = shown?.neighbours ?? "absent";
  if (neighbours === "absent") return statement === null ? withoutPayload(subject) : skip("record_not_shown");
  const { sequence } = place;
  if (!followsBefore(place, neighbours.before)) return fail("record_broken", { number: sequence - 1 });
  const own = { previous: hexDecode(place.previous), payloadHash: receipt.payloadHash };
  const link = linkAfter(sequence, own);
  if (link === null || !leadsToHead(sequence, link, neighbours))
    return fail("record_broken", { number: sequence + 1 });
  if (statement === null) return withoutPayload(subject);
  // Later ones, if any, are known by the service's word alone.
  return pass(`number ${sequence} in the agent's record`);
}

/*
 * A record from its first entry to its head, entry by entry: numbers without a gap, places in the log that rise, and
 * links that were computed here and nowhere else. What is signed about an entry is compared on the way.
 */

export interface ListedEntry {
  sequence: number;
  payloadHash: Uint8Array;
  logOrigin: string;
  logIndex: number;
}

export interface SignedEntry {
  place: RecordPlace;
  payloadHash: Uint8Array;
}

export interface RecordWalk {
  head(): RecordHead;
  /** Adds the next entry; a fault leaves the walk where it was. `signed`: what is known of it besides. */
  add(entry: ListedEntry, signed?: SignedEntry): Fault | null;
  end(claimed: RecordHead): Fault | null;
}

export function walkRecord(agentId: string): RecordWalk {
  let head = emptyRecord(agentId);
  let last: ListedEntry | null = null;
  const closedOrigins = new Set<string>();

  function isLaterInLog({ logOrigin, logIndex }: ListedEntry): boolean {
    if (last === null) return true;
    return last.logOrigin === logOrigin ? last.logIndex < logIndex : !closedOrigins.has(logOrigin);
  }

  function findFault(entry: ListedEntry, signed: SignedEntry | undefined): Fault | null {
    const number = head.sequence + 1;
    if (entry.sequence !== number) return fault("record_number_missing", { number });
    if (!isLaterInLog(entry)) return fault("record_out_of_order", { number });
    if (signed === undefined) return null;
    const { agent_id, sequence, previous } = signed.place;
    if (agent_id !== agentId || sequence !== number || !bytesEqual(signed.payloadHash, entry.payloadHash))
      return fault("record_entry_mismatch", { number });
    return previous === hexEncode(head.link) ? null : fault("record_broken", { number: head.sequence });
  }

  return {
    head: () => head,
    add: (entry, signed) => {
      const found = findFault(entry, signed);
      if (found !== null) return found;
      if (last !== null && last.logOrigin !== entry.logOrigin) closedOrigins.add(last.logOrigin);
      head = extendRecord(head, entry.payloadHash);
      last = entry;
      return null;
    },
    end: (claimed) =>
      isSameHead(head, claimed)
        ? null
        : fault("record_head_mismatch", { number: claimed.sequence, found: head.sequence }),
  };
}
