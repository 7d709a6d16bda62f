"use client";
/**
 * Refreshes the page every few seconds while something waits and the page is visible. Not under an open dialog: with
 * the row that opened it, the dialog and its result would vanish.
 */
import { useEffect } from "react";
import { useRefresh } from "#components/ui/router";

const intervalMs = 5_000;

export function LiveRefresh() {
  const refresh = useRefresh();
  useEffect(() => {
    const timer = setInterval(() => {
      const isOpen = document.querySelector("dialog[open]") !== null;
      if (document.visibilityState === "visible" && !isOpen) void refresh();
    }, intervalMs);
    return () => clearInterval(timer);
  }, [refresh]);
  return null;
}
