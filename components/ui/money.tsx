/** An amount of money as people read and hear it: "12,000.50 EUR", broken across lines only where one is too short for it. */
import { type Amount, formatAmount } from "#lib/protocol/approval/amount";

export const Money = (amount: Amount) => (
  <span className="inline-block max-w-full [overflow-wrap:anywhere]">{formatAmount(amount)}</span>
);
