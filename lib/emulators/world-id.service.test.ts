/** IDKit's real WASM ↔ the bridge ↔ the test World App ↔ a real proof ↔ the portal: the whole of the stand-in. */

import { bn254 } from "@noble/curves/bn254.js";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { type IdkitResult, idkitResultSchema, pickProof } from "#lib/api/schemas/world-id";
import {
  type Approval,
  type ApprovalCheckName,
  bindRequest,
  buildAuthorization,
} from "#lib/protocol/approval/approval";
import { semaphoreKeyFor } from "#lib/protocol/world-id/world-id-keys";
import { parseFieldElement, type WorldProofV3, wordHex } from "#lib/protocol/world-id/world-id-proof";
import { isResultOfRequest } from "#lib/services/approvals/world-id/provider";
import { checkProofV3 } from "#lib/verifier/checks/check-world-proof";
import { verifyHumanAuthorization } from "#lib/verifier/checks/verify-human-authorization";
import { signForTest, testFacts, testRequest, testVerifyOptions } from "#support/human-authorization";
import { openIdkit, serveLocally, testBaseUrl, testRpKey } from "#support/world-id-local";
import { createLocalWorldId, LOCAL_APP_ID, LOCAL_RP_ID, type LocalWorldId } from "./world-id";

const { world_action: action, signal, signal_hash } = bindRequest(testRequest);
const rp = { app_id: LOCAL_APP_ID, rp_id: LOCAL_RP_ID };
const localKey = semaphoreKeyFor("local");
const clock = Date.now();
let world: LocalWorldId;
const localFetch = serveLocally(() => world);
world = createLocalWorldId({
  baseUrl: testBaseUrl,
  rpSigningKeyHex: testRpKey,
  now: () => clock,
  fetch: localFetch,
});

beforeAll(() => vi.stubGlobal("fetch", localFetch));
afterAll(() => vi.unstubAllGlobals());

async function approve(
  human: string,
  level: "device" | "orb",
  wanted = level,
  named = action,
  covered = signal,
): Promise<WorldProofV3> {
  const { request, send } = await openIdkit(world, named, covered, level);
  expect(await (await send({ decision: "approve", human, level: wanted })).json()).toEqual({ sent: "proof" });
  const completion = await request.pollUntilCompletion({ pollInterval: 10, timeout: 5000 });
  if (!completion.success) throw new Error(completion.error);
  const result = idkitResultSchema.parse(completion.result);
  expect(isResultOfRequest(result, world.provider, named)).toBe(true);
  const proof = pickProof(result as IdkitResult, level, rp);
  if (proof?.protocol_version !== "3.0") throw new Error("no v3 proof");
  return proof;
}

let ada: WorldProofV3;
beforeAll(async () => {
  ada = await approve("ada", "orb");
});

describe("a real proof of the stand-in", () => {
  const check = (proof: WorldProofV3, named = action, hash = BigInt(signal_hash)) =>
    checkProofV3(proof, named, hash, localKey);

  it("verifies over this request and over no other", () => {
    expect(check(ada)).toEqual({ ok: true });
    const refused = { ok: false, reason: "pairing_failed" };
    expect(check(ada, `${action}x`)).toEqual(refused);
    expect(check(ada, action, BigInt(signal_hash) + 1n)).toEqual(refused);
    expect(check({ ...ada, app_id: "app_staging_other" })).toEqual(refused);
    expect(
      check({ ...ada, nullifier_hash: wordHex((parseFieldElement(ada.nullifier_hash) ?? 0n) + 1n) }),
    ).toEqual(refused);
    expect(check({ ...ada, merkle_root: wordHex(1n) })).toEqual(refused);
    expect(checkProofV3(ada, action, BigInt(signal_hash), semaphoreKeyFor("production"))).toEqual(refused);
    for (const at of [2, 130, 500]) {
      const tampered = ada.proof.slice(0, at) + (ada.proof[at] === "0" ? "1" : "0") + ada.proof.slice(at + 1);
      expect(check({ ...ada, proof: tampered })).toMatchObject({ ok: false });
    }
  });

  it("is malleable to (−A, −B, C), with the same nullifier", () => {
    const p = bn254.fields.Fp.ORDER;
    const words = (ada.proof.slice(2).match(/.{64}/g) ?? []).map((word) => BigInt(`0x${word}`));
    const flipped = words.map((word, i) => (i === 1 || i === 4 || i === 5 ? p - word : word));
    const proof = `0x${flipped.map((word) => wordHex(word).slice(2)).join("")}`;
    expect(proof).not.toBe(ada.proof);
    expect(check({ ...ada, proof })).toEqual({ ok: true });
  });
});

describe("a human_authorization made with the stand-in", () => {
  const accepted = {
    type: "world_id" as const,
    environment: "local" as const,
    verified_at: "2026-11-21T08:05:00.000Z",
    verified_by: ["groth16-local", "world-portal-v4"] as ApprovalCheckName[],
  };
  const request = { ...testRequest, approvals_required: 1 };

  it("is valid under its own request only, and marked TEST", async () => {
    const bound = bindRequest(request);
    const own = await approve("hedy", "orb", "orb", bound.world_action, bound.signal);
    const sign = (a: Approval) =>
      signForTest(buildAuthorization(request, { ...testFacts, approvals: [a], environment: "local" }));
    const report = verifyHumanAuthorization(sign({ ...accepted, ...own }), testVerifyOptions);
    expect(report).toMatchObject({
      ok: true,
      grade: "test",
      grade_text: "TEST: nothing about a real person is proven",
    });
    expect(report.checks.find((check) => check.name === "proofs")?.status).toBe("pass");
    for (const [wrong, failed] of [
      [{ ...accepted, ...ada }, ["proofs"]],
      [{ ...accepted, ...own, environment: "production" as const }, ["environment", "proofs"]],
    ] as const) {
      const refused = verifyHumanAuthorization(sign(wrong), testVerifyOptions);
      expect(refused.checks.filter((check) => check.status === "fail").map((check) => check.name)).toEqual(
        failed,
      );
      expect(refused.grade).toBe("invalid");
    }
  });
});
