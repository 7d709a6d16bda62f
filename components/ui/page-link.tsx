/**
 * A link to another page of this site. The documentation is loaded whole, as the server has it ready; other pages are
 * exchanged in place. Nothing is fetched before somebody follows the link.
 */
import Link from "next/link";
import type { ReactNode } from "react";

interface PageLinkProps {
  readonly href: string;
  readonly className: string;
  readonly children: ReactNode;
  readonly "aria-label"?: string;
  readonly "aria-current"?: "page";
}

export function PageLink({ href, ...props }: PageLinkProps) {
  if (/^\/docs(?:[/#]|$)/.test(href)) return <a href={href} {...props} />;
  return <Link href={href} prefetch={false} {...props} />;
}
