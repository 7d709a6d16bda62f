/** Whether the receipts that a reader holds are in the record that was followed. */
import { bytesEqual } from "#lib/core/encoding/bytes";
import type { SignedEntry } from "#lib/core/record/record-walk";
import { fail, type Outcome, pass } from "#lib/core/statement/outcome";
import type { ReadReceipt } from "./check-record";

/** Those with a number of the record were compared on the way, one for each number. */
export function checkReceipts(
  agentId: string,
  length: number,
  read: readonly ReadReceipt[],
  held: ReadonlyMap<number, SignedEntry>,
): Outcome {
  for (const { signed, ok } of read) {
    if (!ok || signed === null) return fail("record_receipt_invalid");
    const { agent_id, sequence: number } = signed.place;
    if (number > length || agent_id !== agentId) return fail("record_entry_absent", { number });
    const compared = held.get(number);
    if (!compared || !bytesEqual(compared.payloadHash, signed.payloadHash))
      return fail("record_entry_mismatch", { number });
  }
  return pass(
    read.length === 1 ? "the receipt is in the record" : `all ${read.length} receipts are in the record`,
  );
}
