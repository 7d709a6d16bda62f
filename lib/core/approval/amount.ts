/**
 * Amounts of money: a decimal string in one canonical form and an ISO 4217 code. Arithmetic is in whole units of 10⁻⁴,
 * which 64-bit integers and Cedar's decimals hold; never in floating point.
 */

export type Amount = {
  /** At most 14 digits before and 4 after the point; no sign, no leading or trailing zeros. */
  value: string;
  /** ISO 4217, as `EUR`. */
  currency: string;
};

export const amountValuePattern = /^(?:0|[1-9]\d{0,13})(?:\.\d{0,3}[1-9])?$/;
export const currencyPattern = /^[A-Z]{3}$/;

const places = 4;
const unitsOfOne = 10n ** BigInt(places);

/** In units of 10⁻⁴. `value`: canonical. */
export function amountUnits(value: string): bigint {
  if (!amountValuePattern.test(value)) throw new RangeError("not a canonical amount");
  const [whole = "", fraction = ""] = value.split(".");
  return BigInt(whole) * unitsOfOne + BigInt(fraction.padEnd(places, "0"));
}

/** The canonical form of so many units of 10⁻⁴. */
export function amountValue(units: bigint): string {
  const fraction = (units % unitsOfOne).toString().padStart(places, "0").replace(/0+$/, "");
  const value = `${units / unitsOfOne}${fraction === "" ? "" : `.${fraction}`}`;
  if (units < 0n || !amountValuePattern.test(value))
    throw new RangeError("not an amount that can be written");
  return value;
}
