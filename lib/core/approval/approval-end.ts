/** An approval that is not taken back ends by itself: at its own end or its standing approval's, whichever is earlier. */

export interface Ends {
  readonly usable_until?: string | null | undefined;
  readonly grant?: { readonly expires_at: string } | null | undefined;
}

/** The time of the end; null if it is still usable at `now`. */
export function findEnd({ usable_until, grant }: Ends, now: string): string | null {
  const ends = [usable_until ?? null, grant?.expires_at ?? null].filter((end) => end !== null);
  return ends.toSorted().find((end) => Date.parse(end) <= Date.parse(now)) ?? null;
}
