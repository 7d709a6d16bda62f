import { renderToStaticMarkup } from "react-dom/server";
import { expect, it } from "vitest";
import { Money } from "./money";

it("is one text for eyes and ears, with the currency's decimals", () => {
  expect(renderToStaticMarkup(<Money value="12000.5" currency="EUR" />)).toBe(
    '<span class="inline-block max-w-full [overflow-wrap:anywhere]">12,000.50 EUR</span>',
  );
});
