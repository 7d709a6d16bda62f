"use client";
/** The portal's sections: a list beside the page, a row that scrolls on phones. */
import { usePathname } from "next/navigation";
import { type ReactNode, useEffect, useRef } from "react";
import { PageLink } from "#components/ui/page-link";
import { scrollToCurrent } from "#components/ui/scroll-to-current";
import { innerPages, portalSections, type SectionHref, sectionGroups } from "./portal-sections";

const isBelow = (href: string, path: string) => path === href || path.startsWith(`${href}/`);

function isCurrent(href: string, path: string): boolean {
  if (href === "/portal") return path === href;
  const inner = innerPages.find((page) => isBelow(page.href, path));
  return isBelow(href, inner?.section ?? path);
}

/** Number of waiting requests, beside the inbox. */
function Waiting({ count }: { readonly count: number }) {
  return (
    <>
      {" "}
      <span className="relative ml-2 rounded-full bg-accent-soft px-2 text-[13px] text-accent tabular-nums">
        {count}
        <span className="sr-only"> waiting</span>
      </span>
    </>
  );
}

interface PortalNavProps {
  readonly waiting: number;
  /** Drawn by the server. */
  readonly icons: Readonly<Record<SectionHref, ReactNode>>;
}

export function PortalNav({ waiting, icons }: PortalNavProps) {
  const path = usePathname();
  const row = useRef<HTMLElement>(null);
  useEffect(() => {
    const current = row.current?.querySelector(
      `a[href="${portalSections.find(({ href }) => isCurrent(href, path))?.href}"]`,
    );
    if (row.current && current) scrollToCurrent(row.current, current);
  }, [path]);
  return (
    <nav ref={row} aria-label="Portal" className="no-print -mx-4 overflow-x-auto px-4 lg:mx-0 lg:px-0">
      <div className="flex w-max min-w-full border-line border-b lg:w-auto lg:flex-col lg:gap-5 lg:border-0">
        {sectionGroups.map(({ title, sections }) => (
          <div key={title ?? ""}>
            {title === null ? null : (
              <p className="hidden px-3 pb-1 font-medium text-muted text-xs lg:block">{title}</p>
            )}
            <ul
              {...(title === null ? {} : { "aria-label": title })}
              className="flex gap-1 lg:flex-col lg:gap-0.5"
            >
              {sections.map(({ href, label }) => (
                <li key={href}>
                  <PageLink
                    href={href}
                    {...(isCurrent(href, path) ? { "aria-current": "page" as const } : {})}
                    className="-mb-px inline-flex min-h-11 w-full items-center whitespace-nowrap border-transparent border-b-2 px-3 text-muted text-sm hover:text-ink aria-[current=page]:border-accent aria-[current=page]:font-medium aria-[current=page]:text-ink forced-colors:not-aria-[current=page]:border-[color:Canvas] forced-colors:lg:aria-[current=page]:border-2 lg:mb-0 lg:min-h-9 lg:rounded-md lg:border-b-0 lg:hover:bg-sunken lg:aria-[current=page]:bg-accent-soft"
                  >
                    {icons[href]}
                    {label}
                    {href === "/portal/inbox" && waiting > 0 ? <Waiting count={waiting} /> : null}
                  </PageLink>
                </li>
              ))}
            </ul>
          </div>
        ))}
      </div>
    </nav>
  );
}
