"use client";
/** Takes the focus when what it shows has changed and the control that had the focus is gone with the old. */
import { type ReactNode, useEffect, useRef } from "react";

/** The visitor has not moved on since a form's button was pressed. */
export function isFocusFree(): boolean {
  const { activeElement } = document;
  return activeElement === null || activeElement.matches("body, [type=submit]");
}

interface FocusNewsProps {
  /** Different text for each state. */
  readonly news: string;
  readonly children: ReactNode;
}

export function FocusNews({ news, children }: FocusNewsProps) {
  const frame = useRef<HTMLDivElement>(null);
  const known = useRef(news);
  const hadFocus = useRef(false);
  useEffect(() => {
    if (known.current === news) return;
    known.current = news;
    if (hadFocus.current && isFocusFree()) frame.current?.focus();
  }, [news]);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: it only remembers where the focus was.
    <div
      ref={frame}
      tabIndex={-1}
      className="outline-none"
      onFocus={() => {
        hadFocus.current = true;
      }}
      onBlur={({ relatedTarget }) => {
        if (relatedTarget !== null) hadFocus.current = false;
      }}
    >
      {children}
    </div>
  );
}
