/** Index of the documentation's search: each section of each page, each operation, error and reason. */
import { readDocument } from "#components/api-reference/document";
import { listEntries, listWords } from "#components/api-reference/entries";
import { cutSections, headingId } from "#components/heading-id";
import { reasonCodes, reasons } from "#lib/protocol/statement/reasons";
import { type GuideEntry, type GuideSlug, guideEntries } from "./guides-index";
import type { IndexEntry } from "./search-words";

/** Each word once, without the marks of Markdown: an entry is found by its words, not shown by them. */
function collectWords(text: string): string {
  const words = text.toLowerCase().match(/[\p{L}\p{N}_][\p{L}\p{N}_./:-]*[\p{L}\p{N}_]|[\p{L}\p{N}]/gu);
  return [...new Set(words)].join(" ");
}

function listSections({ slug, title: page, description }: GuideEntry, text: string): IndexEntry[] {
  return cutSections(text).map(({ level, title, text: own }) => {
    const plain = title.replaceAll("`", "");
    return {
      kind: slug === "errors" && level === 3 ? "Error" : "Guide",
      label: level === 1 ? page : `${page}: ${plain}`,
      href: `/docs/${slug}${level === 1 ? "" : `#${headingId(title)}`}`,
      ...(level === 1 ? { about: description } : {}),
      words: collectWords(own),
    };
  });
}

/** `read`: a guide's text. */
export function buildSearchIndex(base: string, read: (slug: GuideSlug) => string): IndexEntry[] {
  const document = readDocument(base);
  return [
    ...listEntries(document).map((entry) => ({
      kind: "Operation" as const,
      label: `${entry.method.toUpperCase()} ${entry.path}`,
      href: `/docs/api/${entry.slug}`,
      words: collectWords(`${entry.operation.summary} ${listWords(entry, document)}`),
    })),
    ...guideEntries.flatMap((guide) => listSections(guide, read(guide.slug))),
    ...reasonCodes.map((code) => ({
      kind: "Reason" as const,
      label: code,
      href: "/docs/reasons",
      words: collectWords(reasons[code]),
    })),
  ];
}
