"use client";
/** " (3 hours ago)" by the visitor's clock. Until the script runs, the server's words keep the place, invisible. */
import { useEffect, useState } from "react";
import { formatRelative } from "./format-relative";
import { useIsReady } from "./use-is-ready";

const refreshMs = 30_000;

const wordsNow = (iso: string) => ` (${formatRelative(Date.parse(iso), Date.now())})`;

export function RelativeTime({ iso }: { readonly iso: string }) {
  const isReady = useIsReady();
  const [words, setWords] = useState(() => wordsNow(iso));
  useEffect(() => {
    const update = () => setWords(wordsNow(iso));
    update();
    const timer = setInterval(update, refreshMs);
    return () => clearInterval(timer);
  }, [iso]);
  // A new element, because hydration leaves the server's words in the first.
  return (
    <span
      key={String(isReady)}
      suppressHydrationWarning
      className={`text-muted ${isReady ? "" : "invisible noscript:hidden"}`}
    >
      {words}
    </span>
  );
}
