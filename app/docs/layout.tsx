/** Documentation: the list of guides beside the text, or on phones folded above it. */
import type { ReactNode } from "react";
import { readDocument } from "#components/api-reference/document";
import { groupEntries } from "#components/api-reference/entries";
import { DocsNav } from "#components/docs-nav";
import { DocsSearch } from "#components/guides/docs-search";
import { docsGroups } from "#components/guides/guides-index";
import { SkipLink } from "#components/ui/skip-link";

/** Paths alone, which are the same on every instance. */
const operations = groupEntries(readDocument("")).map(({ name, entries }) => ({
  name,
  entries: entries.map(({ slug, method, path }) => `${slug} ${method.toUpperCase()} ${path}`),
}));

export default function DocsLayout({ children }: { readonly children: ReactNode }) {
  return (
    <div className="mx-auto grid max-w-7xl gap-x-12 px-4 pt-6 sm:px-6 lg:grid-cols-[14rem_minmax(0,1fr)] lg:pt-12">
      <SkipLink href="#guide">Skip the list of guides</SkipLink>
      <DocsNav groups={docsGroups} operations={operations}>
        <DocsSearch />
      </DocsNav>
      <div id="guide" tabIndex={-1} className="min-w-0 pt-6 outline-none lg:pt-0">
        {children}
      </div>
    </div>
  );
}
