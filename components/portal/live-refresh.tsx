"use client";
/**
 * Refreshes the page every few seconds while something waits and the page is visible. Not under an open dialog: with
 * the row that opened it, the dialog and its result would vanish.
 */
import { useRouter } from "next/navigation";
import { useEffect } from "react";

const intervalMs = 5_000;

export function LiveRefresh() {
  const router = useRouter();
  useEffect(() => {
    const timer = setInterval(() => {
      const isOpen = document.querySelector("[role=dialog], [role=alertdialog]") !== null;
      if (document.visibilityState === "visible" && !isOpen) router.refresh();
    }, intervalMs);
    return () => clearInterval(timer);
  }, [router]);
  return null;
}
