/** A time that is read in two ways would be judged in two ways. */
import { expect, it } from "vitest";
import { buildDecisionStatement, type Decision, parseDecisionStatement } from "./approval-decision";

const denied: Decision = {
  decision: "denied",
  request_hash: "cd".repeat(32),
  decided_at: "2026-11-24T12:00:00.000Z",
  key_id: "k",
  authorization_hash: null,
  record: { agent_id: "01990000-0000-7000-8000-000000000000", sequence: 2, previous: "0".repeat(64) },
};

it("reads a decision's statement with a time as the service writes it alone", () => {
  expect(parseDecisionStatement(buildDecisionStatement(denied))).toEqual(denied);
  for (const decided_at of ["2026-11-24", "24 Nov 2026", "2026-11-24T12:00:00Z", "soon"])
    expect(parseDecisionStatement(buildDecisionStatement({ ...denied, decided_at }))).toBeNull();
});
