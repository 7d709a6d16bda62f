/**
 * Verifies rules in an evidence pack: which version was evaluated over which context, and, if the reader has Cedar,
 * evaluates again.
 */
import { parseHumanAuthorization } from "#lib/protocol/approval/human-authorization-shape";
import type { JsonObject } from "#lib/protocol/encoding/canonical-json";
import type { PackEntry } from "#lib/protocol/pack/pack-entries";
import { filesIn, numberedFile } from "#lib/protocol/pack/pack-manifest";
import { type PackCheck, packFault, packGap, packPass } from "#lib/protocol/pack/pack-reasons";
import type { Cedar } from "#lib/protocol/policy/cedar";
import { checkRecorded, type ReplayedDecision, replayDecision } from "#lib/protocol/policy/replay";
import { formatCount } from "#lib/protocol/text/display-text";
import { UnreadableError } from "#lib/verifier/checks/evidence";
import { readReplayed, readRulesVersion } from "#lib/verifier/cli/run-replay";
import type { OpenPack } from "./archive";

interface Ruled {
  file: string;
  rules: string;
  decision: ReplayedDecision | null;
  problem: string;
}

function readOne(file: string, { request, human_authorization, ...json }: JsonObject): Ruled {
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

/** Of an entry: what rules were evaluated over, or that the file doesn't show it. */
export type RuledFacts = Ruled | "unnamed" | "without_content" | null;

export function readRuled({ file, state, isDecision }: PackEntry, json: JsonObject): RuledFacts {
  if (json["rules"] != null) return readOne(file, json);
  if (!isDecision) return null;
  if (parseHumanAuthorization(json["human_authorization"])?.decided_by.kind === "rule") return "unnamed";
  return state === "erased" || state === "withheld" ? "without_content" : null;
}

export function createRuledList() {
  const ruled: Ruled[] = [];
  /** Approved by rules that the file doesn't have. */
  let unnamed = 0;
  let withoutContent = 0;

  async function judgeOne(
    pack: OpenPack,
    cedar: Cedar | null,
    { file, rules, decision, problem }: Ruled,
  ): Promise<string | null> {
    if (decision === null) return problem;
    const version = readRulesVersion(await pack.readJson(rules));
    const checks =
      cedar === null ? checkRecorded(decision, version) : replayDecision(cedar, decision, version);
    const failed = checks.find(({ status }) => status === "fail");
    return failed === undefined ? null : `${file}: ${failed.name}: ${failed.detail}`;
  }

  return {
    add: (facts: RuledFacts): void => {
      if (facts === "unnamed") unnamed += 1;
      else if (facts === "without_content") withoutContent += 1;
      else if (facts !== null) ruled.push(facts);
    },
    /** `cedar`: of the reader; null: hashes alone are compared. */
    judge: async (pack: OpenPack, cedar: Cedar | null): Promise<PackCheck> => {
      const named = new Set(ruled.map(({ rules }) => rules));
      const foreign = filesIn("rules", pack.names).find((name) => !named.has(name));
      if (foreign !== undefined) return packFault("rules", "file_unknown", { file: foreign });
      const held = ruled.filter(({ rules }) => pack.has(rules));
      for (const one of held) {
        const problem = await judgeOne(pack, cedar, one);
        if (problem !== null) return packFault("rules", "rules_mismatch", { problem });
      }
      const missing = unnamed + ruled.length - held.length;
      if (missing > 0)
        return packGap("rules", "rules_missing", { decisions: formatCount(missing, "decision") });
      if (withoutContent > 0)
        return packGap("rules", "rules_content_absent", {
          decisions: formatCount(withoutContent, "decision"),
        });
      if (ruled.length === 0) return packPass("rules", "nothing that rules were asked about");
      return packPass(
        "rules",
        cedar === null
          ? `the rules and contexts are those of ${formatCount(ruled.length, "decision")}; --cedar evaluates them again`
          : `${formatCount(ruled.length, "decision")} evaluated again, and the same came out`,
      );
    },
  };
}
