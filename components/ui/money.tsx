/**
 * An amount of money as people read and hear it: "12,000.50 EUR", in the reader's own grouping, broken across lines only
 * where one is too short for it.
 */
import { type Amount, formatAmount } from "#lib/protocol/approval/amount";
import { Grouped } from "./grouped";

export const Money = (amount: Amount) => (
  <span className="inline-block max-w-full [overflow-wrap:anywhere]">
    <Grouped text={formatAmount(amount)} />
  </span>
);
