/** An approval that is not taken back ends by itself: at its own end or its standing approval's, whichever is earlier. */

export interface Ends {
  readonly usable_until?: string | null | undefined;
  readonly grant?: { readonly expires_at: string } | null | undefined;
}

/** The time of the end; null if it is still usable at `now`: an approval at its end too, a standing approval before it. */
export function findEnd({ usable_until, grant }: Ends, now: string): string | null {
  const ends = [usable_until ?? null, grant?.expires_at ?? null].filter((end) => end !== null);
  const [end] = ends.toSorted();
  if (end === undefined) return null;
  const left = Date.parse(end) - Date.parse(now);
  return left < 0 || (grant && left === 0) ? end : null;
}
