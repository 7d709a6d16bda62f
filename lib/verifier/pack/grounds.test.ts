/** The verifier refuses a pack whose approvals rest on a roster or on rules that the service's statements don't have before. */
import { describe, expect, it } from "vitest";
import { createLocalSigner } from "#lib/log/signing/signing-keys";
import { buildAuthorization, type HumanAuthorization } from "#lib/protocol/approval/approval";
import type { JsonObject } from "#lib/protocol/encoding/canonical-json";
import { DECISION_FILE_TYPE, readPackEntry } from "#lib/protocol/pack/pack-entries";
import { buildRosterStatement } from "#lib/protocol/passkey/roster";
import { buildRulesetStatement, type RulesetVersion } from "#lib/protocol/policy/replay";
import { fault } from "#lib/protocol/statement/outcome";
import { signStatement } from "#lib/protocol/tlog/log-leaf";
import type { ListedStatement } from "#lib/verifier/checks/check-sum";
import { makeEnrolledAuthorization, testRoster } from "#support/enrolled-approvals";
import { signForTest, testFacts, testKeyId, testPublicKey, testRequest } from "#support/human-authorization";
import { createGroundList, readGrounds } from "./uses";

const signerOf = (byte: number) => createLocalSigner(Buffer.alloc(32, byte).toString("base64"), "test");
const origin = "countersign.example/log";
const keys = [{ keyId: testKeyId, publicKey: testPublicKey, validFromIndex: 0, validToIndex: null }];
const trust = { keys, logKeys: [], zkKeys: [], revokedZkKeys: [] };

/** Signed by the service, whose key's seed is 7. */
async function list(payload: Uint8Array, logIndex = 3, seed = 7): Promise<ListedStatement> {
  const { signature, envelopeSignature } = await signStatement(signerOf(seed), payload);
  return { payload, signature, envelopeSignature, keyId: testKeyId, kind: "", logOrigin: origin, logIndex };
}

/** Decided at index 4. */
function judge(object: HumanAuthorization, ...all: ListedStatement[]) {
  const grounds = createGroundList();
  const human_authorization = { ...object, log: { origin, index: 4 } };
  const json = { type: DECISION_FILE_TYPE, sequence: 9, payload: null, human_authorization };
  const entry = readPackEntry("file", json as unknown as JsonObject);
  grounds.add(readGrounds(entry, json as unknown as JsonObject));
  const { status, reason, detail } = grounds.judge(all, trust);
  expect(detail).not.toMatch(/\{|undefined/);
  return reason ?? status;
}

describe("the grounds of approvals in a pack", () => {
  const enrolled = makeEnrolledAuthorization();
  const { head } = testRoster;

  it("are rosters that the log had before", async () => {
    const own = buildRosterStatement(head, testKeyId);
    expect(judge(enrolled, await list(own))).toBe("pass");
    expect(judge(enrolled, { ...(await list(own, 5)), logOrigin: "old.example/log" })).toBe("pass");
    expect(judge(enrolled)).toBe("ground_not_logged");
    expect(judge(enrolled, await list(own, 4))).toBe("ground_not_logged");
    expect(judge(enrolled, await list(own, 3, 9)), "signed by another key").toBe("ground_not_logged");
    for (const other of [
      { organization: "0198c0de-0000-7000-8000-000000000002" },
      { root: "ab".repeat(32) },
      { changed_at: "2026-11-20T08:00:00.001Z" },
    ])
      expect(judge(enrolled, await list(buildRosterStatement({ ...head, ...other }, testKeyId)))).toBe(
        "ground_not_logged",
      );
  });

  it("are rules of the organization that were enforced", async () => {
    const ruleset_hash = "ab".repeat(32);
    const decided_by = { kind: "rule" as const, ruleset_hash, policy_ids: ["p"], context_hash: ruleset_hash };
    const ruled = signForTest(buildAuthorization(testRequest, { ...testFacts, approvals: [], decided_by }));
    const version: RulesetVersion = {
      ...{ organization: testRequest.organization, number: 1, previous: null, ruleset_hash, mode: "enforce" },
      ...{ fallback: "ask", changed_at: "2026-11-20T08:00:00.000Z", key_id: testKeyId },
    };
    const judgeBy = async (said: Partial<RulesetVersion>) =>
      judge(ruled, await list(buildRulesetStatement({ ...version, ...said })));
    expect(await judgeBy({})).toBe("pass");
    expect(await judgeBy({ mode: "log_only" })).toBe("ground_not_logged");
    expect(await judgeBy({ mode: "off" })).toBe("ground_not_logged");
    expect(await judgeBy({ organization: "0198c0de-0000-7000-8000-000000000002" })).toBe("ground_not_logged");
    expect(await judgeBy({ ruleset_hash: "cd".repeat(32) })).toBe("ground_not_logged");
    expect(judge(ruled)).toBe("ground_not_logged");
  });

  it("are not known from a list that does not end, and none are needed for a person's World ID", () => {
    const grounds = createGroundList();
    expect(grounds.judge(fault("page_unending", { from: 1 }), trust)).toMatchObject({ status: "fail" });
    expect(grounds.judge([], trust)).toMatchObject({ status: "pass" });
  });
});
