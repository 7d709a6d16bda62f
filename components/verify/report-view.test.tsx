/** A human_authorization by itself, and an evidence pack, as /verify reports them. */
import { renderToStaticMarkup } from "react-dom/server";
import { expect, it } from "vitest";
import type { JsonObject } from "#lib/protocol/encoding/canonical-json";
import { factsOfApproval, listFacts } from "#lib/protocol/record/facts";
import type { VerifierReport } from "#lib/verifier/report/report";
import { PackView } from "./pack-view";
import { ReportView } from "./report-view";
import type { CheckedPack } from "./run-pack";

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

it("draws the entries of a large pack a page at a time", () => {
  const rows = Array.from({ length: 10_000 }, (_, i) => ({
    ...{
      agent: "payer",
      number: i + 1,
      time: null,
      kind: "attestation",
      amount: null,
      payee: null,
      tool: null,
    },
    ...{ action: `Pay invoice ${i + 1}`, missing: "", outcome: "", decided: "", approvers: "", rule: "" },
    ...{ use: "", grant: "", isTest: false, warnings: [], file: `attestations/${i + 1}.json` },
  }));
  const agent = {
    agent: { agent_id: "a", slug: "payer" },
    period: { from: "2026-11-28T00:00:00.000Z", to: "2026-11-29T00:00:00.000Z" },
    record: { first: 1, last: 10_000, head: 10_000 },
    counts: { attestations: { total: 10_000 }, decisions: { approved: 0, denied: 0, revoked: 0, frozen: 0 } },
  };
  const found = { verdict: "valid", sentence: "", checks: [], warnings: [], sums: [], notProven: [] };
  const checked = { ...found, agents: [agent], rows, csv: null, html: null } as unknown as CheckedPack;
  const html = renderToStaticMarkup(<PackView checked={checked} source="evidence.zip" />);
  expect(html).toContain("1 to 25 of 10000");
  expect(html.match(/Pay invoice/g)).toHaveLength(25);
});
