"use client";
/** Shows the page anew every few seconds while something waits and somebody looks. */
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
