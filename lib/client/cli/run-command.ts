/** The command line without its process: arguments → exit code. */

import {
  AgentFrozenError,
  ApiError,
  ApprovalClaimedError,
  ApprovalRevokedError,
  ApprovalUsedError,
  ConnectionError,
  NotApprovedError,
} from "#lib/client/api/errors";
import { readCommandLine, UsageError } from "#lib/protocol/text/command-words";
import { toVisibleText } from "#lib/protocol/text/display-text";
import { runCommand as runVerifier } from "#lib/verifier/cli/run-command";
import {
  runAgent,
  runCancel,
  runClaim,
  runFreeze,
  runKeys,
  runRevoke,
  runUnfreeze,
  runWebhooks,
} from "./account";
import { LinesRefusedError, runAttest, runAuthorize } from "./attest";
import { hookOptions, runHook } from "./hook";
import {
  type ClientIo,
  type Command,
  type FlagOption,
  flagOptions,
  optionalOptions,
  usage,
  type ValuedOption,
  valuedOptions,
} from "./io";

const exitCodes = {
  done: 0,
  refused: 1,
  usage: 2,
  blocked: 2,
  denied: 5,
  expired: 6,
  unreachable: 7,
} as const;

type OwnOption = ValuedOption | FlagOption;
interface CommandSpec {
  run: (command: Command) => Promise<void>;
  options: readonly OwnOption[];
  /** The exit code of every failure, instead of one for each kind. */
  failureCode?: number;
}

const what = ["inputs", "inputs-hash", "idempotency-key"] as const;
const ran = ["code-hash", "model-id", "tool", "agent-key"] as const;
const commands: Record<string, CommandSpec> = {
  attest: {
    run: runAttest,
    options: [
      ...what,
      ...ran,
      ...(["metadata", "public", "private", "zk", "authorization", "ndjson", "all-or-nothing"] as const),
    ],
  },
  authorize: {
    run: runAuthorize,
    options: [
      ...what,
      ...([
        "context",
        "expires-in",
        "level",
        "approvals",
        "approver",
        "required-approvers",
        "usable-for",
        "amount",
        "tool",
        "requester",
        "require-code",
        "wait",
        "output",
      ] as const),
    ],
  },
  claim: { run: runClaim, options: ["run"] },
  cancel: { run: runCancel, options: [] },
  revoke: { run: runRevoke, options: ["reason"] },
  freeze: { run: runFreeze, options: ["reason"] },
  unfreeze: { run: runUnfreeze, options: ["reason"] },
  hook: { run: runHook, options: hookOptions, failureCode: exitCodes.blocked },
  keys: { run: runKeys, options: ["name"] },
  webhooks: { run: runWebhooks, options: ["event", "count"] },
  agent: { run: runAgent, options: [...ran, "name", "description", "public-key"] },
};

export async function runCommand(argv: readonly string[], io: ClientIo): Promise<number> {
  const [name = "", ...rest] = argv;
  if (name === "verify") return runVerifier(addBase(rest, io.serviceUrl), io, "countersign verify");
  if (argv.includes("--help") || name === "help") {
    io.print(usage);
    return exitCodes.done;
  }
  const spec = Object.hasOwn(commands, name) ? commands[name] : undefined;
  try {
    if (spec === undefined) throw new UsageError(name === "" ? "which command?" : `unknown command ${name}`);
    await spec.run(readCommand(io, spec, rest));
    return exitCodes.done;
  } catch (error) {
    const code = explain(io, error);
    return spec?.failureCode ?? code;
  }
}

function readCommand(io: ClientIo, { options }: CommandSpec, argv: readonly string[]): Command {
  const takes = (option: OwnOption) => options.includes(option);
  const line = readCommandLine(argv, {
    valued: valuedOptions.filter((option) => option === "url" || takes(option)),
    optional: optionalOptions,
    flags: flagOptions.filter((option) => option === "json" || takes(option)),
    isStrict: true,
  });
  return { io, line, words: line.words };
}

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** A bare id is one of the service that the environment names, if nothing else is said. */
function addBase(argv: readonly string[], serviceUrl: string | undefined): readonly string[] {
  const isGiven = argv.some((word) => /^--base(?:=|$)/.test(word));
  return serviceUrl === undefined || isGiven || !argv.some((word) => uuid.test(word))
    ? argv
    : ["--base", serviceUrl, ...argv];
}

const unusable = [
  ApprovalClaimedError,
  ApprovalUsedError,
  ApprovalRevokedError,
  AgentFrozenError,
  LinesRefusedError,
];

function explain(io: ClientIo, error: unknown): number {
  const message = error instanceof Error ? error.message : String(error);
  io.tell(`countersign: ${toVisibleText(message)}\n`);
  if (error instanceof UsageError) {
    io.tell("See: countersign --help\n");
    return exitCodes.usage;
  }
  if (error instanceof NotApprovedError) {
    const { denial_reason } = error.decision;
    if (denial_reason) io.tell(`The human wrote: ${toVisibleText(denial_reason)}\n`);
    return error.status === "expired" ? exitCodes.expired : exitCodes.denied;
  }
  const isUnusable = unusable.some((one) => error instanceof one);
  if (isUnusable || (error instanceof ApiError && !error.retryable)) return exitCodes.refused;
  return error instanceof ApiError || error instanceof ConnectionError
    ? exitCodes.unreachable
    : exitCodes.usage;
}
