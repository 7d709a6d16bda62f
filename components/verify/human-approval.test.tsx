import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, it } from "vitest";
import type { VerifyResponse } from "#lib/api/schemas/receipts";
import { HumanApprovalPart } from "./human-approval";
import { ReceiptFacts } from "./receipt-facts";

const proven = {
  method: "proof_of_personhood",
  level: "orb",
  request_hash: "r",
  authorization_hash: "a",
  nullifier_hashes: ["0x1"],
  approver_ids: [] as string[],
  environment: "production",
  inputs_bound: true,
};

function render(fields: object, isTest = false): string {
  const answer = {
    valid: true,
    status: "recorded",
    is_public: true,
    agent_slug: "bot",
    action: "Paid",
    timestamp: "2026-11-22T12:00:00.000Z",
    human_approved: true,
    human_authorization: null,
    warnings: [],
    time_bounds: { made_after: null, made_before: null, checkpoint: null, anchors: [] },
    human_approval: proven,
    ...fields,
  } as unknown as VerifyResponse;
  const approvalMethod = answer.human_approval?.method ?? null;
  const props = { answer, isTest, approvalMethod };
  const verification = { ...props, keyStatus: "active" as const };
  return renderToStaticMarkup(
    <>
      <ReceiptFacts verification={verification} surroundings={null} />
      <HumanApprovalPart {...props} />
    </>,
  );
}

it("says when in words, not as the machine's time", () => {
  const at = { approved_at: "2026-11-22T12:00:00.123Z", verified_at: "2026-11-22T11:59:00.456Z" };
  const signed = { ...at, type: "passkey", approver_id: "a", groups: ["g"], roster: { head: { number: 1 } } };
  const shown = render({ human_authorization: { ...at, approvals: [at, signed] } });
  const said = shown.replace(/<details class="mt-3">.*?<\/details>/gs, "").replaceAll(/<[^>]*>/g, "");
  expect(said).toContain("2026-11-22 12:00:00 UTC");
  expect(said).toContain("checked at 2026-11-22 11:59:00 UTC by");
  expect(said).toContain("signed at 2026-11-22 11:59:00 UTC;");
  expect(said).not.toMatch(/T1[12]:\d\d:\d\d\.\d/);
});

describe("the grade of an approval", () => {
  it("is that of a proof only where the record is valid", () => {
    expect(render({}).match(/Proven by World ID/g)).toHaveLength(2);
    const changed = render({ valid: false });
    expect(changed).not.toContain("Proven by World ID");
    expect(changed).not.toContain("text-pass");
    expect(changed).toContain("Human approval claimed, not verified");
    expect(changed).toContain("Claimed, not verified");
  });

  it.each([
    ["proof_of_personhood", "Made with a test wallet", true],
    ["enrolled_approver", "Made by passkey on a test instance", false],
    ["standing_approval", "People approved its limits before, on a test instance", false],
    ["rule", "The organization wrote the rule, on a test instance", false],
  ])("says where a TEST comes from, by a wallet or not: %s", (method, source, hasWallet) => {
    const shown = render({ human_approval: { ...proven, method, environment: "local" } }, true);
    expect(shown).toContain(source);
    expect(shown.includes("made with a test wallet or on World")).toBe(hasWallet);
  });

  it.each(["enrolled_approver", "enrolled_proof_of_personhood"])(
    "tells for %s whose word the name is",
    (method) => {
      const shown = render({ human_approval: { ...proven, method, approver_ids: ["a"] } });
      expect(shown).toContain("is the organization&#x27;s word");
    },
  );

  it("keeps its TEST mark in an invalid record, whatever the payload says by now", () => {
    const changed = render({ valid: false }, true);
    expect(changed.match(/TEST approval, not a real person/g)).toHaveLength(2);
    expect(changed).not.toContain("text-pass");
  });

  it("is no fact of an invalid record, private ones included", () => {
    for (const fields of [
      { human_approval: null },
      { human_approval: null, human_approved: false },
      { human_approval: null, human_approved: null },
      { human_approval: { method: "none" }, human_approved: false },
    ]) {
      const changed = render({ valid: false, ...fields });
      expect(changed).toContain("Claimed, not verified");
      expect(changed).not.toMatch(/text-pass|None recorded|erased/);
    }
  });
});

describe("the time of a record", () => {
  const at = "2026-11-22T12:00:00.000Z";
  const bounds = { made_after: { at, by: ["witness.example/w"] }, made_before: null };

  it("is shown with who vouches for it, and without a bound where nobody does", () => {
    expect(render({})).toContain(
      "Only Countersign says when this was made. Nobody else has confirmed the time.",
    );
    expect(render({ time_bounds: bounds })).toContain(
      `Made after 2026-11-22 12:00:00 UTC (witness.example/w)`,
    );
    expect(render({ time_bounds: { made_after: null, made_before: { at, by: ["\u202etsa"] } } })).toContain(
      "(⟨U+202E⟩tsa)",
    );
  });

  it("is not that of others where a check failed", () => {
    expect(render({ valid: false, time_bounds: bounds })).not.toContain("Made after");
  });
});
