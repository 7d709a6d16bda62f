import { describe, expect, it } from "vitest";
import type { HumanApproval } from "#lib/domain/statement";
import { decideVerdict, type VerdictFacts } from "./verdict";

const proven: HumanApproval = {
  method: "proof_of_personhood",
  level: "orb",
  request_hash: "r",
  authorization_hash: "a",
  nullifier_hashes: ["0x1"],
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
};

const decide = (given: Partial<VerdictFacts>) => decideVerdict({ ...facts, ...given });

describe("the verdict in words", () => {
  it("grades the human approval, and never calls one grade by another's words", () => {
    const none = decide({});
    const hash = decide({ approval: { method: "hash", approver_hash: null }, isApproved: true });
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
      });
      expect(verdict.title).toContain("TEST");
      expect(verdict.short).toContain("TEST");
      expect(verdict.sentence).toMatch(/no real person|not a real person/);
    }
  });

  it("says invalid before anything else, with the checks that failed", () => {
    const verdict = decide({
      valid: false,
      isTest: true,
      isPublic: false,
      failed: ["payload hash", "signature"],
    });
    expect(verdict).toMatchObject({ kind: "invalid", short: "INVALID" });
    expect(verdict.sentence).toContain("2 checks failed (payload hash, signature)");
  });

  it("does not claim a grade of a private approval", () => {
    const verdict = decide({ isPublic: false, approval: null, isApproved: true });
    expect(verdict.kind).toBe("private");
    expect(verdict.sentence).toContain("how strong that evidence is, only the owner can show");
    const hash = decide({ isPublic: false, approval: null, isApproved: true, approvalMethod: "hash" });
    expect(hash.sentence).toContain("asserted by the caller, not proven");
    expect(hash.sentence).not.toContain("how strong");
  });

  it("tells erased and retired keys apart from invalid", () => {
    expect(decide({ valid: null, erasedAt: "2026-11-21T00:00:00.000Z" })).toMatchObject({ kind: "erased" });
    const retired = decide({ keyStatus: "retired" });
    expect(retired.kind).toBe("valid");
    expect(retired.notes.join()).toContain("retired");
    expect(decide({ keyStatus: "revoked" }).notes.join()).toContain("revoked");
  });
});
