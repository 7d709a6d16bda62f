import { AppRouterContext } from "next/dist/shared/lib/app-router-context.shared-runtime";
import type { ComponentProps } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, it } from "vitest";
import type { FeedResponse } from "#lib/api/schemas/identity";
import { type AgentQuery, AgentView } from "./agent-view";

const render = (lookAlikes: string[], more: Partial<AgentQuery> & { next_cursor?: string } = {}) => {
  const { next_cursor = null, ...asked } = more;
  const agent = {
    slug: "pay-bot",
    name: "Payments",
    description: null,
    total_attestations: 0,
    created_at: "2026-11-22T10:00:00.000Z",
    public_key: null,
    look_alikes: lookAlikes,
    identity: {
      key_status: "none",
      model_id: null,
      code_hash: null,
      key_history: [],
      key_history_cursor: null,
      tools: null,
      frozen_at: null,
    },
    attestations: [],
    next_cursor,
  } as unknown as FeedResponse;
  const query = {
    approval: undefined,
    action: undefined,
    warnings: undefined,
    cursor: undefined,
    sort: undefined,
    ...asked,
  };
  const router = {} as ComponentProps<typeof AppRouterContext.Provider>["value"];
  return renderToStaticMarkup(
    <AppRouterContext.Provider value={router}>
      <AgentView agent={agent} record={{ length: 0, unattested: 0 }} query={query} />
    </AppRouterContext.Provider>,
  );
};

it("an agent's page names the agents that look like it, and is silent if none does", () => {
  const html = render(["pay_bot", "pay-b0t"]);
  expect(html).toContain("Other agents look like this one");
  for (const slug of ["pay_bot", "pay-b0t"]) expect(html).toContain(`href="/agent/${slug}"`);
  expect(render(["pay_bot"])).toContain("Another agent looks like this one");
  expect(render([])).not.toMatch(/agents? looks? like/);
});

it("an agent's list is sorted by amount as a whole: filters and pages keep the order", () => {
  const first = "/agent/pay-bot?action=pay";
  const list = render([], { action: "pay", next_cursor: "c" });
  for (const link of [`${first}&amp;cursor=c"`, `${first}&amp;sort=amount"`]) expect(list).toContain(link);
  const sorted = render([], { action: "pay", sort: "amount", cursor: "b", next_cursor: "c" });
  for (const link of [`${first}&amp;cursor=c&amp;sort=amount"`, `${first}&amp;sort=amount"`, `${first}"`])
    expect(sorted).toContain(link);
  expect(sorted).toContain('<input type="hidden" name="sort" value="amount"/>');
  expect(sorted).toMatch(/First attestations<.*More attestations</);
  expect(render([])).not.toContain("By amount");
});
