/** `verify.mjs pack`: an evidence pack on this machine, without a network. */

import { listNotProven } from "#lib/protocol/pack/pack-report";
import { single } from "#lib/protocol/text/command-words";
import { formatCount, toVisibleText } from "#lib/protocol/text/display-text";
import { readableTime } from "#lib/protocol/time/time-words";
import { checkPack, type PackReport } from "#lib/verifier/pack/check-pack";
import { type Arguments, exitCodes, findTrust } from "./arguments";
import { type CommandIo, formatChecks, printJson, showProgress } from "./io";
import { loadCedar } from "./run-replay";

const sentences: Record<PackReport["verdict"], string> = {
  valid: "The pack holds: it says what its receipts say, and nothing of its period is missing.",
  invalid: "The pack does NOT hold: a check failed, so do not rely on anything in it.",
  incomplete: "Nothing failed, but the pack does not carry everything that the checks read.",
};
const uncounted =
  "Nothing failed, but the end of the period is not counted: entries of it may be missing from the pack.";

const writeSentence = ({ verdict, checks }: PackReport) =>
  checks.some(({ reason }) => reason === "period_not_counted") && verdict === "incomplete"
    ? uncounted
    : sentences[verdict];

const listWarnings = ({ checks }: PackReport) => checks.flatMap((check) => check.warnings ?? []);

function describe(report: PackReport): string {
  const { facts } = report;
  if (facts === null) return "";
  const { agent, period, counts } = facts;
  const warnings = [
    ...counts.warnings.map(({ code, count }) => `Warning: ${code}, ${formatCount(count, "time")}`),
    ...listWarnings(report).map((warning) => `Warning: ${warning}`),
  ];
  const lines = [
    `${agent.slug}, ${readableTime(period.from)} to ${readableTime(period.to)}`,
    `${formatCount(counts.attestations.total, "attestation")}, ${formatCount(counts.decisions.total, "decision")}: ${counts.decisions.approved} approved, ${counts.decisions.denied} denied, ${counts.decisions.revoked} taken back; frozen ${formatCount(counts.decisions.frozen, "time")}`,
    ...warnings,
    "",
    "It does not prove:",
    ...listNotProven(facts).map((sentence) => `- ${sentence}`),
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
  const report = await checkPack(await io.readFile(args.target), {
    ...(folder !== undefined && { cedar: await loadCedar(io, folder) }),
    tools: io.zip,
    trust: pinned?.trust ?? null,
    program: await io.readProgram(),
    onProgress: showProgress(io),
  });
  const { verdict, checks, facts } = report;
  if (args.flags.has("json"))
    printJson(io, {
      kind: "pack",
      verdict,
      checks,
      facts,
      keys: { pinned: pinned?.isPinned ?? false, note },
    });
  else io.print(`${formatChecks(checks)}\n\n${describe(report)}${note}\n\n${writeSentence(report)}\n`);
  const isWarned = facts !== null && facts.counts.warnings.length + listWarnings(report).length > 0;
  return verdict !== "invalid" && isWarned && args.flags.has("fail-on-warnings") ? 4 : exitCodes[verdict];
}
