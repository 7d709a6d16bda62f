/**
 * The rule by which a domain is proven and lost (docs/decisions/0027). Either place proves it. A proven domain is checked
 * every day and is lost when checks found the token gone from its place on three days in a row, or when none has found it
 * for fourteen days, whatever the reason. Then its owner proves it again.
 */
import { type Findings, type ProofPlace, proofPlaces } from "./domain-proof";

const daysUntilGone = 3;
const silentMs = 14 * 86_400_000;

export interface DomainState {
  verified_since: Date | null;
  found_in: ProofPlace | null;
  found_at: Date | null;
  days_gone: number;
  /** YYYY-MM-DD in UTC. */
  last_day_gone: string | null;
  problem: string | null;
  checked_at: Date | null;
}

const lost = { verified_since: null, days_gone: 0, last_day_gone: null };

/** A second check on the same day counts no second time. */
function countDayGone({ days_gone, last_day_gone }: DomainState, now: Date) {
  const today = now.toISOString().slice(0, 10);
  return { days_gone: days_gone + (last_day_gone === today ? 0 : 1), last_day_gone: today };
}

/** State of a domain after a check. `found_in` and `found_at` of a lost one are those of the last proof. */
export function settleCheck(state: DomainState, findings: Findings, now: Date): DomainState {
  const place = proofPlaces.find((one) => findings[one].state === "found");
  if (place !== undefined) {
    const verified_since = state.verified_since ?? now;
    const proven = { verified_since, found_in: place, found_at: now, problem: null, checked_at: now };
    return { ...proven, days_gone: 0, last_day_gone: null };
  }
  const problem = proofPlaces.map((one) => findings[one].problem).join("; ");
  const unproven = { ...state, problem, checked_at: now };
  const { verified_since, found_in, found_at } = state;
  if (verified_since === null || found_in === null || found_at === null) return unproven;
  const isSilent = now.getTime() - found_at.getTime() >= silentMs;
  const counted = findings[found_in].state === "gone" ? countDayGone(state, now) : state;
  if (isSilent || counted.days_gone >= daysUntilGone) return { ...unproven, ...lost };
  return { ...unproven, days_gone: counted.days_gone, last_day_gone: counted.last_day_gone };
}
