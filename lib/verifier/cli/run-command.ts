/** The command line without its process: arguments → exit code. */

import type { PackFacts } from "#lib/protocol/pack/pack-manifest";
import { listNotProven } from "#lib/protocol/pack/pack-report";
import { describeDecisionCounts } from "#lib/protocol/pack/pack-rows";
import { single, UsageError } from "#lib/protocol/text/command-words";
import { formatCount, toVisibleText } from "#lib/protocol/text/display-text";
import { readableTime } from "#lib/protocol/time/time-words";
import { addAnchorCheck } from "#lib/verifier/checks/check-anchors";
import { checkWholeLog, holds } from "#lib/verifier/checks/check-log";
import { parseEvidence } from "#lib/verifier/checks/evidence";
import { type Expectation, verifyEvidence } from "#lib/verifier/checks/verify-evidence";
import { checkPack, explainVerdict, listWarnings, type PackReport } from "#lib/verifier/pack/check-pack";
import { wordsFor } from "#lib/verifier/report/report";
import {
  type Arguments,
  decode,
  exitCodes,
  findLogTrust,
  findTrust,
  parseArguments,
  readDeadline,
  readSource,
  trimBase,
  usage,
  verifierProgram,
} from "./arguments";
import {
  type CommandIo,
  callNode,
  DeadlineError,
  fetchBytes,
  fetchBytesIfThere,
  formatChecks,
  formatReport,
  printJson,
  showProgress,
  UnreachableError,
  withDeadline,
} from "./io";
import { runChain, runMonitor, runProof, runRecord } from "./run-record";
import { loadCedar, runReplay } from "./run-replay";

const unreadable = 2;
/** Exit code, same as the client's command line. */
const unreachable = 7;
/** Exit code with --fail-on-warnings, if no check failed. */
const warned = 4;

export async function runCommand(
  argv: readonly string[],
  io: CommandIo,
  program = verifierProgram,
): Promise<number> {
  const help = usage.replaceAll(verifierProgram, program);
  try {
    const args = parseArguments(argv);
    if (args.command === "help") {
      io.print(help);
      return 0;
    }
    return await commands[args.command](args, io);
  } catch (error) {
    io.tell(`verify: ${toVisibleText(error instanceof Error ? error.message : String(error))}\n`);
    if (error instanceof UsageError) io.tell(`See: ${program} --help\n`);
    if (error instanceof DeadlineError) return exitCodes.invalid;
    return error instanceof UnreachableError ? unreachable : unreadable;
  }
}

async function runVerify(args: Arguments, io: CommandIo): Promise<number> {
  const source = await readSource(io, args);
  const { trust, note, isPinned } = await findTrust(io, args, source.base);
  const expected = await readExpectation(io, args, source.attestationId);
  const rpcUrl = single(args, "world-chain-rpc");
  const report = await addAnchorCheck(
    await verifyEvidence(source.text, trust, expected),
    parseEvidence(source.text),
    rpcUrl === undefined ? undefined : callNode(io, trimBase(rpcUrl)),
  );
  if (args.flags.has("json"))
    printJson(io, { ...report, ...wordsFor(report), keys: { pinned: isPinned, note } });
  else io.print(formatReport(report, note));
  const isWarned = report.warnings.length + report.statedWarnings.length > 0;
  const code = exitCodes[report.verdict];
  return code !== exitCodes.invalid && isWarned && args.flags.has("fail-on-warnings") ? warned : code;
}

async function readExpectation(
  io: CommandIo,
  args: Arguments,
  attestationId: string | undefined,
): Promise<Expectation> {
  const [audience, nonce, payload] = [
    single(args, "audience"),
    single(args, "nonce"),
    single(args, "payload"),
  ];
  return {
    nowSeconds: io.nowSeconds(),
    ...(attestationId !== undefined && { attestationId }),
    ...(audience !== undefined && { audience }),
    ...(nonce !== undefined && { nonce }),
    ...(payload !== undefined && { payload: await io.readFile(payload) }),
  };
}

async function runLogCheck(args: Arguments, given: CommandIo): Promise<number> {
  const io = withDeadline(given, readDeadline(args));
  const base = trimBase(args.target);
  const { trust, note, isPinned, ...found } = await findLogTrust(io, args, base);
  const copy = single(args, "log-url");
  const logPrefix = copy === undefined ? found.logPrefix : trimBase(copy);
  const checkpoint = decode(await fetchBytes(io, `${logPrefix}/checkpoint`), "checkpoint");
  const file = single(args, "remember");
  const remembered =
    file !== undefined && (await io.isFile(file)) ? decode(await io.readFile(file), file) : null;
  const checks = await checkWholeLog(
    { checkpoint, readFile: (path) => fetchBytesIfThere(io, `${logPrefix}/${path}`) },
    trust,
    { remembered, isWhole: args.flags.has("all"), onProgress: showProgress(io) },
  );
  const ok = holds(checks);
  // Replaces the old checkpoint by one that extends it only.
  if (ok && file !== undefined) await io.writeFile(file, checkpoint);
  if (args.flags.has("json"))
    printJson(io, {
      kind: "log",
      verdict: ok ? "valid" : "invalid",
      checks,
      checkpoint,
      keys: { pinned: isPinned, note },
    });
  else
    io.print(`${formatChecks(checks)}\n\n${note}\n\n${ok ? "The log holds." : "The log does NOT hold."}\n`);
  return ok ? 0 : 1;
}

const commands = {
  verify: runVerify,
  "log-check": runLogCheck,
  record: runRecord,
  monitor: runMonitor,
  chain: runChain,
  proof: runProof,
  pack: runPack,
  replay: runReplay,
};

function describeAgent({ agent, period, counts }: PackFacts): string[] {
  return [
    `${agent.slug}, ${readableTime(period.from)} to ${readableTime(period.to)}`,
    `${formatCount(counts.attestations.total, "attestation")}, ${formatCount(counts.decisions.total, "decision")}: ${describeDecisionCounts(counts.decisions)}; frozen ${formatCount(counts.decisions.frozen, "time")}`,
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
async function runPack(args: Arguments, io: CommandIo): Promise<number> {
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
