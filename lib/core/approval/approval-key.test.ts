/** Old and new receipts differ only by the version of the approval. */
import { describe, expect, it } from "vitest";
import { canonicalHash, type JsonObject } from "#lib/core/encoding/canonical-json";
import type { Subject } from "#lib/core/record/record-checks";
import { checkHumanAuthorization } from "#lib/core/statement/claim-checks";
import { pass } from "#lib/core/statement/outcome";
import type { CostlyChecks } from "#lib/core/statement/receipt";
import type { ActionStatement } from "#lib/core/statement/statement";
import { makeTestAuthorization } from "#support/human-authorization";
import { judgeApprovalKey, warnOfApprovalKey } from "./approval-key";

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

describe("the verifier's check human_authorization", () => {
  /** An attestation that fits this authorization in everything but, perhaps, the registered key. */
  function makeSubject(version: 1 | 2, registeredKey: string | null): Subject {
    const object = { ...makeTestAuthorization(), version } as unknown as JsonObject;
    const { request, binding, approvals } = object as Record<string, JsonObject> & {
      approvals: JsonObject[];
    };
    const hash = canonicalHash(object);
    const predicate = {
      organization: request?.["organization"],
      request: {
        agent_slug: request?.["agent_slug"],
        action: request?.["action"],
        inputs_hash: request?.["inputs_hash"],
        human_authorization_hash: hash,
      },
      registered: { agent_public_key: registeredKey },
      human_approval: {
        method: "proof_of_personhood",
        level: "orb",
        request_hash: binding?.["request_hash"],
        authorization_hash: hash,
        nullifier_hashes: approvals.map((one) => one["nullifier_hash"]),
        environment: "production",
        inputs_bound: true,
      },
    };
    const receipt = { humanAuthorization: object };
    return { payload: new Uint8Array(), statement: { predicate }, receipt } as unknown as Subject;
  }
  const costly = {
    verifyHumanAuthorization: async () => pass("proven"),
  } as unknown as CostlyChecks;
  const check = (version: 1 | 2, key: string | null) =>
    checkHumanAuthorization(makeSubject(version, key), costly);

  it("fails under another key than the human approved, and leaves receipts from before the rule valid", async () => {
    expect(await check(2, null)).toMatchObject({ status: "pass" });
    expect(await check(2, "K2")).toMatchObject({
      status: "fail",
      reason: "authorization_mismatch",
      detail: "the authorization does not fit the attestation: agent's key",
    });
    expect(await check(1, null)).toMatchObject({ status: "pass" });
    expect(await check(1, "K2")).toMatchObject({ status: "pass" });
    const { statement, receipt } = makeSubject(1, "K2");
    expect(
      warnOfApprovalKey(statement as ActionStatement, receipt.humanAuthorization as JsonObject)?.code,
    ).toBe("approval_key_changed");
  });
});
