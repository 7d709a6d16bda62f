/** Who must have cosigned: a witness, or so many of a group whose members are witnesses and groups again. */
export type Quorum = string | { k: number; of: Quorum[] };

/** The least number of witnesses with which it can be met. */
export function fewestFor(quorum: Quorum): number {
  if (typeof quorum === "string") return 1;
  const each = quorum.of.map(fewestFor).sort((a, b) => a - b);
  return each.slice(0, quorum.k).reduce((sum, fewest) => sum + fewest, 0);
}
