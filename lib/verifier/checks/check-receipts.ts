/** Checks that the receipts that a reader holds are in the followed record. */
import { bytesEqual } from "#lib/protocol/encoding/bytes";
import { fail, type Outcome, pass } from "#lib/protocol/statement/outcome";
import type { ReadReceipt } from "./check-record";
import type { SignedEntry } from "./record-checks";

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

/** With the decisions behind them. What has a number of the record was compared on the way, one for each number. */
export function checkReceipts(
  agentId: string,
  length: number,
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
  const reused = findReused(read);
  if (reused !== undefined) return reused;
  return pass(
    read.length === 1 ? "the receipt is in the record" : `all ${read.length} receipts are in the record`,
  );
}
