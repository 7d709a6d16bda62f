/**
 * Brings the link of the current page into the part of a list that is on the screen, by as little as is needed. It scrolls
 * the list alone: `scrollIntoView` would move the page too, from under a finger that has begun to press.
 */
export function scrollToCurrent(list: Element, link: Element): void {
  const [outer, inner] = [list.getBoundingClientRect(), link.getBoundingClientRect()];
  list.scrollBy({
    left: excess(inner.left - outer.left, inner.right - Math.min(outer.right, innerWidth)),
    top: excess(inner.top - outer.top, inner.bottom - Math.min(outer.bottom, innerHeight)),
  });
}

/** Negative before the list's start, positive behind its end. */
const excess = (start: number, end: number) => Math.min(start, 0) || Math.max(end, 0);
