"use client";
/** An amount in the reader's own grouping, once the script runs. Without the table of currencies, which a page needn't load. */
import { useIsReady } from "./use-is-ready";

/** "12,000.50 EUR" with the separators of a locale: "12.000,50 EUR". Digits and currency stay as they are. */
export function groupLike(formatted: string, locale: string): string {
  const parts = new Intl.NumberFormat(locale, { numberingSystem: "latn", useGrouping: true }).formatToParts(
    1_234_567.8,
  );
  const separator = (type: "group" | "decimal") => parts.find((part) => part.type === type)?.value;
  return formatted.replaceAll(/[,.]/g, (one) => separator(one === "," ? "group" : "decimal") ?? one);
}

export function Grouped({ text }: { readonly text: string }) {
  return useIsReady() ? groupLike(text, navigator.language) : text;
}
