"use client";
/** Frame of a page; not of an approval, where a person decides and nothing else is offered. */
import { usePathname } from "next/navigation";
import type { ReactNode } from "react";

export function SiteChrome({ children }: { readonly children: ReactNode }) {
  return usePathname().startsWith("/approve/") ? null : children;
}
