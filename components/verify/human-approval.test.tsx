import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import type { VerifyResponse } from "#lib/contract/verify";
import { warningOf } from "#lib/core/statement/warnings";
import { HumanApprovalPart } from "./human-approval";
import { SubjectSummary } from "./subject-summary";

function render(fields: object, isTest = false): string {
  const answer = {
    valid: true,
    status: "recorded",
    is_public: true,
    agent_slug: "bot",
    action: "Paid",
    timestamp: null,
    human_approved: true,
    human_authorization: null,
    warnings: [],
    time_bounds: { made_after: null, made_before: null, checkpoint: null, anchors: [] },
    human_approval: {
      method: "proof_of_personhood",
      level: "orb",
      request_hash: "r",
      authorization_hash: "a",
      nullifier_hashes: ["0x1"],
      environment: "production",
      inputs_bound: true,
    },
    ...fields,
  } as unknown as VerifyResponse;
  const approvalMethod = answer.human_approval?.method ?? null;
  const props = { answer, isTest, approvalMethod };
  return renderToStaticMarkup(
    <>
      <SubjectSummary {...props} />
      <HumanApprovalPart {...props} />
    </>,
  );
}

describe("the grade of an approval", () => {
  it("is that of a proof only where the record is valid", () => {
    expect(render({}).match(/Proven by World ID/g)).toHaveLength(2);
    const changed = render({ valid: false });
    expect(changed).not.toContain("Proven by World ID");
    expect(changed).not.toContain("text-pass");
    expect(changed).toContain("Human approval claimed, not verified");
    expect(changed).toContain("Claimed, not verified");
  });

  it("is not that of a proof where the approval was for another key of the agent", () => {
    const shown = render({ warnings: [warningOf("approval_key_changed")] });
    expect(shown).not.toContain("Proven by World ID");
    expect(shown).not.toContain("text-pass");
    expect(shown.match(/Approved for another key/g)).toHaveLength(2);
    const test = render({ warnings: [warningOf("approval_key_changed")] }, true);
    expect(test).toContain("TEST approval, not a real person");
    expect(test).toContain("Approved for another key");
  });

  it("keeps its TEST mark in an invalid record, whatever the payload says by now", () => {
    const changed = render({ valid: false }, true);
    expect(changed.match(/TEST approval, not a real person/g)).toHaveLength(2);
    expect(changed).not.toContain("text-pass");
  });

  it("is no fact of an invalid record, private ones included", () => {
    for (const fields of [
      { human_approval: null },
      { human_approval: null, human_approved: false },
      { human_approval: null, human_approved: null },
      { human_approval: { method: "none" }, human_approved: false },
    ]) {
      const changed = render({ valid: false, ...fields });
      expect(changed).toContain("Claimed, not verified");
      expect(changed).not.toMatch(/text-pass|None recorded|erased/);
    }
  });
});

describe("the time of a record", () => {
  const at = "2026-11-22T12:00:00.000Z";
  const bounds = { made_after: { at, by: ["witness.example/w"] }, made_before: null };

  it("is shown with who vouches for it, and without a bound where nobody does", () => {
    expect(render({})).toContain("No independent lower bound");
    expect(render({ time_bounds: bounds })).toContain(
      `Made after 2026-11-22 12:00:00 UTC (witness.example/w)`,
    );
    expect(render({ time_bounds: { made_after: null, made_before: { at, by: ["\u202etsa"] } } })).toContain(
      "(⟨U+202E⟩tsa)",
    );
  });

  it("is not that of others where a check failed", () => {
    expect(render({ valid: false, time_bounds: bounds })).not.toContain("Made after");
  });
});
