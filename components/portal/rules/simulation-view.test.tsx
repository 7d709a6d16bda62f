import { renderToStaticMarkup } from "react-dom/server";
import { expect, it } from "vitest";
import type { SimulateResponse } from "#lib/api/schemas/rules";
import { SimulationView } from "./simulation-view";

it("shows for requests that people were asked about what the rules would demand instead", () => {
  const difference: SimulateResponse["differences"][number] = {
    request_id: "areq_1",
    created_at: "2026-11-30T20:00:00.000Z",
    agent_slug: "a",
    tool: null,
    action: "Pay",
    amount: { value: "48000", currency: "EUR" },
    was: "asked",
    would: "asked",
    policy_ids: ["large"],
    reason: "permitted",
    demands: { approvals: 2, level: "none", groups: [{ group: "finance", count: 2 }] },
  };
  const ofAnyone = {
    ...{ ...difference, request_id: "areq_2" },
    demands: { approvals: 2, level: null, groups: [] },
  };
  const html = renderToStaticMarkup(
    <SimulationView
      simulation={{
        ...{ requests: 6, erased: 0, unused: [], warnings: [], differences: [difference, ofAnyone] },
        was: { allowed: 0, asked: 6, denied: 0 },
        would: { allowed: 0, asked: 6, denied: 0 },
      }}
    />,
  );
  const words = html.replaceAll(/(?:<[^>]*>|\s)+/g, " ");
  expect(words).toContain("2 of your last 6 requests would go another way");
  expect(words).toContain("6 with people asked (2 with more required), 0 denied.");
  expect(html).toContain(">2 members of finance, by passkey</strong>");
  expect(html).toContain(">2 approvals</strong>");
});
