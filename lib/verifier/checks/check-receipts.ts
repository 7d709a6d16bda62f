/** Checks that the receipts that a reader holds are in the followed record. */
import { buildDecisionStatement } from "#lib/protocol/approval/approval-decision";
import { parseHumanAuthorization } from "#lib/protocol/approval/human-authorization-shape";
import { bytesEqual, hexEncode, sha256 } from "#lib/protocol/encoding/bytes";
import type { JsonValue } from "#lib/protocol/encoding/canonical-json";
import { emptyRecord, extendRecord } from "#lib/protocol/record/agent-record";
import { fail, type Outcome, pass } from "#lib/protocol/statement/outcome";
import type { ReadReceipt, RecordEntry } from "./check-record";
import type { SignedEntry } from "./record-checks";

/** Follows from the approval but for the questions, which only the old request's owner has: both were one transaction. */
export function readCancelled(object: JsonValue): ReadReceipt["cancelled"] {
  const { request, key_id } = parseHumanAuthorization(object) ?? {};
  if (request?.amends === undefined || key_id === undefined) return null;
  const { created_at: decided_at, amends } = request;
  const { request_hash } = amends;
  return { decision: "cancelled", request_hash, decided_at, key_id, authorization_hash: null };
}

export function findReused(read: readonly ReadReceipt[]) {
  const used = new Map<number, number>();
  for (const { signed, decided } of read) {
    if (signed === null || decided === null) continue;
    const { sequence: number } = signed.place;
    const earlier = used.get(decided.place.sequence) ?? number;
    if (earlier !== number)
      return fail("authorization_mismatch", { field: `number ${number} and number ${earlier} share it` });
    used.set(decided.place.sequence, number);
  }
  return undefined;
}

/** Number of an entry that is this very decision; null if none is. */
function findDecision(
  agentId: string,
  entries: readonly RecordEntry[],
  decision: ReadReceipt["cancelled"] & {},
): number | null {
  let head = emptyRecord(agentId);
  for (const { mark, sequence, payloadHash } of entries) {
    const record = { agent_id: agentId, sequence, previous: hexEncode(head.link) };
    if (
      mark === "decision" &&
      bytesEqual(sha256(buildDecisionStatement({ ...decision, record })), payloadHash)
    )
      return sequence;
    head = extendRecord(head, payloadHash);
  }
  return null;
}

/**
 * Never are both open: the request that an approver changed, and what was made of it. The cancellation of one that was
 * asked about can't be found, because its statement names the questions' hash.
 */
export function findAmendedOpen(
  agentId: string,
  entries: readonly RecordEntry[],
  read: readonly ReadReceipt[],
) {
  for (const { decided, cancelled } of read) {
    if (decided === null || cancelled === null) continue;
    const { sequence: number } = decided.place;
    const later = findDecision(agentId, entries, cancelled);
    if (later !== null && later > number) return fail("record_amended_open", { number, later });
  }
  return undefined;
}

interface FollowedRecord {
  agentId: string;
  length: number;
  entries: readonly RecordEntry[];
}

/**
 * Checks receipts with the decisions behind them. What has a number of the record was compared on the way, one for each number.
 */
export function checkReceipts(
  { agentId, length, entries }: FollowedRecord,
  read: readonly ReadReceipt[],
  held: ReadonlyMap<number, SignedEntry>,
): Outcome {
  for (const { signed, decided, ok } of read) {
    if (!ok || signed === null) return fail("record_receipt_invalid");
    for (const { place, payloadHash } of decided === null ? [signed] : [signed, decided]) {
      const { agent_id, sequence: number } = place;
      if (number > length || agent_id !== agentId) return fail("record_entry_absent", { number });
      const compared = held.get(number);
      if (!compared || !bytesEqual(compared.payloadHash, payloadHash))
        return fail("record_entry_mismatch", { number });
    }
  }
  const wrong = findReused(read) ?? findAmendedOpen(agentId, entries, read);
  if (wrong !== undefined) return wrong;
  return pass(
    read.length === 1 ? "the receipt is in the record" : `all ${read.length} receipts are in the record`,
  );
}
