/** Old and new receipts are told apart by the version of the approval alone. */
import { describe, expect, it } from "vitest";
import { judgeApprovalKey, warnOfApprovalKey } from "./approval-key";
import type { JsonObject } from "./canonical-json";
import type { ActionStatement } from "./statement";

const statement = (agent_public_key: string | null) =>
  ({ predicate: { registered: { agent_public_key } } }) as ActionStatement;
const approval = (version: number, agent_public_key: string | null): JsonObject => ({
  version,
  request: { agent_public_key },
});

describe("an approval's agent key and the registered one", () => {
  it.each([
    [null, null],
    ["K1", "K1"],
  ])("are the same: %j, %j", (asked, registered) => {
    for (const version of [1, 2]) {
      expect(judgeApprovalKey(statement(registered), approval(version, asked))).toBe("same");
      expect(warnOfApprovalKey(statement(registered), approval(version, asked))).toBeNull();
    }
  });

  it.each([
    ["K1", "K2"],
    ["K1", null],
    [null, "K2"],
  ])("differ: %j, %j", (asked, registered) => {
    expect(judgeApprovalKey(statement(registered), approval(2, asked))).toBe("changed");
    expect(warnOfApprovalKey(statement(registered), approval(2, asked))).toBeNull();
    expect(judgeApprovalKey(statement(registered), approval(1, asked))).toBe("changed_before_rule");
    expect(warnOfApprovalKey(statement(registered), approval(1, asked))?.code).toBe("approval_key_changed");
  });

  it("holds an object of an unknown version to the rule", () => {
    const { version: _version, ...unversioned } = approval(2, "K1");
    expect(judgeApprovalKey(statement("K2"), unversioned)).toBe("changed");
    expect(judgeApprovalKey(statement("K2"), null)).toBe("same");
  });
});
