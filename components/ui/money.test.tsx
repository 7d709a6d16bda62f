import { renderToStaticMarkup } from "react-dom/server";
import { expect, it } from "vitest";
import { compareAmounts } from "#lib/protocol/approval/amount";
import { groupLike } from "./grouped";
import { Money } from "./money";

it("is one text for eyes and ears, with the currency's decimals", () => {
  expect(renderToStaticMarkup(<Money value="12000.5" currency="EUR" />)).toBe(
    '<span class="inline-block max-w-full [overflow-wrap:anywhere]">12,000.50 EUR</span>',
  );
});

it.each([
  ["en-GB", "12,000.50 EUR"],
  ["de-DE", "12.000,50 EUR"],
  ["en-IN", "12,000.50 EUR"],
  ["fr-FR", "12\u202f000,50 EUR"],
  ["ar-EG", "12,000.50 EUR"],
])("has the reader's separators: %s", (locale, text) => {
  expect(groupLike("12,000.50 EUR", locale)).toBe(text);
});

it("sorts by currency, the largest first, and what has no amount last", () => {
  const amounts = [
    null,
    { value: "9.5", currency: "EUR" },
    { value: "1", currency: "CHF" },
    { value: "10", currency: "EUR" },
  ];
  expect(amounts.toSorted(compareAmounts).map((one) => one && `${one.value} ${one.currency}`)).toEqual([
    "1 CHF",
    "10 EUR",
    "9.5 EUR",
    null,
  ]);
});
