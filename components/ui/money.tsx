"use client";
/**
 * An amount of money as people read and hear it: "12,000.50 EUR", in the reader's own grouping once the script runs, broken
 * across lines only where one is too short for it.
 */
import { type Amount, formatAmount, groupLike } from "#lib/protocol/approval/amount";
import { useIsReady } from "./use-is-ready";

export function Money(amount: Amount) {
  const isReady = useIsReady();
  const text = formatAmount(amount);
  return (
    <span className="inline-block max-w-full [overflow-wrap:anywhere]">
      {isReady ? groupLike(text, navigator.language) : text}
    </span>
  );
}
