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

/** Rules that depend on the theme, which changes colours and nothing else. */
const colourRules = ["color-contrast", "link-in-text-block"];

type RunOnly = NonNullable<RunOptions["runOnly"]>;
type Scheme = "light" | "dark";

/** Part of the page for axe: all of it, or elements that this width shows and the other does not. */
type Scope = "all" | "only here";

interface Looking {
  axe: { run(context: Document | { include: Element[] }, options: RunOptions): Promise<AxeResults> };
  shownBefore?: Set<Element>;
}

/**
 * Runs axe in the page itself, which has no frames: @axe-core/playwright injects it for every scan and gathers the results in a
 * second page, which took as long as the scan.
 */
async function findViolations(page: Page, runOnly: RunOnly, scope: Scope): Promise<string[]> {
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(axeSource);
  const violations = await page.evaluate<AxeResults["violations"], [RunOptions, Scope]>(
    async ([options, scope]) => {
      const { axe, shownBefore } = window as unknown as Looking;
      const isNew = (element: Element) => element.checkVisibility() && !shownBefore?.has(element);
      const include = [...document.body.querySelectorAll("*")].filter(
        (element) => isNew(element) && !(element.parentElement && isNew(element.parentElement)),
      );
      if (scope === "all") return (await axe.run(document, options)).violations;
      return include.length > 0 ? (await axe.run({ include }, options)).violations : [];
    },
    [{ runOnly, resultTypes: ["violations"], preload: false }, scope],
  );
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
}

/** A colour that is on its way from one theme to the other is looked at again; one that stays is a violation. */
async function expectNoViolation(
  page: Page,
  scheme: Scheme,
  { rules, scope = "all" }: { rules: "all" | "colours"; scope?: Scope },
): Promise<void> {
  await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
  const runOnly = rules === "all" ? tags : { type: "rule" as const, values: colourRules };
  await expect(async () => {
    const where = `${page.url()} ${scheme} ${page.viewportSize()?.width}`;
    expect(await findViolations(page, runOnly, scope), where).toEqual([]);
  }).toPass({ timeout: 20_000 });
}

async function expectUsualWords(page: Page): Promise<void> {
  expect(await page.locator("iframe, frame").count(), "no frame, where axe would not look").toBe(0);
  // biome-ignore lint/performance/useDomNodeTextContent: only what is shown, with its word breaks
  const text = await page.locator("body").innerText();
  expect(text.match(oddWords) ?? [], `odd words on ${page.url()}`).toEqual([]);
}

/** Expects no violation in either theme and only words that people use. The window keeps its size; the page stays dark. */
export async function expectAccessibleInBothThemes(page: Page): Promise<void> {
  await expectUsualWords(page);
  await expectNoViolation(page, "light", { rules: "all" });
  await expectNoViolation(page, "dark", { rules: "colours" });
}

async function setWidth(page: Page, width: number): Promise<void> {
  await page.setViewportSize({ width, height: 900 });
}

/** Records the elements visible at `width`, to compare the other width with. */
async function noteShown(page: Page, width: number): Promise<void> {
  await setWidth(page, width);
  await page.evaluate(() => {
    const all = [...document.body.querySelectorAll("*")];
    (window as unknown as Looking).shownBefore = new Set(all.filter((element) => element.checkVisibility()));
  });
}

/**
 * The same, and nothing wider than the window, at 320 px (WCAG 1.4.10), on a tablet and on a desk. Each width is looked at whole in one
 * theme; colours in the other theme were looked at with the other width, but for what only this width shows.
 */
export async function expectGoodPage(page: Page): Promise<void> {
  const looks = [
    { width: 320, other: 1280, scheme: "light", otherScheme: "dark" },
    { width: 1280, other: 320, scheme: "dark", otherScheme: "light" },
  ] as const;
  // A click that leads elsewhere ends when the next document begins, before it has a body.
  await page.waitForLoadState();
  await setWidth(page, 768);
  await expectFits(page, 768);
  for (const { width, other, scheme, otherScheme } of looks) {
    await noteShown(page, other);
    await setWidth(page, width);
    await expectUsualWords(page);
    await expectNoViolation(page, otherScheme, { rules: "colours", scope: "only here" });
    await expectNoViolation(page, scheme, { rules: "all" });
    await expectFits(page, width);
  }
}

async function expectFits(page: Page, width: number): Promise<void> {
  const excess = await page.evaluate(
    () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
  );
  expect(excess, `${page.url()} is wider than ${width}`).toBe(0);
}
