/**
 * An amount of money as people read it: long numbers in threes, apart by a space, because commas and points mean one thing here
 * and another there (ISO 80000-1, 7.3). Screen readers get the number whole.
 */
import type { Amount } from "#lib/protocol/approval/amount";

export function Money({ value, currency }: Amount) {
  const [whole = "", ...fraction] = value.split(".");
  if (whole.length < 5) return `${value} ${currency}`;
  const groups = whole.replaceAll(/\B(?=(?:\d{3})+$)/g, "\u00a0");
  return (
    <>
      <span aria-hidden="true">
        {[groups, ...fraction].join(".")} {currency}
      </span>
      <span className="sr-only select-none">
        {value} {currency}
      </span>
    </>
  );
}
