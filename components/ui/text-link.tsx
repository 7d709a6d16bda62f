/** A link in running text. Another host opens in the same tab and doesn't learn where the visitor came from. */
import type { ReactNode } from "react";
import { PageLink } from "./page-link";

export function TextLink({ href, children }: { readonly href: string; readonly children: ReactNode }) {
  const className =
    "text-accent underline decoration-1 underline-offset-[3px] hover:decoration-2 [overflow-wrap:anywhere]";
  if (/^https?:/.test(href)) {
    return (
      <a
        href={href}
        rel="noreferrer"
        // Printed pages write the address behind every other link.
        className={children === href ? `shows-its-address ${className}` : className}
      >
        {children}
      </a>
    );
  }
  return (
    <PageLink href={href} className={className}>
      {children}
    </PageLink>
  );
}
