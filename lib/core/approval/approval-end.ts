/** Since when nothing can use an approval that nobody took back: the earlier of its own end and its standing approval's. */

export interface Ends {
  readonly usable_until?: string | null | undefined;
  readonly grant?: { readonly expires_at: string } | null | undefined;
}

/** Null while something can use it at `now`. */
export function findEnd({ usable_until, grant }: Ends, now: string): string | null {
  const ends = [usable_until ?? null, grant?.expires_at ?? null].filter((end) => end !== null);
  return ends.toSorted().find((end) => Date.parse(end) <= Date.parse(now)) ?? null;
}
