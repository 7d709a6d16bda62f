"use client";
/**
 * Links to other pages. No other file uses Next's link, and router.tsx alone its router (biome.json), because they
 * keep the document: a page would run under the headers of the page before it, and a page that can't be fetched would
 * be exchanged for the browser's error page.
 */
// biome-ignore lint/style/noRestrictedImports: the one place
import Link from "next/link";
import { usePathname } from "next/navigation";
import type { ReactNode } from "react";
import { hasOwnHeaders } from "#lib/api/schemas/page-headers";

export interface LinkProps {
  readonly href: string;
  readonly className?: string;
  readonly children: ReactNode;
  readonly target?: "_blank";
  readonly rel?: string;
  readonly "aria-label"?: string;
  readonly "aria-current"?: "page";
}

/** Used by PageLink, which knows where it leads; this knows where it is. */
export function InPlaceLink(props: LinkProps) {
  // Null where no router is: in a component that a test renders alone.
  const here: string | null = usePathname();
  return hasOwnHeaders(here ?? "") ? <a {...props} /> : <Link prefetch={false} {...props} />;
}
