"use client";
/** Every operation, with the current one marked, and a search over paths, summaries and field names. */
import { usePathname } from "next/navigation";
import { useId, useState } from "react";
import { Input } from "#components/ui/field";
import { PageLink } from "#components/ui/page-link";
import { TextLink } from "#components/ui/text-link";
import { useIsReady } from "#components/ui/use-is-ready";

export interface NavGroup {
  readonly name: string;
  readonly operations: readonly {
    readonly slug: string;
    readonly method: string;
    readonly path: string;
    /** Words for the search besides its path. */
    readonly words: string;
  }[];
}

interface OperationNavProps {
  readonly groups: readonly NavGroup[];
}

/** Each word of the query is somewhere in it. */
function search(groups: readonly NavGroup[], query: string): NavGroup[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const isFound = ({ method, path, words: own }: NavGroup["operations"][number]) => {
    const text = `${method} ${path} ${own}`.toLowerCase();
    return words.every((word) => text.includes(word));
  };
  return groups
    .map(({ name, operations }) => ({ name, operations: operations.filter(isFound) }))
    .filter(({ operations }) => operations.length > 0);
}

function Results({ groups, path }: OperationNavProps & { readonly path: string }) {
  if (groups.length === 0) return <p className="mt-3 text-muted text-sm">No operation has this.</p>;
  return groups.map(({ name, operations }) => (
    <div key={name} className="mt-4">
      <p className="font-medium text-sm">{name}</p>
      <ul className="mt-1 border-line border-l">
        {operations.map((one) => {
          const href = `/docs/api/${one.slug}`;
          const isCurrent = path === href;
          return (
            <li key={one.slug}>
              <PageLink
                href={href}
                {...(isCurrent ? { "aria-current": "page" as const } : {})}
                className={`-ml-px block min-h-8 border-l py-1.5 pl-3 font-mono text-[12px] leading-5 [overflow-wrap:anywhere] hover:text-ink ${isCurrent ? "border-accent font-semibold text-ink" : "border-transparent text-muted"}`}
              >
                {`${one.method.toUpperCase()} ${one.path}`}
              </PageLink>
            </li>
          );
        })}
      </ul>
    </div>
  ));
}

/** Beside the page; where there is no room, the list waits until something is searched for. */
export function OperationNav({ groups }: OperationNavProps) {
  const path = usePathname();
  const id = useId();
  const [query, setQuery] = useState("");
  const isReady = useIsReady();
  return (
    <nav
      aria-label="Operations"
      className="no-print mb-6 xl:sticky xl:top-8 xl:order-2 xl:mb-0 xl:max-h-[calc(100dvh-4rem)] xl:self-start xl:overflow-y-auto xl:p-1"
    >
      <div className="flex flex-wrap items-center gap-3">
        <label htmlFor={id} className="sr-only">
          Search operations
        </label>
        <Input
          id={id}
          type="search"
          placeholder="Search operations"
          value={query}
          onChange={(event) => setQuery(event.target.value)}
          className={`max-w-80 xl:max-w-none ${isReady ? "" : "invisible"}`}
        />
        {path === "/docs/api" ? null : (
          <p className="text-sm xl:hidden">
            <TextLink href="/docs/api">All operations</TextLink>
          </p>
        )}
      </div>
      <div className={query === "" ? "hidden xl:block" : ""}>
        <Results groups={search(groups, query)} path={path} />
      </div>
    </nav>
  );
}
