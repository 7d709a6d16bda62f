import { describe, expect, it, vi } from "vitest";
import {
  buildAuthorization,
  type HumanAuthorization,
  type WorldIdApproval,
} from "#lib/protocol/approval/approval";
import { parseHumanAuthorization } from "#lib/protocol/approval/human-authorization-shape";
import type { ShownContent } from "#lib/protocol/approval/shown-content";
import {
  addTestLogEntry,
  makeTestApproval,
  makeTestAuthorization,
  signForTest,
  testFacts,
  testRequest,
  testShown,
  testVerifyOptions,
} from "#support/human-authorization";
import { authorizationCheckNames, verifyHumanAuthorization } from "./verify-human-authorization";

// Most changes leave the inputs of the pairing as they are.
vi.mock("#lib/protocol/world-id/groth16", async (load) => {
  const { rememberIn } = await import("#support/remember");
  return rememberIn(load<typeof import("#lib/protocol/world-id/groth16")>, "verifyGroth16");
});

const authorization = makeTestAuthorization();
const verify = (value: HumanAuthorization, options = testVerifyOptions) =>
  verifyHumanAuthorization(value, options);
const failed = (value: HumanAuthorization) =>
  verify(value)
    .checks.filter((check) => check.status === "fail")
    .map((check) => check.name);

/** Re-signed by the service, so that the named checks and not only the signature must catch it. */
function resign(change: (copy: HumanAuthorization) => void): HumanAuthorization {
  const copy = structuredClone(authorization);
  change(copy);
  return signForTest(copy);
}

