/** The header of every page: the mark and the few places a visitor goes. */

import { PageLink } from "./ui/page-link";
import type { Theme } from "./ui/theme";
import { ThemeToggle } from "./ui/theme-toggle";
import { Wordmark } from "./wordmark";

const links = [
  { href: "/verify", label: "Verify" },
  { href: "/docs", label: "Docs" },
  { href: "/portal", label: "Portal" },
] as const;

export function SiteHeader({ theme }: { readonly theme: Theme }) {
  return (
    <header className="no-print border-line border-b bg-canvas">
      <div className="mx-auto flex h-14 max-w-7xl items-center gap-1 px-4 sm:gap-2 sm:px-6">
        <PageLink
          href="/"
          className="-mx-1 mr-auto inline-flex min-h-11 items-center px-1"
          aria-label="Countersign, home"
        >
          <Wordmark />
        </PageLink>
        <nav aria-label="Main" className="flex items-center">
          {links.map((link) => (
            <PageLink
              key={link.href}
              href={link.href}
              className="inline-flex min-h-11 items-center rounded-md px-1 text-muted text-sm hover:text-ink sm:px-3"
            >
              {link.label}
            </PageLink>
          ))}
        </nav>
        <ThemeToggle initial={theme} />
      </div>
    </header>
  );
}
