/**
 * Who may approve for an organization, as an outsider follows it: every change is a statement of the service in the log
 * (lib/protocol/passkey/roster-statement.ts), each names the one before, and the organization knows which it made.
 */
import { parseRosterStatement, rosterOrganization } from "#lib/protocol/passkey/roster-statement";
import { fail, type Outcome, pass } from "#lib/protocol/statement/outcome";
import { readableTime } from "#lib/protocol/time/time-words";
import type { ListedStatement } from "#lib/verifier/checks/check-sum";
import { findMaker } from "#lib/verifier/checks/signed-statement";
import type { VerifierTrust } from "#lib/verifier/checks/trust";

/** The newest roster that somebody has seen. */
export interface SeenRoster {
  number: number;
  /** Hex. */
  hash: string;
}

export interface RosterWatch {
  organization: string;
  /** The newest as the organization itself knows it; undefined if it isn't told. */
  expected: string | undefined;
  /** Null before the first run. */
  before: SeenRoster | null;
}

interface Change extends SeenRoster {
  previous: string | null;
  changedAt: string;
}

/** In the order of the log; null for the place of one whose signature is not the service's. */
function readChanges(
  all: readonly ListedStatement[],
  organization: string,
  trust: VerifierTrust,
): (Change | null)[] {
  const pseudonym = rosterOrganization(organization);
  return all.flatMap((statement) => {
    const change = parseRosterStatement(statement.payload);
    if (change?.organization !== pseudonym) return [];
    if (findMaker(statement, trust) === undefined) return [null];
    const { number, previous, roster_hash: hash, changed_at: changedAt } = change;
    return [{ number, previous, hash, changedAt }];
  });
}

/** The place at which the chain has a gap or a fork; -1 if it has none. */
const findBreak = (changes: readonly (Change | null)[]): number =>
  changes.findIndex(
    (change, i) =>
      change === null || change.number !== i + 1 || change.previous !== (changes[i - 1]?.hash ?? null),
  );

const none: SeenRoster = { number: 0, hash: "" };

/** `seen`: what to remember if it holds. */
export function checkRoster(
  all: readonly ListedStatement[],
  { organization, expected, before }: RosterWatch,
  trust: VerifierTrust,
): { outcome: Outcome; seen: SeenRoster } {
  const changes = readChanges(all, organization, trust);
  const broken = findBreak(changes);
  const last = changes.at(-1) ?? null;
  const seen = last === null ? none : { number: last.number, hash: last.hash };
  const outcome = (found: Outcome) => ({ outcome: found, seen });
  if (broken >= 0) return outcome(fail("roster_broken", { number: broken + 1 }));
  if (before !== null && (changes[before.number - 1]?.hash ?? "") !== before.hash)
    return outcome(fail("roster_broken", { number: before.number }));
  if (expected !== undefined && seen.hash !== expected)
    return outcome(fail("roster_unexpected", { number: seen.number, hash: seen.hash || "none" }));
  if (expected === undefined && before !== null && last !== null && last.number > before.number) {
    const { number, hash, changedAt } = last;
    const changed = { count: number - before.number, number, hash, at: readableTime(changedAt) };
    return outcome(fail("roster_changed", changed));
  }
  return outcome(
    pass(
      last === null
        ? "no roster yet"
        : `roster ${last.number} of ${readableTime(last.changedAt)}, ${last.hash}`,
    ),
  );
}
