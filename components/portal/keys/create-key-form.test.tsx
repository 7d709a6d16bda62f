/** A new key is shown with what it allows, and not with calls that it is refused. */
import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import { hookSteps } from "#components/commands";
import { writeOwnSamples } from "#components/portal/overview/write-own-samples";
import { createKeyForm } from "#lib/api/schemas/portal";
import { UseNewKey } from "./create-key-form";

const render = (...scopes: string[]) =>
  renderToStaticMarkup(
    <UseNewKey
      scopes={scopes}
      samples={writeOwnSamples("https://countersign.example", "my-coder")}
      hookSteps={hookSteps("https://countersign.example", "my-coder")}
    />,
  );

describe("a new key", () => {
  it("for a hook comes with the three lines that install it", () => {
    const page = render("hook");
    expect(page.match(/<pre/g)).toHaveLength(3);
    expect(page).toContain("hook install --url https://countersign.example --agent my-coder");
    expect(page).toContain("hook install --check");
    expect(page).not.toContain("/v1/");
  });

  it.each([
    ["hook", ["hook"]],
    ["attest", ["attest"]],
    ["other", ["read"]],
    ["constructor", ["read"]],
  ])("for the purpose %s may do %j, whatever boxes are ticked", (purpose, scopes) => {
    const form = { name: "new", lifetime_days: "90", per_day: "", purpose, scopes: "read" };
    expect(createKeyForm.parse(form)).toMatchObject({ name: "new", scopes });
  });

  it.each(["attest", "authorize"])(
    "comes with a call of %s that names a tool its agent has registered",
    (scope) => {
      const samples = writeOwnSamples("https://countersign.example", "my-coder", [
        "bank.transfer",
        "mail.send",
      ]);
      const text = JSON.stringify(samples.find((sample) => sample.scope === scope));
      expect(text).toContain("bank.transfer");
      expect(text).not.toContain("payments.send");
    },
  );

  it("for anything else comes with the first calls of an agent", () => {
    const page = render("attest", "authorize");
    expect(page).toContain("/v1/attest");
    expect(page).not.toContain("hook install");
    expect(render("attest")).not.toContain("/v1/authorize");
    expect(render("scim")).toBe("");
  });
});
