/**
 * `countersign hook`: a coding agent runs it before and after each tool call. Before: ask a human, wait, allow or deny.
 * After: attest. The two are processes of their own, and find the same request by asking again under the same key.
 */

import { type Agent, agents, type DialectName } from "#lib/client/hook/agents";
import { answerPrompt, attestCall, attestEnd, decide, openHook, readTimeout } from "#lib/client/hook/call";
import { answerCheck, checkHook, findCheck } from "#lib/client/hook/check";
import { needsHuman, readDialectName, readEvent, type ToolCall } from "#lib/client/hook/dialects";
import { installHook, uninstallHook } from "#lib/client/hook/install";
import {
  isRecorded,
  openService,
  print,
  type Reach,
  readReach,
  recordCall,
} from "#lib/client/hook/recorded-call";
import { utf8Decode } from "#lib/protocol/encoding/bytes";
import { single, UsageError } from "#lib/protocol/text/command-words";
import { type Command, type FlagOption, requireWords, type ValuedOption } from "./io";
import { type CommandSpec, exitCodes } from "./spec";

const hookOptions = [
  ...(["agent", "match", "ask", "record", "before", "event", "answer-prompts"] as const),
  ...(["dialect", "timeout", "defer", "output", "key-file"] as const),
  ...(["context", "expires-in", "level", "approvals", "approver", "requester"] as const),
  ...(["required-approvers", "usable-for", "amendable"] as const),
  ...(["public", "private", "agent-key", "code-hash", "model-id"] as const),
  ...(["to", "settings", "run-as", "system", "yes", "check", "port", "idle"] as const),
] as const satisfies readonly (ValuedOption | FlagOption)[];

export const hookSpec: CommandSpec = {
  run: runHook,
  options: hookOptions,
  failureCode: exitCodes.blocked,
};

async function runHook(command: Command): Promise<void> {
  const { words, line, io } = command;
  if (words[0] === "install") return line.flags.has("check") ? checkHook(command) : installHook(command);
  if (words[0] === "uninstall") return uninstallHook(command);
  if (words[0] === "serve") return io.serve({ ...command, words: words.slice(1) });
  requireWords(command);
  return answerEvent(command);
}

async function answerEvent(command: Command): Promise<void> {
  const { line, io } = command;
  const name = readDialectName(single(line, "dialect"));
  const agent = agents[name];
  let isOver = false;
  try {
    const reach = readOptions(command, name);
    const event = readEvent(agent, utf8Decode(await io.readStdin()), single(line, "event"));
    if ("prompt" in event) return print(command, await answerPrompt(command, event.prompt));
    isOver = "endedSession" in event || event.outcome !== null;
    if ("endedSession" in event) await attestEnd(command, agent, event);
    else if (isOver) await attestCall(command, agent, event, reach);
    else print(command, (await decideCall(command, agent, event, reach)) ?? agent.silence ?? null);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    if (!isOver) print(command, agent.failure?.(why) ?? null);
    throw error;
  }
}

function readOptions(command: Command, dialect: DialectName): Reach {
  if (command.line.flags.has("defer") && agents[dialect].canDefer !== true)
    throw new UsageError("--defer: only Claude Code can defer a call");
  readTimeout(command);
  return readReach(command, dialect);
}

async function decideCall(
  command: Command,
  agent: Agent,
  call: ToolCall,
  reach: Reach,
): Promise<object | null> {
  if (findCheck(call.input) !== undefined) {
    const open = () => openService(command, call);
    return agent.answer(await answerCheck(command, open, call, reach.ask));
  }
  if (!needsHuman(reach.ask, call.tool, call.input)) {
    if (command.line.flags.has("before") && isRecorded(reach, call)) await recordCall(command, agent, call);
    return null;
  }
  return agent.answer(await decide(await openHook(command, call)));
}
