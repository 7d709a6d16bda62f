/** A page of the API reference, with every operation beside it. */
import type { ReactNode } from "react";
import { SkipLink } from "#components/ui/skip-link";
import type { OpenApiDocument } from "./document";
import { groupEntries, listWords } from "./entries";
import { OperationNav } from "./operation-nav";

interface ApiFrameProps {
  readonly document: OpenApiDocument;
  readonly children: ReactNode;
}

export function ApiFrame({ document, children }: ApiFrameProps) {
  const groups = groupEntries(document).map(({ name, entries }) => ({
    name,
    operations: entries.map((entry) => {
      const { slug, method, path } = entry;
      return { slug, method, path, words: listWords(entry, document) };
    }),
  }));
  return (
    <div className="xl:grid xl:grid-cols-[minmax(0,1fr)_15rem] xl:gap-x-10">
      <SkipLink href="#operation">Skip the list of operations</SkipLink>
      <OperationNav groups={groups} />
      <article id="operation" tabIndex={-1} className="min-w-0 outline-none">
        {children}
      </article>
    </div>
  );
}
