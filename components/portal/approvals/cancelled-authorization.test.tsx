/** A request that its organization took back was cancelled: nobody decided it. */
import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import type { AuthorizationState } from "#lib/api/schemas/authorization-state";
import { AuthorizationFacts } from "./authorization-facts";
import { describeStatus } from "./authorization-status";
import { AuthorizationTable } from "./authorization-table";
import { InboxTable } from "./inbox-table";

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

  it("is when an approval that nobody used has ended", () => {
    const approved = { ...request, status: "approved", usable_until: "2026-11-22T10:40:00.000Z" };
    const state = { ...(approved as unknown as AuthorizationState), deciders: [] };
    const now = (end: string | null) => renderToStaticMarkup(<AuthorizationFacts state={state} end={end} />);
    expect(now(null)).toContain("Usable until");
    expect(now(approved.usable_until)).toContain(">Ended<");
    expect(now(approved.usable_until)).not.toContain("Usable until");
    const inList = (fields: object) => {
      const row = { ...approved, status: "approved" as const, end: approved.usable_until, ...fields };
      return renderToStaticMarkup(<AuthorizationTable rows={[row]} actions={() => null} empty={null} />);
    };
    expect(inList({})).toContain("Ended");
    expect(inList({ end: null })).not.toContain("Ended");
    expect(inList({ attestation_id: "used" })).not.toContain("Ended");
    expect(inList({ revoked_at: approved.usable_until })).not.toContain("Ended");
  });

  it("is said in the inbox's list of decided requests too, and in a tab's title", () => {
    const row = {
      ...request,
      status: "approved" as const,
      organization_name: "Acme",
      is_test: false,
      denial_reason: null,
      expires_soon: false,
      approval_url: "https://example.com/approve/t",
    };
    const inInbox = (is_over: boolean) =>
      renderToStaticMarkup(<InboxTable rows={[{ ...row, is_over }]} isWaiting={false} />);
    expect(inInbox(true)).toContain(">Ended<");
    expect(inInbox(false)).not.toMatch(/ended/i);
    expect(inInbox(false)).toContain(">decided<");
    const title = { status: "approved" as const, revokedAt: null, isOver: false };
    expect(describeStatus(title)).toBe("Approved");
    expect(describeStatus({ ...title, isOver: true })).toBe("Ended");
    expect(describeStatus({ ...title, isOver: true, revokedAt: row.decided_at })).toBe("Taken back");
    expect(describeStatus({ ...title, status: "expired", isOver: true })).toBe("Expired");
  });

  it("is shown as erased, not as empty, if its content was", () => {
    for (const html of show("denied", "")) {
      expect(html).toContain(">Erased<");
      expect(html).not.toContain("(empty)");
    }
  });
});
