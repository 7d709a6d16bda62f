/**
 * Obligations that a rule puts on approvers, from its annotations: `@approvals("2") @group("finance") @level("orb")`.
 */

const levels = ["none", "device", "orb"] as const;
export type ObligedLevel = (typeof levels)[number];

export interface Obligations {
  /** How many people at least. */
  approvals: number;
  /** World ID level; null: the usual one. `none`: an enrolled approver's passkey is enough, as each policy says. */
  level: ObligedLevel | null;
  /** How many of each group, by its name; sorted by it. */
  groups: { group: string; count: number }[];
}

const known = ["id", "description", "approvals", "group", "level"];
const demanding = ["approvals", "group", "level"];

export type Annotations = Record<string, string | null>;

/** Why annotations can't be followed; empty if they can. A misspelled one would silently ask for less. */
export function findAnnotationMistakes(
  annotations: Annotations,
  policy: { effect: "permit" | "forbid"; isOnlyApproved: boolean },
): string[] {
  const mistakes = Object.keys(annotations)
    .filter((name) => !known.includes(name))
    .map((name) => `@${name} is not an annotation of rules: use ${known.map((one) => `@${one}`).join(", ")}`);
  const { approvals, group, level } = annotations;
  if (approvals !== undefined && !/^(?:[1-9]|10)$/.test(approvals ?? ""))
    mistakes.push("@approvals must be 1-10");
  if (group !== undefined && !/^.{1,64}$/u.test(group ?? ""))
    mistakes.push("@group must have 1-64 characters");
  if (level !== undefined && !levels.some((one) => one === level))
    mistakes.push("@level must be none, device or orb");
  if (level === "none" && group === undefined)
    mistakes.push('@level("none") needs a @group: without World ID only enrolled approvers can approve');
  const demands = demanding.filter((name) => name in annotations);
  if (demands.length > 0 && (policy.effect === "forbid" || !policy.isOnlyApproved)) {
    mistakes.push(
      `${demands.map((name) => `@${name}`).join(" and ")} only have a meaning on a permit with action == Action::"act_approved"`,
    );
  }
  return mistakes;
}

/** The strictest of all that apply. */
export function strictestObligations(all: readonly Annotations[]): Obligations {
  const counts = new Map<string, number>();
  let approvals = 1;
  for (const annotations of all) {
    const { group } = annotations;
    const count = Number(annotations["approvals"] ?? 1);
    approvals = Math.max(approvals, count);
    if (typeof group === "string") counts.set(group, Math.max(counts.get(group) ?? 0, count));
  }
  const highest = levels.findLast((one) => all.some(({ level }) => level === one)) ?? null;
  const isLeftOut = all.some(({ level }) => level === undefined);
  return {
    approvals,
    // A policy without a level wants the usual one, which is more than none.
    level: highest === "none" && isLeftOut ? null : highest,
    groups: [...counts].sort(([a], [b]) => (a < b ? -1 : 1)).map(([group, count]) => ({ group, count })),
  };
}

/** Joins the demands of both; a level that isn't named is the usual one, which is more than none. */
export function mergeObligations(one: Obligations | null, other: Obligations | null): Obligations | null {
  if (one === null || other === null) return one ?? other;
  const counts = new Map(one.groups.map(({ group, count }) => [group, count]));
  for (const { group, count } of other.groups) counts.set(group, Math.max(counts.get(group) ?? 0, count));
  const rank = ({ level }: Obligations) => ["none", null, "device", "orb"].indexOf(level);
  return {
    approvals: Math.max(one.approvals, other.approvals),
    level: rank(one) >= rank(other) ? one.level : other.level,
    groups: [...counts].sort(([a], [b]) => (a < b ? -1 : 1)).map(([group, count]) => ({ group, count })),
  };
}
