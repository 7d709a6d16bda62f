/**
 * Verifies rules in an evidence pack: which version was evaluated over which context, and, if the reader has Cedar,
 * evaluates again.
 */
import { parseHumanAuthorization } from "#lib/protocol/approval/human-authorization-shape";
import type { JsonObject } from "#lib/protocol/encoding/canonical-json";
import type { PackEntry } from "#lib/protocol/pack/pack-entries";
import { filesIn, numberedFile } from "#lib/protocol/pack/pack-files";
import { type PackCheck, packFault, packGap, packPass } from "#lib/protocol/pack/pack-reasons";
import type { Cedar } from "#lib/protocol/policy/cedar";
import { checkRecorded, type ReplayedDecision, replayDecision } from "#lib/protocol/policy/replay";
import { countOf } from "#lib/protocol/text/count";
import { UnreadableError } from "#lib/verifier/checks/read-json";
import { readReplayed, readRulesVersion } from "#lib/verifier/cli/run-replay";
import type { OpenPack } from "./archive";

interface Ruled {
  file: string;
  /** Where its rules have to be. */
  rules: string;
  decision: ReplayedDecision | null;
  problem: string;
}

function readRuled(file: string, { request, human_authorization, ...json }: JsonObject): Ruled {
  const { rules, decided_by } = json as { [name: string]: JsonObject };
  const found = { file, rules: numberedFile("rules", Number(rules?.["version"])) };
  try {
    const whole = { ...(request as JsonObject), decided_by, human_authorization, rules };
    return { ...found, decision: readReplayed(whole as JsonObject), problem: "" };
  } catch (error) {
    if (!(error instanceof UnreadableError)) throw error;
    return { ...found, decision: null, problem: error.message };
  }
}

export function createRuledList() {
  const ruled: Ruled[] = [];
  /** Approved by rules that the file doesn't have. */
  let unnamed = 0;
  let withoutContent = 0;

  function judgeOne(
    pack: OpenPack,
    cedar: Cedar | null,
    { file, rules, decision, problem }: Ruled,
  ): string | null {
    if (decision === null) return problem;
    const version = readRulesVersion(pack.readJson(rules));
    const checks =
      cedar === null ? checkRecorded(decision, version) : replayDecision(cedar, decision, version);
    const failed = checks.find(({ status }) => status === "fail");
    return failed === undefined ? null : `${file}: ${failed.name}: ${failed.detail}`;
  }

  return {
    /** Every entry of the pack with its file, already verified by itself. */
    add: ({ file, state, isDecision }: PackEntry, json: JsonObject): void => {
      const object = parseHumanAuthorization(json["human_authorization"]);
      if (json["rules"] != null) ruled.push(readRuled(file, json));
      else if (isDecision && object?.decided_by.kind === "rule") unnamed += 1;
      else if (isDecision && (state === "erased" || state === "withheld")) withoutContent += 1;
    },
    /** `cedar`: of the reader; null: hashes alone are compared. */
    judge: (pack: OpenPack, cedar: Cedar | null): PackCheck => {
      const named = new Set(ruled.map(({ rules }) => rules));
      const foreign = filesIn("rules", pack.names).find((name) => !named.has(name));
      if (foreign !== undefined) return packFault("rules", "file_unknown", { file: foreign });
      const held = ruled.filter(({ rules }) => pack.has(rules));
      for (const one of held) {
        const problem = judgeOne(pack, cedar, one);
        if (problem !== null) return packFault("rules", "rules_mismatch", { problem });
      }
      const missing = unnamed + ruled.length - held.length;
      if (missing > 0) return packGap("rules", "rules_missing", { decisions: countOf(missing, "decision") });
      if (withoutContent > 0)
        return packGap("rules", "rules_content_absent", { decisions: countOf(withoutContent, "decision") });
      if (ruled.length === 0) return packPass("rules", "nothing that rules were asked about");
      return packPass(
        "rules",
        cedar === null
          ? `the rules and contexts are those of ${countOf(ruled.length, "decision")}; --cedar evaluates them again`
          : `${countOf(ruled.length, "decision")} evaluated again, and the same came out`,
      );
    },
  };
}
