/** A human_authorization by itself, as /verify reports it. */
import { renderToStaticMarkup } from "react-dom/server";
import { expect, it } from "vitest";
import type { JsonObject } from "#lib/protocol/encoding/canonical-json";
import { factsOfApproval, listFacts } from "#lib/protocol/record/facts";
import type { VerifierReport } from "#lib/verifier/report/report";
import { ReportView } from "./report-view";

const authorization = {
  type: "human_authorization",
  request: {
    ...{ agent_slug: "payer", action: "Pay \u202einvoice 1042", tool: "bank.transfer", grant: null },
    amount: { value: "12000.5", currency: "EUR" },
  },
  decided_by: { kind: "people" },
  approvals: [{ type: "passkey", approver_id: "a", verified_at: "2026-11-28T13:31:15.000Z" }],
  environment: "production",
  approved_at: "2026-11-28T13:31:16.000Z",
  usable_until: null,
};

function show(input: JsonObject, more: Partial<VerifierReport> = {}): string {
  const report = {
    ...{ kind: "human_authorization", verdict: "valid", checks: [], missing: [], unproven: [], warnings: [] },
    ...{ statement: null, statedWarnings: [], disclosed: [], isTest: false, disagrees: false },
    authorization: { grade_text: "Enrolled approvers, by passkey" },
    facts: listFacts(factsOfApproval(input)),
    ...more,
  } as unknown as VerifierReport;
  const html = renderToStaticMarkup(<ReportView report={report} />);
  return html.replaceAll(/<[^>]*>/g, " ").replaceAll(/\s+/g, " ");
}

it("says what was approved, for which agent and by whom, once all of it is verified", () => {
  const text = show(authorization);
  for (const words of [
    "⟨U+202E⟩",
    "Amount 12,000.50 EUR",
    "Tool bank.transfer",
    "Agent payer",
    "Approved by 1 enrolled approver, by passkey",
    "Person 1, by passkey, 2026-11-28 13:31:15 UTC",
    "Grade Enrolled approvers, by passkey.",
    "Decided 2026-11-28 13:31:16 UTC",
  ])
    expect(text).toContain(words);
  expect(show(authorization, { verdict: "invalid", authorization: null, facts: [] })).not.toContain("payer");
});
