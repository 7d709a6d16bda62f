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
export const currencyDecimals = (code: string): number | undefined => decimals.get(code);
