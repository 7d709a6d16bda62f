/** A page at the narrowest width that WCAG 2.2 (1.4.10, Reflow) asks for. */
import { expect, type Page } from "@playwright/test";

/** Nothing makes the page wider than 320 px, and no pill is wider than the box it is in. The width is put back. */
export async function expectNoSidewaysScroll(page: Page): Promise<void> {
  const before = page.viewportSize();
  await page.setViewportSize({ width: 320, height: 800 });
  const found = await page.evaluate(() => {
    const isHidden = (element: Element) => {
      for (let at: Element | null = element; at !== null; at = at.parentElement)
        if (["auto", "scroll", "hidden"].includes(getComputedStyle(at).overflowX)) return true;
      return false;
    };
    const wide = [...document.querySelectorAll("body *")].filter(
      (one) => one.getBoundingClientRect().right > innerWidth + 1 && !isHidden(one),
    );
    const pills = [...document.querySelectorAll("main .rounded-full")].filter((pill) => {
      const box = pill.parentElement?.getBoundingClientRect();
      return box !== undefined && pill.getBoundingClientRect().right > box.right + 1;
    });
    const describe = (one: Element) => `${one.tagName} ${one.textContent?.slice(0, 60)}`;
    return {
      scrolls: document.documentElement.scrollWidth > innerWidth,
      wide: wide.slice(0, 3).map(describe),
      pills: pills.slice(0, 3).map(describe),
    };
  });
  expect(found, page.url()).toEqual({ scrolls: false, wide: [], pills: [] });
  if (before !== null) await page.setViewportSize(before);
}
