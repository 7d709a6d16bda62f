import { renderToStaticMarkup } from "react-dom/server";
import { expect, it } from "vitest";
import { idleState } from "#lib/api/schemas/form-state";
import { WebhookFields } from "./webhook-fields";

it("names rules and a freeze among what sends the events of decisions", () => {
  const show = (format: "slack" | null) =>
    renderToStaticMarkup(
      <WebhookFields
        state={idleState}
        url="https://hooks.example/…"
        events={[]}
        format={format}
        showsFacts
      />,
    );
  const html = show(null);
  expect(html).toContain("enough people approved, or a rule or a standing approval did");
  expect(html).toContain("a person or a rule denied, or the agent is frozen");
  expect([html, show("slack")].map((one) => one.includes('value="https://hooks.example/…"'))).toEqual([
    true,
    false,
  ]);
});
