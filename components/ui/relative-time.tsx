"use client";
/** " (3 hours ago)" by the visitor's clock. Empty in the server's HTML, so that hydration finds what it expects. */
import { useEffect, useState } from "react";
import { formatRelative } from "./format-relative";

const refreshMs = 30_000;

export function RelativeTime({ iso }: { readonly iso: string }) {
  const [text, setText] = useState("");
  useEffect(() => {
    const update = () => setText(formatRelative(Date.parse(iso), Date.now()));
    update();
    const timer = setInterval(update, refreshMs);
    return () => clearInterval(timer);
  }, [iso]);
  return text === "" ? null : <span className="text-muted"> ({text})</span>;
}
