/** `verify.mjs pack`: an evidence pack on this machine, without a network. */

import type { PackFacts } from "#lib/protocol/pack/pack-manifest";
import { listNotProven } from "#lib/protocol/pack/pack-report";
import { single } from "#lib/protocol/text/command-words";
import { formatCount, toVisibleText } from "#lib/protocol/text/display-text";
import { readableTime } from "#lib/protocol/time/time-words";
import { checkPack, explainVerdict, listWarnings, type PackReport } from "#lib/verifier/pack/check-pack";
import { type Arguments, exitCodes, findTrust } from "./arguments";
import { type CommandIo, formatChecks, printJson, showProgress } from "./io";
import { loadCedar } from "./run-replay";

function describeAgent({ agent, period, counts }: PackFacts): string[] {
  return [
    `${agent.slug}, ${readableTime(period.from)} to ${readableTime(period.to)}`,
    `${formatCount(counts.attestations.total, "attestation")}, ${formatCount(counts.decisions.total, "decision")}: ${counts.decisions.approved} approved, ${counts.decisions.denied} denied, ${counts.decisions.revoked} taken back; frozen ${formatCount(counts.decisions.frozen, "time")}`,
    ...counts.warnings.map(({ code, count }) => `Warning: ${code}, ${formatCount(count, "time")}`),
  ];
}

function describe(report: PackReport): string {
  const all = report.agents.map(({ facts }) => facts);
  if (all.length === 0) return "";
  const lines = [
    ...all.flatMap(describeAgent),
    ...listWarnings(report).map((warning) => `Warning: ${warning}`),
    "",
    "It does not prove:",
    ...listNotProven(all).map((sentence) => `- ${sentence}`),
  ];
  return `${lines.map(toVisibleText).join("\n")}\n\n`;
}

/** Keys that come with the pack are its maker's word, unless the reader pins others. */
export async function runPack(args: Arguments, io: CommandIo): Promise<number> {
  const pins = ["keys", "key", "log-vkey", "witness", "tsa-certificates", "world-key"] as const;
  const isPinning = pins.some((name) => args.values[name] !== undefined);
  const pinned = isPinning ? await findTrust(io, args, undefined) : null;
  const note =
    pinned?.note ??
    "Keys: NOT pinned. They came with the pack: compare keys.json with the keys that you know.";
  const folder = single(args, "cedar");
  const file = await io.openFile(args.target);
  const report = await checkPack(file, {
    ...(folder !== undefined && { cedar: await loadCedar(io, folder) }),
    tools: io.zip,
    trust: pinned?.trust ?? null,
    program: await io.readProgram(),
    ...(io.openReaders && { openReaders: io.openReaders }),
    onProgress: showProgress(io),
  }).finally(file.close);
  const { verdict, checks, agents } = report;
  const all = agents.map(({ facts }) => facts);
  if (args.flags.has("json"))
    printJson(io, {
      kind: "pack",
      verdict,
      checks,
      facts: report.facts,
      ...(all.length > 1 && { agents: all }),
      keys: { pinned: pinned?.isPinned ?? false, note },
    });
  else io.print(`${formatChecks(checks)}\n\n${describe(report)}${note}\n\n${explainVerdict(report)}\n`);
  const isWarned = all.some(({ counts }) => counts.warnings.length > 0) || listWarnings(report).length > 0;
  return verdict !== "invalid" && isWarned && args.flags.has("fail-on-warnings") ? 4 : exitCodes[verdict];
}
