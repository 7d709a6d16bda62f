import { describe, expect, it } from "vitest";
import type { VerifyResponse } from "#lib/api/schemas/receipts";
import { pass, skip } from "#lib/protocol/statement/outcome";
import { describeWarning } from "#lib/protocol/statement/warnings";
import type { VerifierCheck, VerifierReport } from "#lib/verifier/report/report";
import { browserStatus, compareWithServer, toClaims } from "./compare";
import type { Verification } from "./facts";

const names = ["payload_hash", "signature", "log_inclusion", "zk_proof"] as const;

function makeAnswer(changes: object = {}): VerifyResponse {
  return {
    valid: true,
    status: "recorded",
    erased_at: null,
    attestation_id: "id",
    agent_slug: "bot",
    action: "Paid 100 EUR",
    inputs_hash: "abc",
    timestamp: "2026-11-21T03:04:05.678Z",
    payload_hash: "aa",
    payload: "{}",
    key_id: "key",
    is_public: true,
    human_approved: false,
    human_approval: { method: "none" },
    agent_authenticated: null,
    code_hash_verified: null,
    tools_authorized: null,
    warnings: [],
    checks: names.map((name) => ({ name, status: "pass", detail: "" })),
    ...changes,
  } as unknown as VerifyResponse;
}

function makeReport(
  verdict: VerifierReport["verdict"],
  changes: Partial<VerifierReport> = {},
): VerifierReport {
  const checks = names.map((name) => ({ name, ...pass("") }));
  const report = {
    kind: "attestation",
    verdict,
    checks,
    missing: [],
    disclosed: [],
    warnings: [],
    statedWarnings: [],
    isTest: false,
    ...changes,
  };
  return report as unknown as VerifierReport;
}

function makePage(answer: VerifyResponse, changes: Partial<Verification> = {}) {
  return toClaims({ answer, keyStatus: "active", isTest: false, approvalMethod: null, ...changes });
}

const hiddenContent = { action: null, inputs_hash: null, payload: null, human_approval: null };
const hidden = makeAnswer({ ...hiddenContent, is_public: false });
const erased = makeAnswer({ ...hiddenContent, valid: null, status: "erased", timestamp: null });
const missing = ["payload_hash", "signature"];
const withoutContent: VerifierCheck[] = names.map((name) =>
  missing.includes(name) ? { name, ...skip("payload_private") } : { name, ...pass("") },
);
const incomplete = makeReport("incomplete", { missing, checks: withoutContent });

