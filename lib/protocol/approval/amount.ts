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

/** The canonical form, which is signed. */
export const amountValuePattern = /^(?:0|[1-9]\d{0,13})(?:\.\d{0,3}[1-9])?$/;
export const writtenAmountPattern = /^(?:0|[1-9]\d{0,13})(?:\.\d{1,4})?$/;
export const currencyPattern = /^[A-Z]{3}$/;

const places = 4;
const unitsOfOne = 10n ** BigInt(places);

/** `100.50` is `100.5`; a text that is no amount stays as it is. */
export const canonicalAmount = (written: string): string =>
  writtenAmountPattern.test(written) && written.includes(".") ? written.replace(/\.?0+$/, "") : written;

/**
 * ISO 4217's list one as published on 2026-01-01, by the decimals of each currency. Codes without decimals of their own
 * (metals, drawing rights, tests, no currency) are left out: nobody can be paid an amount in them.
 */
const listOne = [
  "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF",
  "",
  "AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF CHE CHF CHW CNY " +
    "COP COU CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS " +
    "INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR " +
    "MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP " +
    "STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD USN UYU UZS VED VES WST XAD XCD XCG YER ZAR ZMW ZWG",
  "BHD IQD JOD KWD LYD OMR TND",
  "CLF UYW",
];

const decimals = new Map(
  listOne.flatMap((codes, places) => codes.match(/[A-Z]{3}/g)?.map((code) => [code, places] as const) ?? []),
);

/** Undefined for a code that ISO 4217 doesn't list. */
const currencyDecimals = (code: string): number | undefined => decimals.get(code);

/** Returns why no amount of this currency can be this; null if one can. `value`: canonical. */
export function findCurrencyMistake(currency: string, value: string): string | null {
  const places = currencyDecimals(currency);
  if (places === undefined) return `"${currency}" is not on the list of ISO 4217`;
  if ((value.split(".")[1] ?? "").length <= places) return null;
  return `${currency} has ${places === 0 ? "no decimals" : `${places} decimals`}: ${value} can't be paid`;
}

/** Converts to units of 10⁻⁴. `value`: canonical. */
export function amountUnits(value: string): bigint {
  if (!amountValuePattern.test(value)) throw new RangeError("not a canonical amount");
  const [whole = "", fraction = ""] = value.split(".");
  return BigInt(whole) * unitsOfOne + BigInt(fraction.padEnd(places, "0"));
}

export function writeUnits(units: bigint): string {
  const fraction = (units % unitsOfOne).toString().padStart(places, "0").replace(/0+$/, "");
  return `${units / unitsOfOne}${fraction === "" ? "" : `.${fraction}`}`;
}

/** The canonical form of so many units of 10⁻⁴. */
export function amountValue(units: bigint): string {
  const value = writeUnits(units);
  if (units < 0n || !amountValuePattern.test(value))
    throw new RangeError("not an amount that can be written");
  return value;
}

/** "1200050" for 12000.5 EUR: the currency's smallest unit, in which many programs count. */
export function writeMinorUnits({ value, currency }: Amount): string {
  return String(amountUnits(value) / 10n ** BigInt(places - (currencyDecimals(currency) ?? 0)));
}

/** "12000.50", for spreadsheets: with the currency's decimals; a value written with more keeps them. */
export function padDecimals({ value, currency }: Amount): string {
  const [whole = "", fraction = ""] = value.split(".");
  const decimals = fraction.padEnd(currencyDecimals(currency) ?? 0, "0");
  return decimals === "" ? whole : `${whole}.${decimals}`;
}

/** The same with whole numbers in threes. */
function formatValue(value: string, currency: string): string {
  const [whole = "", ...decimals] = padDecimals({ value, currency }).split(".");
  return [whole.replaceAll(/\B(?=(?:\d{3})+$)/g, ","), ...decimals].join(".");
}

/** "12,000.50 EUR". A code that isn't on ISO 4217's list, which older requests could have, adds no decimals. */
export const formatAmount = ({ value, currency }: Amount): string =>
  `${formatValue(value, currency)} ${currency}`;

/** Orders by currency, the largest first; no amount comes last. */
export function compareAmounts(one: Amount | null, other: Amount | null): number {
  if (one === null || other === null) return Number(one === null) - Number(other === null);
  if (one.currency !== other.currency) return one.currency < other.currency ? -1 : 1;
  const difference = amountUnits(other.value) - amountUnits(one.value);
  return difference < 0n ? -1 : Number(difference > 0n);
}

/** "1,200.00 of 5,000.00 EUR left"; all values canonical. */
export function formatLeft(spent: string, budget: string, currency: string): string {
  const left = amountUnits(budget) - amountUnits(spent);
  const value = left < 0n ? "0" : amountValue(left);
  return `${formatValue(value, currency)} of ${formatAmount({ value: budget, currency })} left`;
}

/** The sum of each currency, by its code; a sum can have more digits than an amount. */
export function sumByCurrency(amounts: readonly Amount[]): (Amount & { count: number })[] {
  const sums = new Map<string, { units: bigint; count: number }>();
  for (const { value, currency } of amounts) {
    const { units, count } = sums.get(currency) ?? { units: 0n, count: 0 };
    sums.set(currency, { units: units + amountUnits(value), count: count + 1 });
  }
  const codes = [...sums].sort(([one], [other]) => (one < other ? -1 : 1));
  return codes.map(([currency, { units, count }]) => ({ currency, value: writeUnits(units), count }));
}
