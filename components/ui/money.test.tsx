import { renderToStaticMarkup } from "react-dom/server";
import { expect, it } from "vitest";
import { Money } from "./money";

const show = (value: string) => renderToStaticMarkup(<Money value={value} currency="EUR" />);

it.each([
  ["1250000", "1\u00a0250\u00a0000 EUR"],
  ["125000", "125\u00a0000 EUR"],
  ["12000.5", "12\u00a0000.5 EUR"],
  ["99999999999999.1234", "99\u00a0999\u00a0999\u00a0999\u00a0999.1234 EUR"],
])("shows %s in threes, and gives screen readers the number whole", (value, shown) => {
  expect(show(value)).toBe(
    `<span aria-hidden="true">${shown}</span><span class="sr-only select-none">${value} EUR</span>`,
  );
});

it.each(["0", "0.1234", "9999.99"])("shows %s as it is", (value) => {
  expect(show(value)).toBe(`${value} EUR`);
});
