/** A page held to WCAG 2.2 AA by axe, in both themes. */
import { AxeBuilder } from "@axe-core/playwright";
import { expect, type Page } from "@playwright/test";

const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

/** What a theme can change: it has colours of its own, and nothing else. */
const colourRules = ["color-contrast", "link-in-text-block"];

/**
 * A colour that is on its way from one theme to the other is looked at again; one that stays is a violation. The legacy
 * mode runs axe in the page alone, which has no frames, instead of gathering the result in a second page.
 */
async function expectNoViolation(page: Page, scheme: "light" | "dark"): Promise<void> {
  await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
  await expect(async () => {
    const axe = new AxeBuilder({ page }).options({ resultTypes: ["violations"] }).setLegacyMode(true);
    const { violations } = await (scheme === "light"
      ? axe.withTags(tags)
      : axe.withRules(colourRules)
    ).analyze();
    const found = violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
    expect(found, `${page.url()} ${scheme} ${page.viewportSize()?.width}`).toEqual([]);
  }).toPass({ timeout: 20_000 });
}

/** The window as it is; the page stays in the dark. */
export async function expectAccessibleInBothThemes(page: Page): Promise<void> {
  expect(await page.locator("iframe, frame").count(), "no frame, where axe would not look").toBe(0);
  await expectNoViolation(page, "light");
  await expectNoViolation(page, "dark");
}

/** No violation and nothing wider than the window, light and dark, at 320 px (WCAG 1.4.10) and on a desk. */
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
