/** `anchors_on_chain`: did World's contracts know each approval's root (v4: and keys) at the block that it names? */
import { type Anchor, isWorldIdApproval, type WorldIdApproval } from "#lib/protocol/approval/approval";
import { parseHumanAuthorization } from "#lib/protocol/approval/human-authorization-shape";
import { bytesEqual } from "#lib/protocol/encoding/bytes";
import { canonicalBytes, type JsonObject } from "#lib/protocol/encoding/canonical-json";
import { fail, type Outcome, pass, skip } from "#lib/protocol/statement/outcome";
import {
  anchorOrbV3,
  anchorV4,
  type WorldChainCall,
  WorldChainError,
} from "#lib/protocol/world-id/world-chain-calls";
import type { Verdict, VerifierReport } from "#lib/verifier/report/report";
import type { Evidence } from "./evidence";
import { nothingProven } from "./verify-evidence";

const name = "anchors_on_chain";
type Anchored = WorldIdApproval & { anchor: Anchor };

export async function addAnchorCheck(
  report: VerifierReport,
  evidence: Evidence,
  call: WorldChainCall | undefined,
): Promise<VerifierReport> {
  const anchored = findAnchored(evidence);
  if (anchored.length === 0 && call === undefined) return report;
  const check = { name, ...(await checkAnchors(anchored, call)) };
  const isUnanswered = call !== undefined && anchored.length > 0 && check.status === "not_applicable";
  const whole: Verdict = isUnanswered && report.verdict === "valid" ? "incomplete" : report.verdict;
  const verdict: Verdict = check.status === "fail" ? "invalid" : whole;
  return {
    ...report,
    verdict,
    checks: [...report.checks, check],
    missing: isUnanswered ? [...report.missing, name] : report.missing,
    ...(verdict === "invalid" && nothingProven),
    disagrees: report.claimed !== null && report.claimed !== (verdict !== "invalid"),
  };
}

function findAnchored(evidence: Evidence): Anchored[] {
  let object: JsonObject | null | "absent" = null;
  if (evidence.kind === "human_authorization") object = evidence.object;
  else if ("receipt" in evidence) object = evidence.receipt.humanAuthorization;
  const approvals = parseHumanAuthorization(object)?.approvals ?? [];
  return approvals
    .filter(isWorldIdApproval)
    .filter((approval): approval is Anchored => approval.anchor !== undefined);
}

async function checkAnchors(
  anchored: readonly Anchored[],
  call: WorldChainCall | undefined,
): Promise<Outcome> {
  if (anchored.length === 0) return skip("anchor_absent");
  if (call === undefined) return skip("not_requested", { option: "--world-chain-rpc" });
  let unanswered: string | undefined;
  for (const approval of anchored) {
    try {
      const mismatch = await findMismatch(approval, call);
      if (mismatch !== null) return mismatch;
    } catch (error) {
      if (!(error instanceof WorldChainError)) throw error;
      unanswered = error.message;
    }
  }
  if (unanswered !== undefined) return skip("chain_unreachable", { problem: unanswered });
  return pass(`World's contracts say so at the block of ${anchored.length} approval(s)`);
}

/** The registry is found from World's published addresses, never believed from the file. */
async function findMismatch(approval: Anchored, call: WorldChainCall): Promise<Outcome<"fail"> | null> {
  const { anchor } = approval;
  const verdict =
    approval.protocol_version === "3.0"
      ? await anchorOrbV3(call, approval, anchor.block_number)
      : await anchorV4(call, approval, anchor.block_number);
  if (verdict.status === "not_on_chain")
    return fail("not_on_chain", { block: anchor.block_number, problem: verdict.detail });
  const onChain = { ...verdict.anchor } as unknown as JsonObject;
  const stated = { ...anchor } as unknown as JsonObject;
  const differs = [...new Set([...Object.keys(onChain), ...Object.keys(stated)])].filter((key) => {
    const [a, b] = [onChain[key], stated[key]];
    return a === undefined || b === undefined || !bytesEqual(canonicalBytes([a]), canonicalBytes([b]));
  });
  return differs.length === 0 ? null : fail("anchor_differs", { field: differs.join(", ") });
}
