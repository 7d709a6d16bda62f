/** Guarantee: a domain is proven by finding the token, and lost by the rule alone: not by a name server that is away. */
import { describe, expect, it } from "vitest";
import { type DomainState, type Finding, type Findings, settleCheck } from "./domains";

const found: Finding = { state: "found", problem: null };
const gone: Finding = { state: "gone", problem: "it is gone" };
const silent: Finding = { state: "no answer", problem: "nobody answers" };
const inDns = (dns: Finding): Findings => ({ dns, file: gone });
const unproven: DomainState = {
  verified_since: null,
  found_in: null,
  found_at: null,
  days_gone: 0,
  last_day_gone: null,
  problem: null,
  checked_at: null,
};
const onDay = (day: number, hour = 3) => new Date(Date.UTC(2026, 10, 1 + day, hour));
const proven = settleCheck(unproven, inDns(found), onDay(0));

/** One check a day, from day 1. */
function afterDays(...findings: Findings[]): DomainState {
  return findings.reduce((state, one, day) => settleCheck(state, one, onDay(day + 1)), proven);
}

describe("a domain", () => {
  it.each([
    ["dns", { dns: found, file: silent }],
    ["file", { dns: gone, file: found }],
  ] as const)("is proven by its token in %s alone", (place, findings) => {
    expect(settleCheck({ ...unproven, problem: "before" }, findings, onDay(0))).toEqual({
      ...unproven,
      verified_since: onDay(0),
      found_in: place,
      found_at: onDay(0),
      checked_at: onDay(0),
    });
  });

  it.each([inDns(gone), inDns(silent), { dns: silent, file: silent }])(
    "is not proven without: %j",
    (findings) => {
      const after = settleCheck(unproven, findings, onDay(0));
      expect([after.verified_since, after.found_at, after.days_gone]).toEqual([null, null, 0]);
      expect(after.problem).toBe(`${findings.dns.problem}; ${findings.file.problem}`);
    },
  );

  it("keeps the day of its first proof while checks find it", () => {
    const after = afterDays(inDns(found), inDns(found));
    expect([after.verified_since, after.found_at]).toEqual([onDay(0), onDay(2)]);
  });

  it("is lost on the third day on which it is gone, and not before", () => {
    const two = afterDays(inDns(gone), inDns(gone));
    expect([two.verified_since, two.found_at, two.days_gone]).toEqual([onDay(0), onDay(0), 2]);
    expect(afterDays(inDns(gone), inDns(gone), inDns(gone)).verified_since).toBeNull();
  });

  it("counts a day once, however often it is checked", () => {
    const day = (hour: number) => onDay(1, hour);
    const often = [4, 5, 6, 7].reduce((state, hour) => settleCheck(state, inDns(gone), day(hour)), proven);
    expect([often.verified_since, often.days_gone]).toEqual([onDay(0), 1]);
  });

  it("starts counting again when it is found in between", () => {
    const after = afterDays(inDns(gone), inDns(gone), inDns(found), inDns(gone), inDns(gone));
    expect([after.verified_since, after.days_gone]).toEqual([onDay(0), 2]);
  });

  it("is not lost by silence, which proves nothing either", () => {
    const after = afterDays(...Array.from({ length: 13 }, () => inDns(silent)));
    expect([after.verified_since, after.found_at, after.days_gone]).toEqual([onDay(0), onDay(0), 0]);
    expect(after.problem).toContain("nobody answers");
  });

  it("is lost after fourteen days without a proof, whatever the reason", () => {
    expect(afterDays(...Array.from({ length: 14 }, () => inDns(silent))).verified_since).toBeNull();
  });

  it("is judged by the place where it was found: the other one need never have had it", () => {
    const file = (one: Finding): Findings => ({ dns: gone, file: one });
    const start = settleCheck(unproven, file(found), onDay(0));
    const after = [1, 2, 3].reduce((state, day) => settleCheck(state, file(silent), onDay(day)), start);
    expect([after.verified_since, after.days_gone]).toEqual([onDay(0), 0]);
    const moved = settleCheck(after, inDns(found), onDay(4));
    expect([moved.verified_since, moved.found_in]).toEqual([onDay(0), "dns"]);
  });

  it("that was lost is proven again, and verified from then on", () => {
    const lost = afterDays(inDns(gone), inDns(gone), inDns(gone));
    expect(settleCheck(lost, inDns(gone), onDay(4)).verified_since).toBeNull();
    expect(settleCheck(lost, inDns(found), onDay(9))).toMatchObject({
      verified_since: onDay(9),
      days_gone: 0,
    });
  });
});
