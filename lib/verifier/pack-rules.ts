/** What rules said in an evidence pack: by which version, over what, and if the reader has Cedar, evaluated again. */
import type { JsonObject } from "#lib/core/encoding/canonical-json";
import { filesIn, numberedFile } from "#lib/core/pack/pack-files";
import { type PackCheck, packFault, packGap, packPass } from "#lib/core/pack/pack-reasons";
import type { Cedar } from "#lib/core/rules/cedar";
import { checkRecorded, type ReplayedDecision, replayDecision } from "#lib/core/rules/replay";
import type { OpenPack } from "./pack-archive";
import { UnreadableError } from "./read-json";
import { readReplayed, readRulesVersion } from "./run-replay";

interface Ruled {
  file: string;
  /** Where its rules have to be. */
  rules: string;
  decision: ReplayedDecision | null;
  problem: string;
}

function readRuled(file: string, { request, human_authorization, ...json }: JsonObject): Ruled {
  const { rules, status, decided_by } = json as { [name: string]: JsonObject };
  const found = { file, rules: numberedFile("rules", Number(rules?.["version"])) };
  try {
    const whole = { ...(request as JsonObject), status, decided_by, human_authorization, rules };
    return { ...found, decision: readReplayed(whole as JsonObject), problem: "" };
  } catch (error) {
    if (!(error instanceof UnreadableError)) throw error;
    return { ...found, decision: null, problem: error.message };
  }
}

export function createRuledList() {
  const ruled: Ruled[] = [];

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
    /** Every file of the pack, already verified by itself. */
    add: (file: string, json: JsonObject): void => {
      if (file.startsWith("decisions/") && json["rules"] != null) ruled.push(readRuled(file, json));
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
      if (held.length < ruled.length)
        return packGap("rules", "rules_missing", { count: ruled.length - held.length });
      if (ruled.length === 0) return packPass("rules", "nothing that rules were asked about");
      return packPass(
        "rules",
        cedar === null
          ? `${ruled.length} decisions are of these rules and contexts; --cedar evaluates them again`
          : `${ruled.length} decisions evaluated again, and the same came out`,
      );
    },
  };
}
