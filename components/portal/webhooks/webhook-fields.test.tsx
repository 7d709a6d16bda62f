import { renderToStaticMarkup } from "react-dom/server";
import { expect, it } from "vitest";
import { idleState } from "#lib/api/schemas/form-state";
import { WebhookFields } from "./webhook-fields";

it("names rules and a freeze among what sends the events of decisions", () => {
  const html = renderToStaticMarkup(<WebhookFields state={idleState} url="" events={[]} />);
  expect(html).toContain("enough people approved, or a rule or a standing approval did");
  expect(html).toContain("a person or a rule denied, or the agent is frozen");
});
