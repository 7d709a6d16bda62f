import { describe, expect, it } from "vitest";
import type { BackedApproval, HumanApproval } from "#lib/protocol/statement/human-approval";
import { describeWarning, type WarningCode, warningCodes } from "#lib/protocol/statement/warnings";
import { decideVerdict, type VerdictFacts } from "./verdict";

const proven: BackedApproval = {
  method: "proof_of_personhood",
  level: "orb",
  request_hash: "r",
  authorization_hash: "a",
  nullifier_hashes: ["0x1"],
  approver_ids: [],
  environment: "production",
  inputs_bound: true,
};

const facts: VerdictFacts = {
  valid: true,
  isPublic: true,
  erasedAt: null,
  approval: { method: "none" },
  isApproved: false,
  approvalMethod: null,
  isTest: false,
  keyStatus: "active",
  failed: [],
  warnings: [],
  findings: [],
};
const warned = (...codes: WarningCode[]) => ({ warnings: codes.map(describeWarning), findings: ["tools"] });

const decide = (given: Partial<VerdictFacts>) => decideVerdict({ ...facts, ...given });

describe("the verdict in words", () => {
  it("grades the human approval, and never calls one grade by another's words", () => {
    const none = decide({});
    const asserted: HumanApproval = { method: "hash", approver_hash: null };
    const hash = decide({ approval: asserted, isApproved: true, ...warned("approval_asserted_only") });
    const person = decide({ approval: proven, isApproved: true });
    expect(none.sentence).toContain("No human approval is recorded");
    expect(hash.sentence).toContain("asserted by the caller, not proven");
    expect(person.sentence).toContain(
      "A key of an enrolled human approved exactly this, proven by World ID, level Orb",
    );
    expect(new Set([none, hash, person].map(({ short }) => short)).size).toBe(3);
    const two = decide({ approval: { ...proven, nullifier_hashes: ["0x1", "0x2"] }, isApproved: true });
    expect(two.sentence).toContain("Keys of 2 different enrolled humans approved exactly this");
  });

  it("marks TEST in title and badge, for private attestations too", () => {
    for (const isPublic of [true, false]) {
      const verdict = decide({
        isPublic,
        isTest: true,
        isApproved: true,
        approval: isPublic ? proven : null,
        ...warned("approval_test"),
      });
      expect(verdict.kind).toBe("test");
      expect(verdict.title).toContain("TEST");
      expect(verdict.short).toContain("TEST");
      expect(verdict.sentence).toMatch(/no real person|not a real person/);
    }
  });

  it("never shows a record with warnings as one without: title, badge, colour and sentence say them", () => {
    for (const isPublic of [true, false])
      for (const code of warningCodes.filter((one) => one !== "content_erased" && one !== "approval_test")) {
        const verdict = decide({ isPublic, ...warned(code) });
        expect(verdict.kind, code).toBe("warned");
        expect(verdict.title, code).toBe(`Authentic record${isPublic ? "" : ", private"}, 1 warning`);
        expect(verdict.short, code).toContain("1 warning");
        expect(verdict.sentence, code).toContain("1 warning about what it says: tools.");
        expect(verdict.warnings, code).toEqual([describeWarning(code)]);
      }
    const both = decide({ isTest: true, ...warned("tools_not_registered", "approval_test") });
    expect(both).toMatchObject({ kind: "warned", title: "Authentic record, 2 warnings (TEST approval)" });
    expect(both.short).toBe("authentic, 2 warnings, TEST approval");
    const proof = decide({ approval: proven, isApproved: true, ...warned("tools_not_registered") });
    expect(proof.short).not.toContain("approved by a human");
  });

  it("never calls a standing approval or a rule a human's approval", () => {
    for (const method of ["standing_approval", "rule"] as const)
      for (const isPublic of [true, false]) {
        const approval = isPublic ? { ...proven, method, nullifier_hashes: [] } : null;
        const { sentence, short } = decide({ approval, isPublic, isApproved: false, approvalMethod: method });
        expect(sentence).toContain("Nobody was asked");
        expect(`${sentence} ${short}`).not.toMatch(/World ID|human approved|by a human|enrolled/);
      }
  });

  it("counts enrolled approvers, and says how each of them approved", () => {
    const approver_ids = ["a", "b"];
    const byPasskey = decide({
      approval: { ...proven, method: "enrolled_approver", approver_ids },
      isApproved: true,
    });
    expect(byPasskey.sentence).toContain(
      "2 enrolled approvers of the organization approved exactly this, by passkey.",
    );
    expect(byPasskey.sentence).not.toContain("World ID");
    const both = decide({
      approval: { ...proven, method: "enrolled_proof_of_personhood", approver_ids },
      isApproved: true,
    });
    expect(both.sentence).toContain("by passkey and World ID, level Orb");
  });

  it("says invalid before anything else, with the checks that failed", () => {
    const verdict = decide({
      ...warned("tools_not_registered"),
      valid: false,
      isTest: true,
      isPublic: false,
      failed: ["payload hash", "signature"],
    });
    expect(verdict).toMatchObject({ kind: "invalid", short: "NOT AUTHENTIC", warnings: [] });
    expect(verdict.sentence).toContain("2 checks failed (payload hash, signature)");
  });

  it("does not claim a grade of a private approval", () => {
    const verdict = decide({ isPublic: false, approval: null, isApproved: true });
    expect(verdict.kind).toBe("private");
    expect(verdict.sentence).toContain("Only the owner can show how strong the evidence is");
    const hash = decide({ isPublic: false, approval: null, isApproved: true, approvalMethod: "hash" });
    expect(hash.sentence).toContain("asserted by the caller, not proven");
    expect(hash.sentence).not.toContain("how strong");
  });

  it("tells erased and retired keys apart from invalid", () => {
    expect(decide({ valid: null, erasedAt: "2026-11-21T00:00:00.000Z" })).toMatchObject({ kind: "erased" });
    const retired = decide({ keyStatus: "retired" });
    expect(retired.kind).toBe("authentic");
    expect(retired.notes.join()).toContain("retired");
    const revoked = decide({ keyStatus: "revoked", ...warned("signing_key_revoked") });
    expect(revoked).toMatchObject({ kind: "warned", title: "Authentic record, 1 warning" });
    expect(revoked.warnings[0]?.message).toContain("Its place in the log is before that");
  });
});
