/** A page held to WCAG 2.2 AA by axe, in both themes, and to words that people use. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { expect, type Page } from "@playwright/test";
import type { AxeResults, RunOptions } from "axe-core";
import { oddWords } from "./support/odd-words";

const axeItself = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** A page has hundreds of texts and a dozen colours: to read each colour again and again took a third of a look. */
const readEachColourOnce = `(() => {
  const { prototype } = axe.commons.color.Color;
  const { parseString } = prototype;
  const known = new Map();
  prototype.parseString = function (text) {
    if (!known.has(text)) {
      const { r, g, b, alpha } = parseString.call(this, text);
      known.set(text, { r, g, b, alpha });
    }
    return Object.assign(this, known.get(text));
  };
})();`;

const axeSource = `${axeItself}\n${readEachColourOnce}`;

const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

/** What a theme can change: it has colours of its own, and nothing else. */
const colourRules = ["color-contrast", "link-in-text-block"];

/**
 * In the page itself, which has no frames, with axe brought there once: @axe-core/playwright brings it for every look and
 * gathers the results in a second page, which took as long as the looking.
 */
async function findViolations(page: Page, runOnly: NonNullable<RunOptions["runOnly"]>): Promise<string[]> {
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(axeSource);
  const { violations } = await page.evaluate<AxeResults, RunOptions>(
    (options) =>
      (
        window as unknown as { axe: { run(node: Document, options: RunOptions): Promise<AxeResults> } }
      ).axe.run(document, options),
    { runOnly, resultTypes: ["violations"], preload: false },
  );
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
}

/** A colour that is on its way from one theme to the other is looked at again; one that stays is a violation. */
async function expectNoViolation(page: Page, scheme: "light" | "dark"): Promise<void> {
  await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
  const runOnly = scheme === "light" ? tags : { type: "rule" as const, values: colourRules };
  await expect(async () => {
    const where = `${page.url()} ${scheme} ${page.viewportSize()?.width}`;
    expect(await findViolations(page, runOnly), where).toEqual([]);
  }).toPass({ timeout: 20_000 });
}

/** In words that people use, without a violation in either theme. The window as it is; the page stays in the dark. */
export async function expectAccessibleInBothThemes(page: Page): Promise<void> {
  expect(await page.locator("iframe, frame").count(), "no frame, where axe would not look").toBe(0);
  // biome-ignore lint/performance/useDomNodeTextContent: only what is shown, with its word breaks
  const text = await page.locator("body").innerText();
  expect(text.match(oddWords) ?? [], `odd words on ${page.url()}`).toEqual([]);
  await expectNoViolation(page, "light");
  await expectNoViolation(page, "dark");
}

/** The same, and nothing wider than the window, at 320 px (WCAG 1.4.10) and on a desk. */
export async function expectGoodPage(page: Page): Promise<void> {
  for (const width of [320, 1280]) {
    await page.setViewportSize({ width, height: 900 });
    await expectAccessibleInBothThemes(page);
    const excess = await page.evaluate(
      () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
    );
    expect(excess, `${page.url()} is wider than ${width}`).toBe(0);
  }
}
