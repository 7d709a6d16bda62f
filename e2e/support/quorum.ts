/** Says by itself when a quorum is met: the service asks the database. */
import type { Quorum } from "#lib/protocol/approval/assign-groups";

export function meetsQuorum(quorum: Quorum, names: ReadonlySet<string>): boolean {
  if (typeof quorum === "string") return names.has(quorum);
  return quorum.of.filter((member) => meetsQuorum(member, names)).length >= quorum.k;
}
