/** An approval page that people come back to says and offers only what is still so. */
import { AppRouterContext } from "next/dist/shared/lib/app-router-context.shared-runtime";
import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import type { ApprovalView } from "#lib/api/schemas/approval-view";
import { makeView } from "#support/approval-view";
import { ApprovalScreen } from "./approval-screen";

const grant = { actions: ["Pay *"], max_calls: 2, expires_at: "2026-11-28T08:00:00.000Z" };

function textOf({ request = {}, ...more }: Partial<Omit<ApprovalView, "request">> & { request?: object }) {
  const view = makeView();
  const shown = { ...view, context: {}, ...more, request: { ...view.request, ...request } };
  const html = renderToStaticMarkup(
    <AppRouterContext.Provider value={{ refresh: () => {} } as never}>
      <ApprovalScreen view={shown} token="token" />
    </AppRouterContext.Provider>,
  );
  return html.replaceAll(/<[^>]*>/g, "").replaceAll("&#x27;", "'");
}

const takeBack = "Take back the approval";
const anyTime = "It can be taken back at any time";
const people = { kind: "people" } as const;
const approved = { status: "approved", decided_by: people, decided_at: "2026-11-21T08:00:30.000Z" } as const;

describe("an approval page after the decision", () => {
  it("offers to take back what can be used, and nothing that has ended", () => {
    const until = (usable_until: string | null) => textOf({ ...approved, usable_until });
    for (const end of [null, "2026-11-21T09:00:00.000Z"]) expect(until(end)).toContain(takeBack);
    const ended = until("2026-11-21T08:00:59.000Z");
    expect(ended).toContain("Nothing can use it any more");
    expect(ended).not.toContain(takeBack);
  });

  it("shows a standing approval as asked, as allowed, or as over", () => {
    const asked = textOf({ request: { grant } });
    expect(asked).toContain("What you would allow without being asked again");
    const given = textOf({ ...approved, request: { grant } });
    expect(given).toContain("What is allowed without asking again");
    for (const text of [asked, given]) expect(text).toContain(anyTime);
    for (const over of [
      { ...approved, revoked_at: "2026-11-21T08:00:40.000Z" },
      { ...approved, now: "2026-11-28T08:00:00.000Z" },
      { status: "denied", decided_at: "2026-11-21T08:00:30.000Z" } as const,
    ]) {
      const text = textOf({ ...over, request: { grant } });
      expect(text).toMatch(/Limits(?:Up to )?2 uses/);
      expect(text).not.toMatch(
        /asked for|taken back at any time|you are asked again|you would allow|Take back the/,
      );
    }
  });

  it("tells nobody to deny what is decided", () => {
    const advice = "If the action above does not say enough to decide, deny.";
    expect(textOf({})).toContain(advice);
    for (const status of ["approved", "denied", "expired", "cancelled"] as const) {
      const text = textOf({ status });
      expect(text).toContain("The agent sent no details.");
      expect(text).not.toContain(advice);
    }
  });

  it("counts nobody of a group whose approvals were erased", () => {
    const groups = [{ name: null, count: 2, given: 0 }];
    const text = textOf({ ...approved, groups, is_erased: true, approvals: { given: 2, required: 2 } });
    expect(text).toContain("2 from a required group");
    expect(text).not.toContain("0 of 2");
    const whole = [{ name: "finance", count: 2, given: 1 }];
    expect(textOf({ groups: whole })).toContain("1 of 2 from finance");
  });

  it("says what each means of approval covers", () => {
    const groups = [{ name: "finance", count: 1, given: 0 }];
    const byPasskey = textOf({ groups, required_level: "none" });
    expect(byPasskey).toContain("Each passkey signs the request hash below");
    expect(byPasskey).not.toMatch(/World ID (proof|action|signal)/);
    const both = textOf({ groups, required_level: "orb" });
    for (const text of [textOf({}), both])
      expect(text).toContain("The World ID proof covers the signal below");
    expect(both).toContain("Each passkey signs the request hash below");
  });

  it("says what a freeze stops", () => {
    expect(textOf({ is_frozen: true })).toContain("You can still deny it.");
    const given = textOf({ ...approved, is_frozen: true });
    expect(given).toContain("it can't use this approval");
    expect(given).not.toContain("deny it");
  });
});
