/**
 * The check of an attestation's place in its agent's record: the entries on both sides and the head, as the service
 * shows them, fit the number and the link that were signed. The whole record is another matter, which takes all hashes.
 */

import { hexDecode, hexEncode } from "#lib/protocol/encoding/bytes";
import {
  emptyRecord,
  extendRecord,
  isSamePlace,
  type RecordNeighbour,
  type RecordNeighbours,
  type RecordPlace,
} from "#lib/protocol/record/agent-record";
import { fail, pass, skip } from "#lib/protocol/statement/outcome";
import { HASH_BYTES } from "#lib/protocol/tlog/merkle";
import { type RecordOutcome, type Subject, withoutPayload } from "./record-checks";

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

/** True if the head is this entry, or follows from it through the next entry. */
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
  // How many come after it is the service's word alone.
  return pass(`number ${sequence} in the agent's record`);
}
