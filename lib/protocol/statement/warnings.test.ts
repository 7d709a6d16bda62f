/** Each code appears exactly if its cause does, in a statement that has none of the others. */

import { describe, expect, it } from "vitest";
import type { ApprovalStop } from "#lib/protocol/approval/approval-end";
import { hexEncode, sha256 } from "#lib/protocol/encoding/bytes";
import type { BackedApproval } from "./human-approval";
import { buildToolManifest } from "./identity-checks";
import type { ActionPredicate } from "./statement";
import {
  describeWarning,
  drawWarnings,
  factsOfStatement,
  type WarningCode,
  type WarningFacts,
  warningCodes,
} from "./warnings";

const manifest = buildToolManifest(["fs.read"], null);
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

/** Everything that can be compared was, and fits. */
const good: ActionPredicate = {
  attestation_id: "id",
  timestamp: "2026-11-21T03:04:05.678Z",
  key_id: "key",
  organization: "organization",
  is_public: true,
  salt: "salt",
  record: { agent_id: "019a0000-0000-7000-8000-000000000003", sequence: 1, previous: "00".repeat(32) },
  request: { agent_slug: "bot", action: "a", inputs_hash: "b", code_hash: "c", tools_used: ["fs.read"] },
  agent_signature: "signature",
  registered: {
    agent_public_key: "agent's key",
    code_hash: "c",
    tool_manifest_hash: hexEncode(sha256(manifest)),
  },
  verdicts: { agent_authenticated: true, code_hash_verified: true, tools_authorized: true },
  human_approval: proven,
};

const facts = (change: Partial<ActionPredicate> = {}) => factsOfStatement({ ...good, ...change }, manifest);
const verdicts = (change: object) => facts({ verdicts: { ...good.verdicts, ...change } });

/** Keyed by code: facts in which its cause is there, and nothing else. */
const causes: Record<WarningCode, WarningFacts[]> = {
  agent_signature_invalid: [verdicts({ agent_authenticated: false })],
  code_hash_mismatch: [verdicts({ code_hash_verified: false })],
  tools_not_registered: [verdicts({ tools_authorized: false })],
  client_gap: [verdicts({ client_gap: true })],
  agent_frozen: [facts({ agent_frozen_at: "2026-11-24T12:00:00.000Z" })],
  approval_stopped: [
    facts({ approval_stopped: { reason: "grant_revoked", claimed_at: "2026-11-24T12:00:00.000Z" } }),
  ],
  approval_asserted_only: [facts({ human_approval: { method: "hash", approver_hash: null } })],
  approval_test: ["local", "staging", "made up"].map((environment) =>
    facts({ human_approval: { ...proven, environment } }),
  ),
  reported_by_trace: [facts({ trace: { signal: "log", trace_id: null, span_id: null } })],
  signing_key_revoked: [{ ...facts(), isSigningKeyRevoked: true }],
  zk_key_revoked: [{ ...facts(), isZkKeyRevoked: true }],
  content_erased: [{ isErased: true }],
};

const codes = (of: WarningFacts) => drawWarnings(of).map(({ code }) => code);

describe("warnings", () => {
  it("are none where everything fits, and none for what is absent", () => {
    expect(codes(facts())).toEqual([]);
    const verdictsNull = { agent_authenticated: null, code_hash_verified: null, tools_authorized: null };
    expect(codes(facts({ verdicts: verdictsNull, human_approval: { method: "none" } }))).toEqual([]);
    expect(codes(verdicts({ client_gap: false }))).toEqual([]);
    expect(codes({})).toEqual([]);
  });

  it.each(warningCodes)("%s appears with its cause, and alone", (code) => {
    expect(causes[code].length).toBeGreaterThan(0);
    for (const cause of causes[code]) expect(codes(cause)).toEqual([code]);
  });

  it("speak of no person where nobody was asked", () => {
    const messageOf = (method: "rule" | "standing_approval" | "proof_of_personhood") =>
      drawWarnings(facts({ human_approval: { ...proven, method, environment: "local" } }))[0]?.message;
    for (const method of ["rule", "standing_approval"] as const)
      expect(messageOf(method)).toBe("It was decided on a TEST instance. Nobody was asked.");
    expect(messageOf("proof_of_personhood")).toContain("no real person is proven");
  });

  it("add up, in one order", () => {
    const change = {
      verdicts: { agent_authenticated: false, code_hash_verified: false, tools_authorized: false },
      human_approval: { ...proven, environment: "local" },
    };
    expect(codes({ ...facts(change), isSigningKeyRevoked: true })).toEqual([
      "agent_signature_invalid",
      "code_hash_mismatch",
      "tools_not_registered",
      "approval_test",
      "signing_key_revoked",
    ]);
  });

  it("name the stop that an approval was used after", () => {
    const stop = (reason: ApprovalStop["reason"]) =>
      drawWarnings(facts({ approval_stopped: { reason, claimed_at: "2026-11-24T12:00:00.000Z" } }))[0]
        ?.message;
    expect(stop("grant_revoked")).toBe(
      "After a run had claimed the approval, and before this was recorded, its standing approval was taken back.",
    );
    expect(stop("rule_forbids")).toContain("the organization's rules forbade it");
    expect(describeWarning("approval_stopped").message).not.toContain("rules");
  });

  it("name the tools that are not registered, each once, and only from the registered manifest", () => {
    const request = { ...good.request, tools_used: ["fs.read", "shell.exec", "net.send", "shell.exec"] };
    const change = { request, verdicts: { ...good.verdicts, tools_authorized: false } };
    const [named] = drawWarnings(facts(change));
    expect(named?.message).toBe(
      "Tools were used that are not in the registered manifest: shell.exec, net.send.",
    );
    const constant = describeWarning("tools_not_registered");
    for (const other of [null, buildToolManifest(["shell.exec"], null)])
      expect(drawWarnings(factsOfStatement({ ...good, ...change }, other))).toEqual([constant]);
    expect(constant.message).not.toContain("shell.exec");
  });
});
