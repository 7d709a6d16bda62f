/** The look at a page finds what only one width shows, in one theme alone. */
import { expect } from "@playwright/test";
import { expectGoodPage } from "./accessibility-helpers";
import { test } from "./test";

const html = (style: string) => `<!doctype html><html lang="en"><head><title>A page</title><style>
  body { background: #fff; color: #000 } p { display: none }
  @media (prefers-color-scheme: dark) { body { background: #000; color: #fff } }
  ${style}</style></head><body><main><h1>A page</h1><p>Pale words</p></main></body></html>`;

const wide = "(min-width: 1000px)";
const narrow = "(max-width: 999px)";
const faults = [
  `@media ${wide} and (prefers-color-scheme: light) { p { display: block; color: #eee } }`,
  `@media ${wide} { p { display: block } } @media ${wide} and (prefers-color-scheme: dark) { p { color: #111 } }`,
  `@media ${narrow} { p { display: block } } @media ${narrow} and (prefers-color-scheme: light) { p { color: #eee } }`,
  `@media ${narrow} { p { display: block } } @media ${narrow} and (prefers-color-scheme: dark) { p { color: #111 } }`,
];

for (const [i, fault] of faults.entries())
  test(`a colour that cannot be read is found in each theme at each width (${i + 1})`, async ({ page }) => {
    await page.setContent(html(fault));
    await expect(expectGoodPage(page, 1_000)).rejects.toThrow(/Pale words|Timeout/);
  });

test("a page without one passes", async ({ page }) => {
  await page.setContent(html("p { display: block }"));
  await expectGoodPage(page);
});
