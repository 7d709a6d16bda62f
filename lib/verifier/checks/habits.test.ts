import { describe, expect, it } from "vitest";
import { findHabits, type NeighbourReport } from "./warning-rows";

const at = (day: number) => `2026-11-${String(day).padStart(2, "0")}T12:00:00.000Z`;
const report = (fields: Partial<NeighbourReport>): NeighbourReport => ({
  action: "Paid invoice 7",
  human_approval_method: "proof_of_personhood",
  is_signed: false,
  recorded_at: at(1),
  ...fields,
});
const times = (count: number, fields: Partial<NeighbourReport>) =>
  Array.from({ length: count }, () => report(fields));

describe("the approval that an agent's reports usually have", () => {
  it("counts earlier reports whose action begins with the same word, in any case", () => {
    const before = [...times(4, {}), report({ action: "paid rent", human_approval_method: "none" })];
    expect(findHabits("PAID invoice 8", before, []).approvals).toEqual({ word: "PAID", approved: 4, of: 5 });
    expect(findHabits("Sent a mail", before, []).approvals).toBeNull();
  });

  it("is none with too few reports, with too few approvals, or with asserted ones", () => {
    expect(findHabits("Paid", times(2, {}), []).approvals).toBeNull();
    const mixed = [...times(3, {}), ...times(1, { human_approval_method: "none" })];
    expect(findHabits("Paid", mixed, []).approvals).toBeNull();
    expect(findHabits("Paid", times(9, { human_approval_method: "hash" }), []).approvals).toBeNull();
    expect(findHabits("", times(9, { action: null }), []).approvals).toBeNull();
  });
});

describe("the signature that an agent's reports usually have", () => {
  const signed = report({ is_signed: true, recorded_at: at(3) });

  it("names the last signed report, and whether signing went on later", () => {
    const before = [report({ recorded_at: at(5) }), signed, report({ is_signed: true, recorded_at: at(2) })];
    expect(findHabits("Paid", before, []).signatures).toEqual({ until: at(3), isResumed: false });
    expect(findHabits("Paid", before, [signed]).signatures).toEqual({ until: at(3), isResumed: true });
  });

  it("says nothing if no earlier report was signed", () => {
    expect(findHabits("Paid", times(3, {}), [signed]).signatures).toBeNull();
  });
});