describe("this server against this browser", () => {
  it("finds nothing where all agree", () => {
    const answer = makeAnswer();
    expect(compareWithServer(makePage(answer), answer, makeReport("valid"))).toEqual([]);
    expect(compareWithServer(makePage(hidden), hidden, incomplete)).toEqual([]);
    const bad = makeAnswer({ valid: false });
    expect(compareWithServer(makePage(bad), bad, makeReport("invalid"))).toEqual([]);
    expect(compareWithServer(makePage(erased), erased, makeReport("erased"))).toEqual([]);
    const test = { human_approved: true, human_approval: null };
    const privateTest = makeAnswer({ ...hidden, ...test });
    expect(compareWithServer(makePage(privateTest, { isTest: true }), privateTest, incomplete)).toEqual([]);
  });

  it("catches a server that says valid over bytes that are not, and the reverse", () => {
    const answer = makeAnswer();
    const bad = makeAnswer({ valid: false });
    expect(compareWithServer(makePage(answer), answer, makeReport("invalid"))).toHaveLength(1);
    expect(compareWithServer(makePage(bad), bad, makeReport("valid"))).not.toEqual([]);
    expect(compareWithServer(makePage(erased), erased, makeReport("invalid"))).toHaveLength(1);
  });

  it("catches a server that says two things", () => {
    const page = makePage(makeAnswer());
    for (const change of [
      { valid: false },
      { payload_hash: "bb" },
      { action: "Paid 900 EUR" },
      { human_approved: true },
      { human_approval: { method: "hash", approver_hash: null } },
      { checks: makeAnswer().checks.map((check) => ({ ...check, status: "not_applicable" })) },
    ])
      expect(
        compareWithServer(page, makeAnswer(change), makeReport("valid")),
        JSON.stringify(change),
      ).not.toEqual([]);
  });

  it("catches a server that gives another reason than the browser finds, or withholds it of a public record", () => {
    const checksWith = (outcome: object) => [{ name: "zk_proof", ...outcome }];
    const judge = (server: object, browser: VerifierCheck, changes: object = {}) => {
      const answer = makeAnswer({ ...changes, checks: checksWith(server) });
      const verdict = answer.is_public ? "valid" : "incomplete";
      return compareWithServer(makePage(answer), answer, makeReport(verdict, { checks: [browser] }));
    };
    const own: VerifierCheck = { name: "zk_proof", ...skip("zk_not_enabled") };
    expect(judge(skip("zk_not_enabled"), own)).toEqual([]);
    expect(judge(skip("zk_proof_not_shown"), own)).toEqual(["Different reasons: Zero-knowledge proof."]);
    expect(judge(skip("owner_only"), own)).toEqual(["Different reasons: Zero-knowledge proof."]);
    expect(judge(skip("owner_only"), own, { ...hiddenContent, is_public: false })).toEqual([]);
    const page = makePage(makeAnswer({ checks: checksWith(skip("zk_not_enabled")) }));
    const answer = makeAnswer({ checks: checksWith(skip("zk_proof_not_shown")) });
    expect(compareWithServer(page, answer, makeReport("valid", { checks: [own] }))).toEqual([
      "This server's page and API report different check results.",
    ]);
  });

  it("catches an answer that hides what the page shows", () => {
    const page = makePage(makeAnswer());
    expect(compareWithServer(page, hidden, incomplete)).not.toEqual([]);
    expect(compareWithServer(page, { ...erased, valid: true }, makeReport("erased"))).not.toEqual([]);
    const noProof = makeReport("incomplete", { missing: ["zk_proof"] });
    expect(compareWithServer(page, makeAnswer(), noProof)).not.toEqual([]);
    expect(
      compareWithServer(makePage(hidden), hidden, makeReport("incomplete", { missing: ["log_inclusion"] })),
    ).toEqual(["Your browser wasn't given what it needs for: Log inclusion."]);
  });

  it("takes no other document for the attestation", () => {
    const answer = makeAnswer();
    const report = makeReport("valid", { kind: "human_authorization" });
    expect(compareWithServer(makePage(answer), answer, report)).not.toEqual([]);
    expect(compareWithServer(makePage(answer), {}, makeReport("valid"))).toHaveLength(1);
    expect(compareWithServer(makePage(answer), null, makeReport("valid"))).toHaveLength(1);
  });

  it("words the grade of the approval by itself", () => {
    const approval = {
      method: "proof_of_personhood",
      level: "orb",
      environment: "local",
      nullifier_hashes: ["0x1"],
    };
    const answer = makeAnswer({ human_approved: true, human_approval: approval });
    const report = makeReport("valid", { isTest: true });
    expect(compareWithServer(makePage(answer, { isTest: true }), answer, report)).toEqual([]);
    expect(compareWithServer(makePage(answer), answer, report)).toEqual([
      expect.stringMatching(/^Your browser would say: Authentic record \(TEST approval\)/),
      expect.stringMatching(/^Your browser would say: Agent not proven .*TEST approval, not a real person/),
    ]);
  });

  it("catches findings about agent and approval that are not those of the signed bytes", () => {
    const payload = JSON.stringify({ predicate: { registered: { agent_public_key: "AAAA" } } });
    const answer = makeAnswer({ payload, agent_authenticated: null });
    const page = makePage(answer);
    expect(compareWithServer(page, answer, makeReport("valid"))).toEqual([]);
    const lie = { ...page, findings: page.findings.replace("but did not sign", "and signed") };
    expect(lie.findings).not.toBe(page.findings);
    expect(compareWithServer(lie, answer, makeReport("valid"))).toEqual([
      expect.stringContaining("This agent has a key but did not sign this report"),
    ]);
  });

  it("catches another amount, decision or time than that of the approval", () => {
    const request = (value: string) => ({ amount: { value, currency: "EUR" }, grant: null });
    const approved = (value: string, policyId: string) =>
      makeAnswer({
        human_approval: { method: "rule", level: "none", environment: "production" },
        human_authorization: {
          request: request(value),
          decided_by: { kind: "rule", policy_ids: [policyId] },
          environment: "production",
          approved_at: "2026-11-21T03:04:04.000Z",
        },
      });
    const answer = approved("12000.5", "small");
    expect(compareWithServer(makePage(answer), answer, makeReport("valid"))).toEqual([]);
    for (const page of [approved("12.5", "small"), approved("12000.5", "large")])
      expect(compareWithServer(makePage(page), answer, makeReport("valid"))).toContainEqual(
        expect.stringMatching(/^Your browser reads: Amount: 12,000\.50 EUR; .*Rule small allowed it/),
      );
  });

  it("catches a server that leaves out a warning, in the page or in the answer, or makes one up", () => {
    const tools = [describeWarning("tools_not_registered")];
    const answer = makeAnswer({ warnings: tools });
    const report = makeReport("valid", { warnings: tools });
    expect(compareWithServer(makePage(answer), answer, report)).toEqual([]);
    expect(compareWithServer(makePage(makeAnswer()), answer, report)).not.toEqual([]);
    expect(compareWithServer(makePage(answer), makeAnswer(), report)).not.toEqual([]);
    expect(compareWithServer(makePage(makeAnswer()), makeAnswer(), report)).not.toEqual([]);
    expect(compareWithServer(makePage(answer), answer, makeReport("valid"))).not.toEqual([]);
    const other = makeAnswer({ warnings: [describeWarning("code_hash_mismatch")] });
    expect(compareWithServer(makePage(other), other, report)).toContain(
      "Your browser's warnings: tools_not_registered. This page's: code_hash_mismatch.",
    );
  });

  it("takes a server's word for a warning only of what is hidden", () => {
    const warnings = [describeWarning("approval_asserted_only")];
    const answer = makeAnswer({ ...hidden, human_approved: true, warnings });
    const report = makeReport("incomplete", {
      missing,
      checks: withoutContent,
      statedWarnings: ["approval_asserted_only"],
    });
    const page = makePage(answer, { approvalMethod: "hash" });
    expect(compareWithServer(page, answer, report)).toEqual([]);
    expect(compareWithServer(page, answer, { ...report, statedWarnings: [] })).not.toEqual([]);
  });

  it("does not say that a check without its bytes does not apply", () => {
    const check = [{ name: "signature", ...skip("payload_private") }];
    const status = (verdict: VerifierReport["verdict"], name = "signature") =>
      browserStatus(makeReport(verdict, { checks: check, missing: ["signature"] }), name).status;
    expect(status("incomplete")).toBe("unavailable");
    expect(status("erased")).toBe("not_applicable");
    expect(status("valid", "no such check")).toBe("unavailable");
  });
});
