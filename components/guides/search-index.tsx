/** Index of the documentation's search: each section of each page, each operation, error and reason. */
import { readDocument } from "#components/api-reference/document";
import { listEntries, listWords } from "#components/api-reference/entries";
import { headingId } from "#components/heading-id";
import { reasonCodes, reasons } from "#lib/protocol/statement/reasons";
import { type GuideEntry, type GuideSlug, guideEntries } from "./guides-index";
import type { IndexEntry } from "./search-words";

interface Section {
  level: number;
  title: string;
  text: string;
}

/** The parts of a Markdown text by its headings; a line of code that begins with `#` is none. */
function cutSections(markdown: string): Section[] {
  const sections: Section[] = [];
  let isCode = false;
  for (const line of markdown.split("\n")) {
    if (line.startsWith("```")) isCode = !isCode;
    const [, marks = "", title = ""] = (isCode ? null : /^(#{1,3}) (.+)$/.exec(line)) ?? [];
    const last = sections.at(-1);
    if (title !== "") sections.push({ level: marks.length, title, text: "" });
    else if (last !== undefined) last.text += ` ${line}`;
  }
  return sections;
}

/** Each word once, without the marks of Markdown: an entry is found by its words, not shown by them. */
function wordsOf(text: string): string {
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
      words: wordsOf(own),
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
      words: wordsOf(`${entry.operation.summary} ${listWords(entry, document)}`),
    })),
    ...guideEntries.flatMap((guide) => listSections(guide, read(guide.slug))),
    ...reasonCodes.map((code) => ({
      kind: "Reason" as const,
      label: code,
      href: "/docs/reasons",
      words: wordsOf(reasons[code]),
    })),
  ];
}
