"use client";
/**
 * Tracks the parts of a request that have been on the screen. Each part carries its id; before an approval, the page
 * names the parts of which some height was never in view: a jump to the end of a text doesn't show its middle.
 */
import { type ReactNode, useCallback, useEffect, useRef, useState } from "react";

/** Marks elements that lie over the bottom of the screen. */
export const coversBottom = { "data-covers-bottom": "" };

export interface Shown {
  id: string;
  name: ReactNode;
}

/** Heights from the top of a part, in pixels. */
type Span = readonly [from: number, to: number];

/** Pixels that rounding may take. */
const slack = 1;

/** `spans`: in order, none touching another; so are those returned. */
export function addSpan(spans: readonly Span[], added: Span): Span[] {
  let [from, to] = added;
  const apart = spans.filter(([start, end]) => {
    if (end < from - slack || start > to + slack) return true;
    from = Math.min(from, start);
    to = Math.max(to, end);
    return false;
  });
  return [...apart, [from, to] as const].sort(([one], [other]) => one - other);
}

/** Returns where the first height that was never in view begins; null if all of it was seen. */
export function findGap([first]: readonly Span[], height: number): number | null {
  if (first === undefined || first[0] > slack) return 0;
  return first[1] < height - slack ? first[1] : null;
}

const listParts = (requestId: string) =>
  document.querySelectorAll<HTMLElement>(`[data-request="${CSS.escape(requestId)}"] [data-part]`);

/** The part of the window in sight: less while a person zooms in, and without what a bar covers. */
function measureWindow(): Span {
  const { offsetTop: top, height } = window.visualViewport ?? { offsetTop: 0, height: window.innerHeight };
  const bar = document.querySelector("[data-covers-bottom]");
  const isCovered = bar !== null && getComputedStyle(bar).visibility === "visible" && bar.clientHeight > 0;
  return [top, isCovered ? Math.min(top + height, bar.getBoundingClientRect().top) : top + height];
}

interface View {
  readonly height: number;
  readonly spans: readonly Span[];
}

/** Adds what is in view now. A part whose height changes is to be seen again. */
function lookAt(part: HTMLElement, before: View | undefined, [top, bottom]: Span): View {
  const { top: start, height } = part.getBoundingClientRect();
  const spans = before?.height === height ? before.spans : [];
  const [from, to] = [Math.max(top - start, 0), Math.min(bottom - start, height)];
  return { height, spans: from < to ? addSpan(spans, [from, to]) : spans };
}

function watchWindow(look: () => void): () => void {
  const targets = [window.visualViewport, document, window].filter((target) => target !== null);
  const events = ["scroll", "resize", "visibilitychange"];
  for (const target of targets) for (const event of events) target.addEventListener(event, look);
  const observer = new ResizeObserver(look);
  observer.observe(document.body);
  return () => {
    for (const target of targets) for (const event of events) target.removeEventListener(event, look);
    observer.disconnect();
  };
}

interface Unseen<Item> {
  /** Items in their order; all of them at first. */
  readonly unseen: Item[];
  /** Scrolls to the first line of the part that was never in view. */
  readonly show: (id: string) => void;
}

/** Returns the items of `all` of which something has not been on the screen yet. */
export function useUnseen<Item extends Shown>(requestId: string, all: readonly Item[]): Unseen<Item> {
  const views = useRef(new Map<string, View>());
  const [seen, setSeen] = useState<ReadonlySet<string>>(new Set());
  useEffect(() => {
    const whole = new Set<string>();
    return watchWindow(() => {
      if (document.visibilityState !== "visible") return;
      const visible = measureWindow();
      const before = whole.size;
      for (const part of listParts(requestId)) {
        const id = part.dataset["part"] ?? "";
        if (whole.has(id)) continue;
        const view = lookAt(part, views.current.get(id), visible);
        views.current.set(id, view);
        if (findGap(view.spans, view.height) === null) whole.add(id);
      }
      if (whole.size > before) setSeen(new Set(whole));
    });
  }, [requestId]);
  const show = useCallback(
    (id: string) => {
      const part = [...listParts(requestId)].find(({ dataset }) => dataset["part"] === id);
      const view = views.current.get(id);
      if (part === undefined || view === undefined) return;
      const gap = findGap(view.spans, view.height) ?? 0;
      // A few lines that were seen show where it goes on.
      window.scrollBy({ top: part.getBoundingClientRect().top + gap - 96 });
    },
    [requestId],
  );
  return { unseen: all.filter(({ id }) => !seen.has(id)), show };
}

/** True while any of the element is on the screen; false before the browser has looked. */
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
