"use client";
/**
 * What has been on the screen. Each detail ends with a mark; before an approval, the page names the details whose mark has
 * not come into view.
 */
import { type ReactNode, useEffect, useState } from "react";

const attribute = "data-end-of";

export const EndOf = ({ id }: { readonly id: string }) => (
  <span {...{ [attribute]: id }} aria-hidden="true" />
);

export const scrollToEndOf = (id: string) =>
  document.querySelector(`[${attribute}="${CSS.escape(id)}"]`)?.scrollIntoView({ block: "center" });

export interface Shown {
  id: string;
  name: ReactNode;
}

/** Those of `all` that have not been on the screen yet, in their order; all of them at first. */
export function useUnseen<Item extends Shown>(all: readonly Item[]): Item[] {
  const [seen, setSeen] = useState<ReadonlySet<string>>(new Set());
  useEffect(() => {
    const observer = new IntersectionObserver((entries) => {
      const ids = entries
        .filter(({ isIntersecting }) => isIntersecting)
        .map(({ target }) => target.getAttribute(attribute) ?? "");
      if (ids.length > 0) setSeen((before) => new Set([...before, ...ids]));
    });
    for (const mark of document.querySelectorAll(`[${attribute}]`)) observer.observe(mark);
    return () => observer.disconnect();
  }, []);
  return all.filter(({ id }) => !seen.has(id));
}

/** Whether any of the element is on the screen; false before the browser has looked. */
export function useIsOnScreen(element: Element | null): boolean {
  const [isOn, setIsOn] = useState(false);
  useEffect(() => {
    if (element === null) return;
    const observer = new IntersectionObserver((entries) => setIsOn(entries.at(-1)?.isIntersecting ?? false));
    observer.observe(element);
    return () => observer.disconnect();
  }, [element]);
  return isOn;
}
