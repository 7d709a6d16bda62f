/** A pack's suggested rules: each derivation is the one in the log, and follows from the decisions that the pack has. */
import { describe, expect, it } from "vitest";
import type { ApprovalRequest } from "#lib/protocol/approval/approval";
import type { JsonObject } from "#lib/protocol/encoding/canonical-json";
import type { PackEntry } from "#lib/protocol/pack/pack-entries";
import { rulesetHash } from "#lib/protocol/policy/rule-context";
import { type Derivation, derivationHash, suggestRules } from "#lib/protocol/policy/suggest";
import { testRequest } from "#support/human-authorization";
import { describeRules, judgeDerived, readPast } from "./ruled";

/** A decision's file, of people, with what rules saw. */
function decision(n: number, outcome: "approved" | "denied" = "approved"): [PackEntry, JsonObject] {
  const {
    amount: _amount,
    inputs_hash: _inputs,
    grant: _grant,
    ...request
  }: ApprovalRequest = {
    ...testRequest,
    request_id: `areq_${n}`,
    created_at: `2026-11-0${1 + (n % 3)}T09:00:00.000Z`,
  };
  const rules = { reason: "nothing_permits", context: { context: { customer: "Example Ltd" } } };
  const entry = { isDecision: true, decision: outcome, isTest: false } as PackEntry;
  return [entry, { request, rules, decided_by: { kind: "people" } } as unknown as JsonObject];
}

const files = [1, 2, 3, 4, 5].map((n) => decision(n));
const past = files.flatMap((file) => readPast(...file) ?? []);
const [suggested] = suggestRules(past);
const rules = { text: suggested?.text ?? "", fallback: "ask" };
const derivation: Derivation = {
  ...{ version: 1, policy_id: suggested?.policyId ?? "", bounds: suggested?.bounds as Derivation["bounds"] },
  ...{ from: "2026-11-01T00:00:00.000Z", to: "2026-12-01T00:00:00.000Z", approvals: 5, days: 2 },
  ...{ requests: suggested?.covers ?? [], salt: "AAAAAAAAAAAAAAAAAAAAAA==" },
};
const logged = new Set([`${rulesetHash(rules.text)} ${derivationHash(derivation)}`]);
const judge = (json: object = derivation, all = past) =>
  judgeDerived([describeRules("rules/1", { ...rules, derivation: json } as JsonObject, logged)], all);

describe("suggested rules in a pack", () => {
  it("follow from the decisions, which count only if people made them and their content is there", () => {
    expect(past).toHaveLength(5);
    expect(judge()).toMatchObject({ name: "derivations", status: "pass" });
    const [entry, json] = files[0] as [PackEntry, JsonObject];
    expect(readPast(entry, { ...json, rules: null })).toBeNull();
    expect(readPast(entry, { ...json, decided_by: { kind: "rule" } })).toBeNull();
    const amended = { ...(json["request"] as JsonObject), amends: { fields: ["amount"] } };
    expect(readPast(entry, { ...json, request: amended }), "what an approver changed").toBeNull();
    expect(readPast({ ...entry, isDecision: false }, json)).toBeNull();
    expect(readPast({ ...entry, decision: "cancelled" }, json)).toBeNull();
  });

  it("are open if a decision that they name isn't in the pack", () => {
    expect(judge(derivation, past.slice(1))).toMatchObject({
      status: "not_applicable",
      reason: "derivation_content_absent",
    });
  });

  it("are refused if the log has another derivation, or it is none", () => {
    for (const other of [
      { ...derivation, salt: "BAAAAAAAAAAAAAAAAAAAAA==" },
      { ...derivation, more: 1 },
      { ...derivation, bounds: { ...derivation.bounds, hours: null } },
    ])
      expect(judge(other).reason).toBe("derivation_not_logged");
  });

  it("are refused if they would have let a refusal through", () => {
    const refused = readPast(...decision(6, "denied"));
    expect(judge(derivation, [...past, ...(refused ? [refused] : [])])).toMatchObject({
      reason: "derivation_refused",
      detail: expect.stringContaining("what was refused"),
    });
  });
});
