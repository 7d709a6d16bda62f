/** Between a phone and a wide screen, a list has room for who decided or for marks. */
import { renderToStaticMarkup } from "react-dom/server";
import { expect, it } from "vitest";
import { AttestationTable } from "./attestation-table";

type Row = Parameters<typeof AttestationTable>[0]["rows"][number];

const plain = {
  id: "01990000-0000-7000-8000-000000000001",
  ...{ title: "Pay", action: "Pay", tool: null, amount: null, agent_slug: "payer", status: "active" },
  ...{ is_public: true, isTest: false, warnings: [], decided: "Ada, by passkey" },
  ...{ human_approval_method: "enrolled_approver", human_approval_environment: "production" },
  created_at: "2026-11-30T12:00:00.000Z",
} as unknown as Row;

const draw = (...rows: Row[]) =>
  renderToStaticMarkup(<AttestationTable caption="" rows={rows} empty={null} />);
const header = (html: string, name: string) => new RegExp(`<th[^>]*>${name}</th>`).exec(html)?.[0];

it("shows who decided where nothing has a mark", () => {
  const html = draw(plain, plain);
  expect(header(html, "State")).toBeUndefined();
  expect(header(html, "Decided by")).not.toContain("hidden");
  expect(header(html, "Agent")).toContain("md:max-xl:hidden");
});

it.each([
  ["is private", { is_public: false }, "Private"],
  ["was made with a test key", { isTest: true }, "TEST"],
  ["can't be read", { action: null }, "Cannot be read"],
])("shows the marks where one %s", (_, more, mark) => {
  const html = draw(plain, { ...plain, ...more } as Row);
  expect(header(html, "State")).toBeDefined();
  expect(header(html, "Decided by")).toContain("md:max-xl:hidden");
  expect(html).toContain(mark);
});
