/** Anchors read again from a node that answers as World's contracts do. */
import { describe, expect, it } from "vitest";
import { type Anchor, assembleAuthorization, isWorldIdApproval } from "#lib/protocol/approval/approval";
import type { JsonObject } from "#lib/protocol/encoding/canonical-json";
import { wordHex } from "#lib/protocol/world-id/world-id-proof";
import { callNode } from "#lib/verifier/cli/io";
import type { VerifierReport } from "#lib/verifier/report/report";
import { makeTestAuthorization } from "#support/human-authorization";
import { contracts, manager, registry, stubNode, v4Contracts } from "#support/world-chain";
import { addAnchorCheck } from "./check-anchors";

const before = {
  kind: "human_authorization",
  verdict: "valid",
  checks: [],
  missing: [],
  warnings: [],
  statedWarnings: [],
  authorization: { grade: "orb" },
  madeAfter: { timeMs: 0, by: ["witness"] },
  madeBefore: { timeMs: 1, by: ["witness"] },
  claimed: null,
} as unknown;
const place = { chain_id: 480, block_number: 16, block_hash: wordHex(77n), root: wordHex(1000n) };
const keys: Partial<Anchor> = {
  issuer_public_key: [wordHex(3n), wordHex(4n)],
  oprf_public_key: [wordHex(5n), wordHex(6n)],
};

async function check(version: "3.0" | "4.0", change: Partial<Anchor>, overrides = {}, world: object = {}) {
  const base = makeTestAuthorization();
  const approval = base.approvals.filter(isWorldIdApproval).find(({ protocol_version: is }) => is === "4.0");
  if (approval === undefined) throw new Error("the test authorization has no v4 approval");
  const common = { ...approval, rp_id: "rp_00000000000000ff", merkle_root: wordHex(1000n) };
  const { proof: _p, issuer_schema_id: _i, expires_at_min: _e, ...rest } = common as never as JsonObject;
  const isV4 = version === "4.0";
  const anchor = { ...place, registry: isV4 ? registry : manager, ...(isV4 && keys), ...change };
  const v3Only = { protocol_version: "3.0", level: "orb", proof: `0x${"00".repeat(256)}` };
  const made = { ...(isV4 ? { ...common, issuer_schema_id: 1 } : { ...rest, ...v3Only }), anchor, ...world };
  const object = assembleAuthorization({ ...base, approvals: [made as never] }, base.signature);
  const node = stubNode({ ...contracts, ...v4Contracts }, overrides);
  const report = await addAnchorCheck(
    before as VerifierReport,
    { kind: "human_authorization", object: object as unknown as JsonObject },
    callNode({ fetch: node.send }, "http://rpc.test"),
  );
  const isShown = [report.authorization, report.madeAfter, report.madeBefore].every((one) => one !== null);
  expect(isShown).toBe(report.verdict !== "invalid");
  return { verdict: report.verdict, status: report.checks[0]?.status, detail: report.checks[0]?.detail };
}

describe.each(["3.0", "4.0"] as const)("an anchor of v%s", (version) => {
  it("passes where the contracts say the same", async () => {
    expect(await check(version, {})).toMatchObject({ verdict: "valid", status: "pass" });
  });

  it.each([
    { block_hash: wordHex(78n) },
    { chain_id: 1 },
    { root: wordHex(999n) },
    { registry: `0x${"1".repeat(40)}` },
    { oprf_public_key: [wordHex(5n), wordHex(7n)] as [string, string] },
  ])("fails for another %o", async (change) => {
    expect(await check(version, change)).toMatchObject({ verdict: "invalid", status: "fail" });
  });

  it("fails for a proof over a root that World never had", async () => {
    const result = await check(version, {}, {}, { merkle_root: wordHex(5n) });
    expect(result).toMatchObject({ verdict: "invalid", status: "fail" });
  });

  it.each([
    { eth_call: { error: { code: -32_000, message: "missing trie node" } } },
    { eth_chainId: { result: "0x1" } },
    { eth_getBlockByNumber: { result: null } },
  ])("is incomplete, in words, where the node answers %o", async (overrides) => {
    const result = await check(version, {}, overrides);
    expect(result).toMatchObject({ verdict: "incomplete", status: "not_applicable" });
    expect(result.detail).toContain("World Chain");
  });
});
