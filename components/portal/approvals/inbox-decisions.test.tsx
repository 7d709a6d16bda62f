/** The inbox has people sign: it must show them all that the approval page shows of the same request. */
import { AppRouterContext } from "next/dist/shared/lib/app-router-context.shared-runtime";
import type { ReactNode } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import { ApprovalScreen } from "#components/approve/approval-screen";
import type { ApprovalView } from "#lib/api/schemas/approval-view";
import { makeView } from "#support/approval-view";
import { InboxDecisions } from "./inbox-decisions";

const render = (node: ReactNode) =>
  renderToStaticMarkup(<AppRouterContext value={{ refresh: () => {} } as never}>{node}</AppRouterContext>);
const show = (node: ReactNode) => render(node).replaceAll(/<[^>]*>/g, " ");

function showBoth(more: Partial<ApprovalView>, request: Partial<ApprovalView["request"]>) {
  const plain = makeView();
  const groups = [{ name: "finance", count: 1, given: 0 }];
  const view = { ...plain, groups, ...more, request: { ...plain.request, ...request } };
  return {
    page: show(<ApprovalScreen view={view} token="t" />),
    inbox: show(<InboxDecisions requests={[{ token: "t", view }]} />),
  };
}

const denied = { request_id: "areq_0", denied_at: "2026-11-21T07:00:00.000Z" };

describe("a request in the inbox shows, as its page does,", () => {
  it.each<[string, string, Partial<ApprovalView>, Partial<ApprovalView["request"]>]>([
    ["for how long it can be used", "30 days", {}, { usable_for_seconds: 30 * 86_400 }],
    [
      "that who asks may approve",
      "Who asks may be one of the approvers",
      {},
      { requester_may_approve: true },
    ],
    ["that one like it was denied", "was denied in the last 24 hours", { previously_denied: denied }, {}],
    ["that no key vouches for the agent", "Identity not verified", {}, {}],
    ["the agent's display name", "Bill", {}, {}],
    ["the domains of who asks", "Verified domain", {}, {}],
    ["who the caller says to be", "Accounts payable", {}, {}],
    ["what the agent did before", "Known since", {}, {}],
    ["who decides", "0 of 1 from", {}, {}],
    ["the confirmation code", makeView().confirmation_code ?? "", {}, {}],
  ])("%s", (_what, words, more, request) => {
    const { page, inbox } = showBoth(more, request);
    expect(page).toContain(words);
    expect(inbox).toContain(words);
  });
});

describe("a request in the inbox", () => {
  it("offers no passkey before the page's script runs, and says that it needs one", () => {
    const view = { ...makeView(), groups: [{ name: "finance", count: 1, given: 0 }] };
    const html = render(<InboxDecisions requests={[{ token: "t", view }]} />);
    expect(/<button[^>]*>(?=[^/]*svg)/.exec(html)?.[0]).toContain('disabled=""');
    expect(html).toContain("Passkeys need JavaScript.");
  });

  it("has a name of its own among the same agent's requests", () => {
    const plain = makeView();
    const requests = ["Pay 1", "Pay \u202e2"].map((action) => ({
      token: action,
      view: { ...plain, request_id: action, request: { ...plain.request, action } },
    }));
    const html = render(<InboxDecisions requests={requests} />);
    const names = [...html.matchAll(/<article[^>]* aria-label="([^"]*)"/g)].map(([, name]) => name);
    const { agent_slug } = plain.request;
    expect(names).toEqual([`Request of ${agent_slug}: Pay 1`, `Request of ${agent_slug}: Pay ⟨U+202E⟩2`]);
  });
});
