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
    if (document.activeElement === document.body) place.current?.focus();
  }, [place, state]);
}
