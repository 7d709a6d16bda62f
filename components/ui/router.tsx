"use client";
/** Next's router, for what is no link: going to another page, and to the same page again (navigation.tsx says why). */
// biome-ignore lint/style/noRestrictedImports: the one place
import { usePathname, useRouter } from "next/navigation";
import { useCallback } from "react";
import { hasOwnHeaders, isExchanged } from "#lib/api/schemas/page-headers";

/** Goes to a page as a link to it would. */
export function useVisit(): (href: string) => void {
  const router = useRouter();
  const here = usePathname();
  return (href) => {
    if (isExchanged(href) && !hasOwnHeaders(here)) router.push(href);
    else window.location.assign(href);
  };
}

const healthTimeoutMs = 5_000;

async function isServing(): Promise<boolean> {
  try {
    const init = { cache: "no-store", credentials: "omit" } as const;
    return (await fetch("/v1/health", { ...init, signal: AbortSignal.timeout(healthTimeoutMs) })).ok;
  } catch {
    return false;
  }
}

/** Shows what the server has now; false if it is out of reach, and then the page stays as it is. */
export function useRefresh(): () => Promise<boolean> {
  const router = useRouter();
  return useCallback(async () => {
    const isFresh = await isServing();
    if (isFresh) router.refresh();
    return isFresh;
  }, [router]);
}
