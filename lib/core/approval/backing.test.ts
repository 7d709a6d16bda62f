/** An attestation against the authorization that it names, whose own checks are elsewhere. */
import { describe, expect, it } from "vitest";
import { canonicalHash, type JsonObject } from "#lib/core/encoding/canonical-json";
import type { Subject } from "#lib/core/record/record-checks";
import { checkHumanAuthorization } from "#lib/core/statement/claim-checks";
import { pass } from "#lib/core/statement/outcome";
import type { CostlyChecks } from "#lib/core/statement/receipt";
import type { BackedApproval } from "#lib/core/statement/statement";
import { makeBothAuthorization, makeEnrolledAuthorization } from "#support/enrolled-approvals";
import { makeTestAuthorization } from "#support/human-authorization";
import type { HumanAuthorization } from "./approval";
import { describeBacking } from "./backing";

interface Spent {
  registeredKey?: string | null;
  timestamp?: string;
  approval?: Partial<BackedApproval>;
}

/** An attestation that fits this authorization in everything but what is given. */
function makeSubject(authorization: HumanAuthorization, spent: Spent): Subject {
  const object = authorization as unknown as JsonObject;
  const { organization, agent_slug, action, inputs_hash } = authorization.request;
  const predicate = {
    organization,
    timestamp: spent.timestamp ?? authorization.approved_at,
    request: { agent_slug, action, inputs_hash, human_authorization_hash: canonicalHash(object) },
    registered: { agent_public_key: spent.registeredKey ?? null },
    human_approval: { ...describeBacking(object), ...spent.approval },
  };
  const receipt = { humanAuthorization: object };
  return { payload: new Uint8Array(), statement: { predicate }, receipt } as unknown as Subject;
}

const costly = { verifyHumanAuthorization: async () => pass("proven") } as unknown as CostlyChecks;
const check = (spent: Spent = {}, authorization = makeTestAuthorization()) =>
  checkHumanAuthorization(makeSubject(authorization, spent), costly);

describe("the verifier's check human_authorization", () => {
  it("fails under another key than the one that was approved", async () => {
    expect(await check()).toMatchObject({ status: "pass" });
    expect(await check({ registeredKey: "K2" })).toMatchObject({
      status: "fail",
      reason: "authorization_mismatch",
      detail: "the authorization does not fit the attestation: agent's key",
    });
  });

  it("fails if the approval had ended when it was used", async () => {
    expect(await check({ timestamp: "2026-11-21T09:06:00.000Z" })).toMatchObject({ status: "pass" });
    expect(await check({ timestamp: "2026-11-21T09:06:00.001Z" })).toMatchObject({
      reason: "approval_ended",
    });
  });

  it("takes no grade, nobody and no place but the object's own", async () => {
    const whole = describeBacking(makeTestAuthorization() as unknown as JsonObject);
    expect(whole).toMatchObject({ method: "proof_of_personhood", level: "orb", approver_ids: [] });
    const changes: Partial<BackedApproval>[] = [
      { method: "enrolled_approver" },
      { method: "rule" },
      { level: "device" },
      { environment: "staging" },
      { inputs_bound: false },
      { nullifier_hashes: [] },
      { approver_ids: ["somebody"] },
      { request_hash: "0".repeat(64) },
      { authorization_hash: "0".repeat(64) },
    ];
    for (const approval of changes)
      expect([approval, (await check({ approval })).reason]).toEqual([approval, "authorization_mismatch"]);
  });

  it("names the grade by who decided", async () => {
    const methodOf = (authorization: HumanAuthorization) =>
      describeBacking(authorization as unknown as JsonObject);
    expect(methodOf(makeEnrolledAuthorization())).toMatchObject({
      method: "enrolled_approver",
      level: "none",
    });
    expect(methodOf(makeBothAuthorization())).toMatchObject({
      method: "enrolled_proof_of_personhood",
      level: "orb",
      approver_ids: expect.objectContaining({ length: 3 }),
    });
    const dressedUp = check({ approval: { method: "proof_of_personhood" } }, makeEnrolledAuthorization());
    expect((await dressedUp).reason).toBe("authorization_mismatch");
  });
});
