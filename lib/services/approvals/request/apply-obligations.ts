/**
 * Merges a request's own requirements on approvers with the rules' obligations: the result is never less than either.
 */
import type { ApprovalRequest } from "#lib/protocol/approval/approval";
import type { RequiredApprovers } from "#lib/protocol/approval/decided-by";
import type { Obligations } from "#lib/protocol/policy/obligations";

export interface Demands
  extends Pick<ApprovalRequest, "required_level" | "approvals_required" | "required_approvers"> {
  /** Names of the required groups, in their order. */
  groupNames: string[];
  /** True if the caller named the level; if not, the rules may ask for less than the usual one. */
  isLevelChosen: boolean;
}

/** As the object has them (docs/wire.md). */
const MAX_REQUIRED_GROUPS = 5;
export const MAX_APPROVALS = 10;

const levels = ["none", "device", "orb"] as const;
const stricter = (a: (typeof levels)[number], b: (typeof levels)[number]) =>
  levels.indexOf(a) >= levels.indexOf(b) ? a : b;

type Counted = Pick<RequiredApprovers, "count">;
const sum = (groups: readonly Counted[]) => groups.reduce((total, { count }) => total + count, 0);

export const isTooMuch = (groups: readonly Counted[]) =>
  groups.length > MAX_REQUIRED_GROUPS || sum(groups) > MAX_APPROVALS;

function mergeGroups(own: Demands, { groups }: Obligations, idOf: (name: string) => string) {
  const merged = own.required_approvers.map((one, i) => ({ ...one, name: own.groupNames[i] ?? "" }));
  for (const { group, count } of groups) {
    const id = idOf(group);
    const known = merged.find((one) => one.group === id);
    if (known === undefined) merged.push({ group: id, count, name: group });
    else known.count = Math.max(known.count, count);
  }
  return merged;
}

/** `idOf`: of a group that exists. */
export function applyObligations(
  own: Demands,
  obligations: Obligations,
  idOf: (name: string) => string,
): Demands {
  const groups = mergeGroups(own, obligations, idOf);
  const wanted = Math.max(own.approvals_required, obligations.approvals);
  const [first] = groups;
  // Where groups are required only their members count, so more people are more of the first group.
  if (first !== undefined) first.count += Math.max(0, wanted - sum(groups));
  const mayBeNone = !own.isLevelChosen && obligations.level === "none" && groups.length > 0;
  return {
    ...own,
    required_level: mayBeNone ? "none" : stricter(own.required_level, obligations.level ?? "none"),
    approvals_required: first === undefined ? wanted : sum(groups),
    required_approvers: groups.map(({ group, count }) => ({ group, count })),
    groupNames: groups.map(({ name }) => name),
  };
}

/** True if a standing approval was given under requirements no weaker than these obligations. */
export function meetsObligations(
  given: Pick<Demands, "required_level" | "approvals_required" | "required_approvers">,
  { approvals, level, groups }: Obligations,
  idOf: (name: string) => string,
): boolean {
  const isStrictEnough = stricter(given.required_level, level ?? "none") === given.required_level;
  return (
    isStrictEnough &&
    given.approvals_required >= approvals &&
    groups.every(({ group, count }) =>
      given.required_approvers.some((one) => one.group === idOf(group) && one.count >= count),
    )
  );
}

/** The same for what a request asks for by itself. */
export const meetsDemands = (
  given: Parameters<typeof meetsObligations>[0],
  { isLevelChosen, required_level, approvals_required, required_approvers }: Demands,
): boolean =>
  meetsObligations(
    given,
    {
      approvals: approvals_required,
      level: isLevelChosen ? required_level : null,
      groups: required_approvers,
    },
    (id) => id,
  );