describe("verifyHumanAuthorization", () => {
  it("proves an untouched object, by the whole fixed list of checks", () => {
    const report = verify(addTestLogEntry(authorization), { ...testVerifyOptions, shown: testShown });
    expect(report.checks.map((check) => check.name)).toEqual(authorizationCheckNames);
    const notPassed = report.checks.filter(({ status }) => status !== "pass").map(({ name }) => name);
    expect(notPassed).toEqual(["amendment", "quorum", "passkeys", "roster"]);
    expect(report).toMatchObject({
      ok: true,
      grade: "proof_of_personhood",
      grade_text: "Proof of personhood",
    });
    expect(parseHumanAuthorization(authorization)).toBe(authorization);
  });

  it("goes on verifying amounts in currencies that new requests can't have", () => {
    const request = { ...authorization.request, amount: { value: "10.5555", currency: "EUX" } };
    const approvals = [makeTestApproval(request, 21n), makeTestApproval(request, 22n)];
    const old = signForTest(buildAuthorization(request, { ...testFacts, approvals }));
    expect(parseHumanAuthorization(old)).toEqual(old);
    expect(verify(old).ok).toBe(true);
  });

  it("verifies with what the page showed, and with nothing else", () => {
    const check = (shown: ShownContent, value = authorization) => {
      const report = verify(value, { ...testVerifyOptions, shown });
      return [report.ok, report.checks.find(({ name }) => name === "shown_content")?.status];
    };
    expect(check(testShown)).toEqual([true, "pass"]);
    for (const other of [
      { agent_name: "Another agent" },
      { agent_name: null },
      { organization_name: "Another organization" },
      { group_names: ["finance"] },
      { context: { invoice: "2026-115" } },
      { context_salt: "AAAA" },
      { requested_by: null },
      { requested_by: { ...testShown.requested_by, requester: "Somebody else" } },
    ])
      expect(check({ ...testShown, ...other })).toEqual([false, "fail"]);
    expect(verify(authorization).checks.find(({ name }) => name === "shown_content")?.status).toBe(
      "not_applicable",
    );
  });

  it("has version 2 exactly with a field of version 2, whose changes all fail", () => {
    const { details: _none, ...first } = testRequest;
    expect([
      authorization.version,
      buildAuthorization(first, { ...testFacts, approvals: [] }).version,
    ]).toEqual([1, 1]);
    const request = { ...testRequest, details: { complete: true, types: "s" } };
    const approvals = [makeTestApproval(request, 21n), makeTestApproval(request, 22n)];
    const second = signForTest(buildAuthorization(request, { ...testFacts, approvals }));
    expect([second.version, verify(second).ok, parseHumanAuthorization(second)]).toEqual([2, true, second]);
    const change = (mutate: (copy: HumanAuthorization) => void) => {
      const copy = structuredClone(second);
      mutate(copy);
      return signForTest(copy);
    };
    for (const details of [
      { complete: false, types: "s" },
      { complete: true, types: "n" },
      { complete: true, types: "" },
      { complete: true, types: "ss" },
    ]) {
      const changed = change((copy) => (copy.request.details = details));
      expect(failed(changed)).toEqual(["request_hash", "world_action", "signal"]);
      expect(verify({ ...second, request: { ...request, details } }).ok).toBe(false);
    }
    const malformed = [
      change((copy) => (copy.version = 1)),
      change((copy) => delete copy.request.details),
      { ...authorization, version: 2 },
      { ...authorization, version: 3 },
      change((copy) => (copy.request.details = { complete: true, types: "x" })),
      change((copy) => (copy.request.details = { complete: true, types: "s".repeat(33) })),
      change((copy) => set(copy.request.details, "complete", 1)),
      change((copy) => set(copy.request.details, "more", "")),
    ];
    for (const one of malformed) expect(parseHumanAuthorization(one)).toBeNull();
    const statusOf = (shown: ShownContent, types: string) => {
      const typed = change((copy) => (copy.request.details = { complete: true, types }));
      const { checks } = verify(typed, { ...testVerifyOptions, shown });
      return checks.find(({ name }) => name === "shown_content")?.status;
    };
    expect(["s", "-", "n", "b", "ss", ""].map((types) => statusOf(testShown, types))).toEqual([
      "pass",
      "pass",
      "fail",
      "fail",
      "fail",
      "fail",
    ]);
  });

  it("catches by name what even the service's own signature would cover", () => {
    expect(failed(resign((a) => (a.request.action = "Pay 120,000 EUR")))).toEqual([
      "request_hash",
      "world_action",
      "signal",
    ]);
    expect(failed(resign((a) => (a.binding.signal = `0x${"0".repeat(64)}`)))).toEqual(["signal"]);
    expect(failed(resign((a) => (a.binding.world_action = `authz-${"a".repeat(26)}`)))).toEqual([
      "world_action",
      "proofs",
    ]);
    expect(failed(resign((a) => a.approvals.pop()))).toEqual(["approval_count"]);
    expect(failed(resign((a) => (a.approvals = [])))).toEqual(["approval_count", "level"]);
    expect(failed(resign((a) => (a.environment = "staging")))).toEqual(["environment"]);
    expect(failed(resign((a) => (a.usable_until = null)))).toEqual(["usable"]);
    expect(failed(resign((a) => (a.approved_at = "2026-11-21T08:30:00.001Z")))).toEqual(["times", "usable"]);
    expect(failed(resign((a) => set(a.approvals[1], "verified_at", "2026-11-21T07:59:59.999Z")))).toEqual([
      "times",
    ]);
    const tooEarly = Date.parse(authorization.request.created_at) / 1000 - 301;
    expect(failed(resign((a) => set(a.approvals[1], "expires_at_min", tooEarly)))).toEqual([
      "times",
      "proofs",
    ]);
    expect(failed(resign((a) => set(a.approvals[1], "environment", "staging")))).toEqual(["environment"]);
    expect(failed(resign((a) => set(a.approvals[1], "app_id", "app_other")))).toEqual(["environment"]);
    expect(failed(resign((a) => set(a.approvals[1], "nonce", world(a, 0).nonce)))).toEqual(["proofs"]);
    expect(failed(resign((a) => set(world(a, 1).anchor, "root", world(a, 1).nonce)))).toEqual(["anchors"]);
    expect(failed(resign((a) => (a.key_id = "0000000000000000")))).toEqual(["service_signature"]);
  });

  it("counts a human once, also by another proof of the same nullifier or another version", () => {
    const twice = resign(
      (a) => (a.approvals = [makeTestApproval(testRequest, 21n), makeTestApproval(testRequest, 21n)]),
    );
    expect(failed(twice)).toEqual(["distinct_humans"]);
    const mixed = resign((a) => {
      set(a.approvals[1], "protocol_version", "3.0");
      set(a.approvals[1], "proof", `0x${"0".repeat(512)}`);
    });
    expect(failed(mixed)).toEqual(["distinct_humans", "proofs"]);
  });

  it("marks everything outside production as TEST", () => {
    for (const environment of ["staging", "local"]) {
      const test = resign((a) => {
        for (const one of [a, ...a.approvals]) set(one, "environment", environment);
      });
      expect(verify(test)).toMatchObject({
        ok: true,
        grade: "test",
        grade_text: "TEST: nothing about a real person is proven",
      });
    }
  });

  it("takes a log entry of this very approval only, or none", () => {
    const logged = addTestLogEntry(authorization);
    const entry = String(logged.log?.["entry"]);
    const other = addTestLogEntry(resign((a) => (a.approved_at = "2026-11-21T08:06:00.001Z")));
    expect(failed({ ...authorization, ...(other.log && { log: other.log }) })).toEqual(["logged_decision"]);
    const decoded = JSON.parse(atob(entry));
    decoded.spec.signatures[0].signature = `${"A".repeat(86)}==`;
    for (const wrong of [
      {},
      { entry: "" },
      { entry: "AAAA" },
      { entry: 1 },
      { entry: btoa(JSON.stringify(decoded)) },
    ])
      expect(failed({ ...authorization, log: wrong })).toEqual(["logged_decision"]);
    const report = verify(authorization);
    expect(report.ok).toBe(true);
    expect(report.checks.at(-1)).toMatchObject({ name: "logged_decision", status: "not_applicable" });
  });

  it("takes a proof for this request only", () => {
    const other = { ...testRequest, salt: "AAAAAAAAAAAAAAAAAAAAAQ==" };
    const moved = signForTest(
      buildAuthorization(other, { ...testFacts, approvals: authorization.approvals }),
    );
    expect(failed(moved)).toEqual(["proofs"]);
  });
});

function world({ approvals }: HumanAuthorization, index: number): WorldIdApproval {
  const approval = approvals[index];
  if (approval?.type !== "world_id") throw new TypeError("no World ID proof");
  return approval;
}

function set(target: object | undefined, field: string, value: unknown): void {
  if (target === undefined) throw new TypeError("nothing to change");
  Object.assign(target, { [field]: value });
}
