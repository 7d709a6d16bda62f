/** A command of the command line: its options, and the exit code of each way in which it can end. */

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
import { LinesRefusedError } from "./attest";
import {
  type ClientIo,
  type Command,
  type FlagOption,
  flagOptions,
  optionalOptions,
  type ValuedOption,
  valuedOptions,
} from "./io";

export const exitCodes = {
  done: 0,
  refused: 1,
  usage: 2,
  blocked: 2,
  denied: 5,
  expired: 6,
  unreachable: 7,
} as const;

type OwnOption = ValuedOption | FlagOption;
export interface CommandSpec {
  run: (command: Command) => Promise<void>;
  options: readonly OwnOption[];
  /** The exit code of every failure, instead of one for each kind. */
  failureCode?: number;
}

export async function runSpec(io: ClientIo, spec: CommandSpec, argv: readonly string[]): Promise<number> {
  try {
    await spec.run(readCommand(io, spec, argv));
    return exitCodes.done;
  } catch (error) {
    const code = explain(io, error);
    return spec.failureCode ?? code;
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
