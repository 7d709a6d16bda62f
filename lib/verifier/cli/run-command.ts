/** The command line without its process: arguments → exit code. */
import { single, UsageError } from "#lib/protocol/text/command-words";
import { toVisibleText } from "#lib/protocol/text/display-text";
import { addAnchorCheck } from "#lib/verifier/checks/check-anchors";
import { checkWholeLog, holds } from "#lib/verifier/checks/check-log";
import { parseEvidence } from "#lib/verifier/checks/evidence";
import { type Expectation, verifyEvidence } from "#lib/verifier/checks/verify-evidence";
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
import { runPack } from "./run-pack";
import { runChain, runMonitor, runProof, runRecord } from "./run-record";
import { runReplay } from "./run-replay";

const unreadable = 2;
/** As the client's command line has it. */
const unreachable = 7;
/** With --fail-on-warnings, if no check failed. */
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
  // Only a checkpoint that extends the old one may take its place.
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
