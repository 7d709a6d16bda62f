/** A module of its own: pages that say a number need none of the messages. */
export function countWarnings(count: number): string {
  return count === 1 ? "1 warning" : `${count} warnings`;
}
