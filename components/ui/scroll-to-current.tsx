/**
 * Brings the link of the current page into the middle of a list, unless it is on the screen already. It scrolls the list
 * alone: `scrollIntoView` would move the page too, from under a finger that has begun to press.
 */
export function scrollToCurrent(list: Element, link: Element): void {
  const [outer, inner] = [list.getBoundingClientRect(), link.getBoundingClientRect()];
  list.scrollBy({
    left: distance(inner.left, inner.right, outer.left, Math.min(outer.right, innerWidth)),
    top: distance(inner.top, inner.bottom, outer.top, Math.min(outer.bottom, innerHeight)),
  });
}

/** Distance from the middle of what is shown; 0 if all of the link is. */
const distance = (start: number, end: number, from: number, to: number) =>
  start >= from && end <= to ? 0 : (start + end - from - to) / 2;
