/** A module of its own, because pages that show a number need none of the messages. */
export function countWarnings(count: number): string {
  return count === 1 ? "1 warning" : `${count} warnings`;
}
