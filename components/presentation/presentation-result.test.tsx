import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import type { JsonValue } from "#lib/protocol/encoding/canonical-json";
import { MESSAGE_NAMES, type MessageName } from "#lib/protocol/presentation/disclosure";
import type { PresentationReport } from "#lib/verifier/checks/presentation-verify";
import { PresentationResult } from "./presentation-result";

function show(
  disclosed: Partial<Record<MessageName, JsonValue>>,
  endorsementFault: string | null = null,
): string {
  const report: PresentationReport = {
    ok: true,
    isKeyRevoked: false,
    checks: [{ name: "proof", status: "pass", detail: "the proof verifies" }],
    disclosed: MESSAGE_NAMES.flatMap((name, index) => {
      const value = disclosed[name];
      return value === undefined ? [] : [{ index, name, value }];
    }),
    presentationHeader: {
      kind: "audience",
      audience: "a",
      nonce: "n",
      issuedAtSeconds: 1,
      expiresAtSeconds: Number.MAX_SAFE_INTEGER,
    },
  };
  return renderToStaticMarkup(<PresentationResult checked={{ report, kid: "kid", endorsementFault }} />);
}

describe("the result of a check", () => {
  it("never lets a hidden method or environment make an approval look proven", () => {
    const approved = { human_approved: true };
    expect(show(approved)).toContain("the method is hidden");
    expect(show({ ...approved, human_approval_method: "hash" })).toContain("not proven");
    const proven = { ...approved, human_approval_method: "proof_of_personhood" };
    expect(show(proven)).toContain("may be a TEST");
    expect(show({ ...proven, human_approval_environment: "staging" })).toContain("not a real person");
    expect(show({ ...proven, human_approval_environment: "production" })).toContain("proven by World ID");
    expect(show({ human_approval_environment: "local" })).toContain("TEST approval");
    expect(show({ human_approved: false })).not.toContain("yes");
  });

  it("shows no value under a key that the service does not endorse", () => {
    const html = show({ action: "canary" }, "signed by an unknown key");
    expect(html).not.toContain("canary");
    expect(html).toContain("signed by an unknown key");
  });

  it("breaks a field's name after an underscore, so that a long one doesn't run into its value", () => {
    expect(show({ human_approval_environment: "local" })).toContain(
      "human_<wbr/>approval_<wbr/>environment</code>",
    );
  });

  it("names what stays hidden, but not the blinding", () => {
    const html = show({ action: "Pay" });
    expect(html).toContain("1 of 23 fields");
    expect(html).toContain("inputs_hash");
    expect(html).not.toContain("blinding");
  });
});
