/** A request that its organization took back was cancelled: nobody decided it. */
import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import type { AuthorizationState } from "#lib/api/schemas/authorization-state";
import { AuthorizationFacts } from "./authorization-facts";
import { AuthorizationTable } from "./authorization-table";

const request = {
  request_id: "areq_1",
  environment: "local",
  agent_slug: "bot",
  action: "Pay",
  title: "Pay",
  amount: null,
  payee: null,
  why: null,
  tool: null,
  decided_by: null,
  required_level: "device" as const,
  approvals: { required: 1, given: 0 },
  created_at: "2026-11-22T10:00:00.000Z",
  expires_at: "2026-11-22T11:00:00.000Z",
  decided_at: "2026-11-22T10:30:00.000Z",
  approval_url: null,
  revoked_at: null,
  end: null,
  isTest: false,
};

function show(status: "cancelled" | "denied", action = "Pay"): string[] {
  const row = { ...request, action, status };
  const table = <AuthorizationTable rows={[row]} actions={() => null} empty={null} />;
  const state = { ...(row as unknown as AuthorizationState), deciders: [] };
  const facts = <AuthorizationFacts state={state} end={null} />;
  return [table, facts].map((page) => renderToStaticMarkup(page));
}

describe("when a request ended", () => {
  it("is when it was cancelled, or decided", () => {
    for (const html of show("cancelled")) {
      expect(html).toMatch(/>cancelled<\/span> <time|>Cancelled<\/dt>/);
      expect(html).not.toMatch(/decided(?! by)/i);
    }
    for (const html of show("denied")) expect(html).toMatch(/>decided<\/span> <time|>Decided<\/dt>/);
  });

  it("is shown as erased, not as empty, if its content was", () => {
    for (const html of show("denied", "")) {
      expect(html).toContain(">Erased<");
      expect(html).not.toContain("(empty)");
    }
  });
});
