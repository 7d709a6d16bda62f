/** docs/wire.md as pages of the site: one document would be a page of 300 KB, of which a reader wants a part. */
import { headingId } from "#components/heading-id";

/** Each part of the document, by its headings, is on one page. */
const headings = {
  wire: ["Conventions", "Errors", "Operations", "Authentication", "Limits", "Idempotency"],
  "wire-attestations": ["Attestations"],
  "wire-approvals": ["Authorization requests"],
  "wire-rules": ["Enrolled approvers", "Rules", "Webhooks"],
  "wire-log": ["Agents", "API keys", "Audit log", "Directory", "Service", "Log", "Versions"],
  "wire-disclosure": ["Report by traces", "Zero-knowledge disclosure", "Evidence pack"],
} as const;

export type WireSlug = keyof typeof headings;

const slugs = Object.keys(headings) as WireSlug[];

/** The text without code, where a line that begins with `#` is no heading. */
const withoutFences = (text: string) => text.replace(/^```[\s\S]*?^```$/gm, "");

function listAnchors(text: string): string[] {
  return [...withoutFences(text).matchAll(/^#{2,3} (.+)$/gm)].map(([, title = ""]) => headingId(title));
}

/** The document's introduction, and its parts by heading. */
function cut(text: string): { introduction: string; parts: Map<string, string> } {
  const [introduction = "", ...rest] = text.split(/^(?=## )/m);
  const parts = new Map(rest.map((part) => [/^## (.+)$/m.exec(part)?.[1] ?? "", part]));
  if (parts.size !== rest.length) throw new Error("docs/wire.md has a heading twice");
  return { introduction, parts };
}

/** A link within the document leads to the page that its anchor is on. */
function relink(text: string, own: WireSlug, pageByAnchor: Map<string, WireSlug>): string {
  return text.replace(/\]\(#([^)]+)\)/g, (link, anchor: string) => {
    const page = pageByAnchor.get(anchor);
    if (page === undefined) throw new Error(`docs/wire.md links to #${anchor}, which it does not have`);
    return page === own ? link : `](/docs/${page}#${anchor})`;
  });
}

const readTitle = (slug: WireSlug) => headings[slug][0].toLowerCase();

/** Below the introduction, on the first page. */
const others = `On pages of their own: ${slugs
  .filter((slug) => slug !== "wire")
  .map((slug) => `[${headings[slug].join(", ").toLowerCase()}](/docs/${slug})`)
  .join("; ")}.\n\n`;

/** Throws unless every part of the document is on exactly one page. */
export function splitWire(text: string): Record<WireSlug, string> {
  const { introduction, parts } = cut(text);
  const pages = slugs.map((slug) => {
    const own = headings[slug].map((title) => {
      const part = parts.get(title);
      if (!parts.delete(title) || part === undefined) throw new Error(`docs/wire.md has no part "${title}"`);
      return part;
    });
    const begin = slug === "wire" ? `${introduction}${others}` : `# Wire format: ${readTitle(slug)}\n\n`;
    return { slug, text: begin + own.join("") };
  });
  if (parts.size > 0) throw new Error(`docs/wire.md: ${[...parts.keys()].join(", ")} is on no page`);
  const pageByAnchor = new Map(
    pages.flatMap(({ slug, text }) => listAnchors(text).map((anchor) => [anchor, slug])),
  );
  const linked = pages.map(({ slug, text }) => [slug, relink(text, slug, pageByAnchor)]);
  return Object.fromEntries(linked) as Record<WireSlug, string>;
}
