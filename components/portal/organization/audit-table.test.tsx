/** In a narrow column the browser breaks an address after its @, and not in the middle of a name. */
import { renderToStaticMarkup } from "react-dom/server";
import { expect, it } from "vitest";
import { AuditTable } from "./audit-table";

function show(actor: string, subject: string): string {
  const row = {
    id: "1",
    at: "2026-11-27T10:00:00.000Z",
    actorKind: "user" as const,
    actor,
    action: "member.invited",
    subject,
    detail: null,
    ip: null,
    session: null,
  };
  const html = renderToStaticMarkup(<AuditTable rows={[row]} empty={null} />);
  return html.replaceAll("<wbr/>", "¦").replaceAll(/<[^>]*>/g, "");
}

it("lets addresses break after the @", () => {
  const text = show("ana@example.com", "Carol (carol@example.com)");
  expect(text).toContain("ana@¦example.com");
  expect(text).toContain("Carol (carol@¦example.com)");
});

it("leaves other texts as they are", () => {
  const text = show("nightly @", "");
  expect(text).toContain("nightly @From");
  expect(text).toContain("(empty)");
});
