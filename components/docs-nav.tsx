"use client";
/**
 * The one list of the documentation: guides, and the operations below the API reference while one of its pages is open.
 * The current page is marked and in view. A client component to know the current path.
 */
import { usePathname } from "next/navigation";
import { type ReactNode, useEffect, useRef } from "react";
import { PageLink } from "./ui/page-link";
import { scrollToCurrent } from "./ui/scroll-to-current";

interface DocsNavProps {
  readonly groups: readonly {
    readonly title: string;
    readonly guides: readonly { readonly slug: string; readonly title: string }[];
  }[];
  readonly operations: readonly {
    readonly name: string;
    /** "attest POST /v1/attest": every page carries the list. */
    readonly entries: readonly string[];
  }[];
}

interface ListProps extends DocsNavProps {
  readonly path: string;
}

function Operations({ operations, path }: Pick<ListProps, "operations" | "path">) {
  return operations.map(({ name, entries }) => (
    <li key={name} className="pl-3">
      <p className="pt-2 text-muted text-xs">{name}</p>
      <ul>
        {entries.map((entry) => {
          const slug = entry.slice(0, entry.indexOf(" "));
          const href = `/docs/api/${slug}`;
          const isCurrent = path === href;
          return (
            <li key={slug}>
              <PageLink
                href={href}
                {...(isCurrent ? { "aria-current": "page" as const } : {})}
                className={`block min-h-7 py-1 font-mono text-[12px] leading-5 [overflow-wrap:anywhere] hover:text-ink ${isCurrent ? "font-semibold text-ink" : "text-muted"}`}
              >
                {entry.slice(slug.length + 1)}
              </PageLink>
            </li>
          );
        })}
      </ul>
    </li>
  ));
}

function GuideList({ groups, operations, path }: ListProps) {
  return groups.map((group) => (
    <div key={group.title} className="mb-6">
      <p className="font-medium text-sm">{group.title}</p>
      <ul className="mt-1.5 border-line border-l">
        {group.guides.map((guide) => {
          const href = `/docs/${guide.slug}`;
          const isCurrent = path === href;
          return (
            <li key={guide.slug}>
              <PageLink
                href={href}
                {...(isCurrent ? { "aria-current": "page" as const } : {})}
                className={`-ml-px flex min-h-8 items-center border-l pl-3 text-sm hover:text-ink ${isCurrent ? "border-accent font-medium text-ink" : "border-transparent text-muted"}`}
              >
                {guide.title}
              </PageLink>
              {guide.slug === "api" && path.startsWith(href) ? (
                <ul className="mb-2 ml-3">
                  <Operations operations={operations} path={path} />
                </ul>
              ) : null}
            </li>
          );
        })}
      </ul>
    </div>
  ));
}

/** `children`: above the list. */
export function DocsNav({ groups, operations, children }: DocsNavProps & { readonly children: ReactNode }) {
  const path = usePathname();
  const column = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const current = column.current?.querySelector(`a[href="${path}"]`);
    if (column.current && current?.checkVisibility()) scrollToCurrent(column.current, current);
  }, [path]);
  return (
    <div
      ref={column}
      className="no-print self-start lg:sticky lg:top-8 lg:max-h-[calc(100dvh-4rem)] lg:overflow-y-auto"
    >
      <div className="mb-4">{children}</div>
      <nav aria-label="Guides" className="hidden lg:block">
        <GuideList groups={groups} operations={operations} path={path} />
      </nav>
      <details className="no-print rounded-md border border-line bg-surface lg:hidden">
        <summary className="min-h-11 px-4 py-2.5 font-medium text-[15px]">All guides</summary>
        <nav aria-label="All guides" className="px-4 pt-2">
          <GuideList groups={groups} operations={operations} path={path} />
        </nav>
      </details>
    </div>
  );
}
