"use client";
/**
 * A button that is pressed loses the focus if it is disabled or goes. Then `place` takes it, so that the keyboard goes on
 * there and not at the page's top.
 */
import { type RefObject, useEffect, useRef } from "react";

/** `state`: another value whenever the button may have gone. */
export function useKeptFocus(place: RefObject<HTMLElement | null>, state: unknown): void {
  const known = useRef(state);
  useEffect(() => {
    if (known.current === state) return;
    known.current = state;
    // A button that was just disabled loses the focus only when the page is painted.
    if (document.activeElement?.matches("body, :disabled")) place.current?.focus({ preventScroll: true });
  }, [place, state]);
}
