/** Finds entries of the documentation's index; runs in the browser. */

export interface IndexEntry {
  readonly kind: "Operation" | "Guide" | "Error" | "Reason";
  readonly label: string;
  readonly href: string;
  /** Lower case. */
  readonly words: string;
}

const shown = 12;

/** Better: more of the query's words in the label, and the label beginning with the query. */
function rank({ label }: IndexEntry, query: string, terms: readonly string[]): number {
  const lower = label.toLowerCase();
  const inLabel = terms.filter((term) => lower.includes(term)).length;
  return inLabel + (lower === query ? 3 : lower.startsWith(query) || lower.endsWith(query) ? 1 : 0);
}

/** Entries that have every word of the text, the best first, each of equal rank in the index's order. */
export function searchIndex(entries: readonly IndexEntry[], text: string): IndexEntry[] {
  const query = text.trim().toLowerCase();
  const terms = query.split(/\s+/).filter(Boolean);
  if (terms.length === 0) return [];
  return entries
    .filter(({ label, words }) => {
      const all = `${label.toLowerCase()} ${words}`;
      return terms.every((term) => all.includes(term));
    })
    .map((entry) => ({ entry, rank: rank(entry, query, terms) }))
    .toSorted((a, b) => b.rank - a.rank)
    .slice(0, shown)
    .map(({ entry }) => entry);
}
