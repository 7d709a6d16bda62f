/** Findings of the browser about the fields that a receipt's page shows. */
import { renderToStaticMarkup } from "react-dom/server";
import { expect, it } from "vitest";
import type { VerifierReport } from "#lib/verifier/report/report";
import { DecodedRow } from "./checklist";

function show(statement: object | null, unproven: string[]): string {
  const checks = [{ name: "restated_fields", status: "pass", detail: "" }];
  const report = { checks, statement, unproven } as unknown as VerifierReport;
  return renderToStaticMarkup(<DecodedRow check={{ phase: "done", report, disagreements: [] }} />);
}

it("confirms the fields beside hidden bytes no further than they are proven", () => {
  expect(show({}, [])).toContain("Your browser: yes");
  const hidden = show(null, ["agent_slug", "timestamp"]);
  expect(hidden).not.toContain("yes");
  expect(hidden).toContain("only the server&#x27;s word: agent slug, timestamp.");
  expect(show(null, [])).toContain("Your browser: yes");
});
