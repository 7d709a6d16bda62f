/** Finds entries of the documentation's index; runs in the browser. */

export interface IndexEntry {
  readonly kind: "Operation" | "Guide" | "Error" | "Reason";
  readonly label: string;
  readonly href: string;
  /** A page's own summary: the words by which people ask for it. */
  readonly about?: string;
  /** Lower case. */
  readonly words: string;
}

const shown = 12;

/** Words that people search with, and those that the guides have for the same thing. */
const synonyms: Readonly<Record<string, readonly string[]>> = {
  sso: ["single sign-on"],
  oidc: ["single sign-on"],
  okta: ["single sign-on"],
  kill: ["freeze"],
  switch: ["freeze"],
  pause: ["freeze"],
  disable: ["freeze"],
  install: ["quick start"],
  audit: ["auditor"],
  export: ["evidence"],
  policy: ["rules"],
  policies: ["rules"],
  cedar: ["rules"],
  threshold: ["rules"],
  quorum: ["two people"],
  passkeys: ["passkey"],
  zkp: ["zero-knowledge"],
  sdk: ["client library"],
  typescript: ["client library"],
  docker: ["run your own"],
  "self-host": ["run your own"],
  hosting: ["run your own"],
  slack: ["cards for slack"],
  gdpr: ["erasure"],
  privacy: ["erasure"],
  delete: ["erasure"],
};

const idle = new Set([
  "a",
  "an",
  "the",
  "how",
  "to",
  "do",
  "i",
  "of",
  "for",
  "with",
  "in",
  "is",
  "my",
  "what",
  "does",
  "it",
]);

/** Ranks the fit of a word: as a whole word, as a word's beginning, or inside one. */
function fit(text: string, term: string): 0 | 1 | 2 | 3 {
  const at = text.indexOf(term);
  if (at < 0) return 0;
  const escaped = term.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
  if (new RegExp(`(?<![\\p{L}\\p{N}_])${escaped}(?![\\p{L}\\p{N}_])`, "u").test(text)) return 3;
  return new RegExp(`(?<![\\p{L}\\p{N}_])${escaped}`, "u").test(text) ? 2 : 1;
}

/** Weight of a term by its place: names of pages, then headings, then summaries, then the text itself. */
const weights = { page: 12, heading: 9, about: 6, words: 1 };

function scoreTerm({ label, about = "", words }: IndexEntry, term: string): number {
  const [page = "", ...heading] = label.toLowerCase().split(": ");
  const isSection = heading.length > 0;
  return Math.max(
    fit(page, term) * (isSection ? weights.about : weights.page),
    fit(heading.join(": "), term) * weights.heading,
    fit(about.toLowerCase(), term) * weights.about,
    fit(words, term) * weights.words,
  );
}

/** Codes are looked up by their names, and named in passing by many words. */
const kindWeights = { Guide: 1, Operation: 0.6, Error: 0.5, Reason: 0.4 } as const;
/** Pages to look something up in, rather than to read first. */
const isReference = (href: string) => /^\/docs\/(?:wire|errors|reasons)/.test(href);

/** Bonus of an entry that is called so, and of one that has the whole query as it was typed. */
const named = 1_000;
const phrase = 15;

/** 0 if one of the terms is nowhere in it. */
function score(entry: IndexEntry, query: string, terms: readonly string[]): number {
  const label = entry.label.toLowerCase();
  let total = 0;
  for (const term of terms) {
    const alike = [term, ...(synonyms[term] ?? [])];
    const best = Math.max(...alike.map((one) => scoreTerm(entry, one)));
    if (best === 0) return 0;
    total += best;
  }
  const own = entry.kind === "Guide" ? label : (label.split(": ").at(-1) ?? "");
  const isPhrase =
    terms.length > 1 && `${label} ${entry.about?.toLowerCase() ?? ""}`.includes(terms.join(" "));
  const weight = kindWeights[entry.kind] * (isReference(entry.href) ? 0.75 : 1);
  return (total + (isPhrase ? phrase : 0)) * weight + (own === query ? named : 0);
}

/** Entries that have every word of the text, the best first, each of equal score in the index's order. */
export function searchIndex(entries: readonly IndexEntry[], text: string): IndexEntry[] {
  const query = text.trim().toLowerCase();
  const all = query.split(/\s+/).filter(Boolean);
  const telling = all.filter((term) => !idle.has(term));
  const terms = telling.length > 0 ? telling : all;
  if (terms.length === 0) return [];
  return entries
    .map((entry) => ({ entry, score: score(entry, query, terms) }))
    .filter((found) => found.score > 0)
    .toSorted((a, b) => b.score - a.score)
    .slice(0, shown)
    .map(({ entry }) => entry);
}
