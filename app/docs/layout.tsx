/** Documentation: the list of guides beside the text, or on phones folded above it. */
import type { ReactNode } from "react";
import { DocsNav } from "#components/docs-nav";
import { DocsSearch } from "#components/guides/docs-search";
import { docsGroups } from "#components/guides/guides-index";
import { SkipLink } from "#components/ui/skip-link";

export default function DocsLayout({ children }: { readonly children: ReactNode }) {
  return (
    <div className="mx-auto grid max-w-6xl gap-x-12 px-4 pt-6 sm:px-6 lg:grid-cols-[13rem_minmax(0,1fr)] lg:pt-12">
      <SkipLink href="#guide">Skip the list of guides</SkipLink>
      <DocsNav groups={docsGroups}>
        <DocsSearch />
      </DocsNav>
      <div id="guide" tabIndex={-1} className="min-w-0 pt-6 outline-none lg:pt-0">
        {children}
      </div>
    </div>
  );
}
