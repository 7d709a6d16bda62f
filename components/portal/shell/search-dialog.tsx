"use client";
/** The search of the portal: its pages, the guides, and what the organization has. */
import { useState } from "react";
import { guideEntries } from "#components/guides/guides-index";
import { type Choice, SearchDialog } from "#components/ui/search-dialog";
import { innerPages, portalSections, portalTasks } from "./portal-sections";
import { useSearchHits } from "./use-search-hits";

/** Page and the words that people type for it. */
interface Page extends Choice {
  readonly words?: string;
}

const pages: readonly Page[] = [
  ...[...portalSections, ...innerPages, ...portalTasks].map((page) => ({ kind: "Page", ...page })),
  { kind: "Page", label: "API reference", href: "/docs/api", words: "openapi endpoints" },
  ...guideEntries.map(({ slug, title }) => ({ kind: "Guide", label: title, href: `/docs/${slug}` })),
];
const shownPages = 8;

function findPages(text: string): Choice[] {
  const wanted = text.toLowerCase();
  return pages
    .filter(({ label, words = "" }) => `${label} ${words}`.toLowerCase().includes(wanted))
    .map(({ kind, label, href }) => ({ kind, label, href }))
    .slice(0, shownPages);
}

function useChoices(text: string, organizationId: string) {
  const { hits, problem } = useSearchHits(text, organizationId);
  const lists = (["Attestations", "Approvals"] as const).map((kind) => ({
    kind,
    label: `Search ${kind.toLowerCase()} for “${text}”`,
    href: `/portal/${kind === "Approvals" ? "authorizations" : "attestations"}?q=${encodeURIComponent(text)}`,
  }));
  return { choices: [...findPages(text), ...hits, ...(text === "" ? [] : lists)], problem };
}

interface PortalSearchDialogProps {
  readonly organizationId: string;
  readonly isOpen: boolean;
  readonly onOpenChange: (open: boolean) => void;
}

export function PortalSearchDialog({ organizationId, ...rest }: PortalSearchDialogProps) {
  const [text, setText] = useState("");
  return (
    <SearchDialog
      label="Search pages, keys, agents and ids"
      placeholder="A page, key, agent or id"
      found={useChoices(text, organizationId)}
      onType={setText}
      {...rest}
    />
  );
}
