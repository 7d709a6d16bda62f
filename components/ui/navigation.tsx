"use client";
/**
 * Ways to another page, and to the same page again. No other file uses Next's link or router (biome.json), because they
 * keep the document: a page would run under the headers of the page before it, and a page that can't be fetched would
 * be exchanged for the browser's error page.
 */
// biome-ignore lint/style/noRestrictedImports: the one place
import Link from "next/link";
// biome-ignore lint/style/noRestrictedImports: the one place
import { usePathname, useRouter } from "next/navigation";
import { type ReactNode, useCallback } from "react";
import { hasOwnHeaders, isExchanged } from "#lib/contract/page-headers";

export interface LinkProps {
  readonly href: string;
  readonly className?: string;
  readonly children: ReactNode;
  readonly target?: "_blank";
  readonly rel?: string;
  readonly "aria-label"?: string;
  readonly "aria-current"?: "page";
}

/** For PageLink, which knows where it leads; this knows where it is. */
export function InPlaceLink(props: LinkProps) {
  // Null where no router is: in a component that a test renders alone.
  const here: string | null = usePathname();
  return here !== null && hasOwnHeaders(here) ? <a {...props} /> : <Link prefetch={false} {...props} />;
}

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
