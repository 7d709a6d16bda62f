"use client";
/** Refreshes the page every few seconds while something waits and the page is visible. */
import { useRouter } from "next/navigation";
import { useEffect } from "react";

const intervalMs = 5_000;

export function LiveRefresh() {
  const router = useRouter();
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.visibilityState === "visible") router.refresh();
    }, intervalMs);
    return () => clearInterval(timer);
  }, [router]);
  return null;
}
