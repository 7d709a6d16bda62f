/** Input and output of hooks. Each agent says "denied" in words of its own; exit code 2 blocks in all of them. */

import type { Outcome } from "#lib/client/gate/attest-run";
import { isJsonObject, type JsonObject, type JsonValue } from "#lib/protocol/encoding/canonical-json";
import { parseStrictJson } from "#lib/protocol/encoding/strict-json";
import { UsageError } from "#lib/protocol/text/command-words";
import { type ParsedEvent, parseEvent } from "./event";
import { shellsOf } from "./tools";

export interface ToolCall {
  /** Null before the call. */
  outcome: Outcome | null;
  /** The agent's working folder at that moment. */
  folder: string | undefined;
  sessionId: string;
  /** Undefined if the agent doesn't number its calls. */
  callId: string | undefined;
  tool: string;
  input: JsonValue;
  isSubagent: boolean;
}

/** The agent's turn is over: a call of it without a report has ended too. */
export interface TurnEnd {
  endedSession: string;
}

export type DialectName = "claude" | "codex" | "copilot" | "gemini";

export interface Answer {
  /** Never `ask`: without a terminal, agents take it for something else. */
  permission: "allow" | "deny" | "defer";
  /** The model reads it. */
  reason: string;
  /** Only the user reads it. */
  message?: string | undefined;
  /** The approved input: agents that take it run this, whatever other hooks have made of the call before. */
  input?: JsonValue | undefined;
}

export interface Dialect {
  name: DialectName;
  canDefer: boolean;
  /** Members with the tool's output, or the reason why it failed. */
  resultNames: readonly string[];
  readEvent(event: ParsedEvent): ToolCall | TurnEnd;
  /** For standard output. */
  writeAnswer(answer: Answer): object | null;
  /** Message to the user after an action. Null: the agent has no place for it. */
  writeNote(message: string): object | null;
  /** For standard output if the hook fails before a call, beside exit code 2. Null: the agent reads standard error. */
  writeFailure(reason: string): object | null;
}

function requireText(event: JsonObject, name: string): string {
  const value = event[name];
  if (typeof value !== "string" || value === "") throw new Error(`the event has no ${name}`);
  return value;
}

function requireInput(event: JsonObject, name: string): JsonValue {
  const value = event[name];
  if (value === undefined) throw new Error(`the event has no ${name}`);
  return value;
}

const readFolder = ({ cwd }: JsonObject) => (typeof cwd === "string" && cwd !== "" ? cwd : undefined);

const unknownEvent = (name: string) => new Error(`unknown event ${name}`);

/** `outcomes`: by the events after a call. */
function readNamed(
  { event }: ParsedEvent,
  before: string,
  outcomes: Record<string, Outcome>,
): Omit<ToolCall, "callId"> {
  const name = requireText(event, "hook_event_name");
  const after = Object.hasOwn(outcomes, name) ? outcomes[name] : undefined;
  if (name !== before && after === undefined) throw unknownEvent(name);
  return {
    outcome: after ?? null,
    folder: readFolder(event),
    sessionId: requireText(event, "session_id"),
    tool: requireText(event, "tool_name"),
    input: requireInput(event, "tool_input"),
    isSubagent: typeof event["agent_id"] === "string",
  };
}

const memberOf = (value: JsonValue | undefined, name: string) =>
  value !== undefined && isJsonObject(value) ? value[name] : undefined;

function readClaudeOutcome({ event, results: { tool_response: response } }: ParsedEvent): Outcome {
  if (memberOf(response, "interrupted") === true) return "failed";
  const isInBackground =
    event["tool_name"] === "Monitor" ||
    memberOf(event["tool_input"], "run_in_background") === true ||
    typeof memberOf(response, "backgroundTaskId") === "string" ||
    /_launched$/.test(String(memberOf(response, "status")));
  return isInBackground ? "started" : "completed";
}

/** https://code.claude.com/docs/en/hooks */
const claude: Dialect = {
  name: "claude",
  canDefer: true,
  resultNames: ["tool_response", "error"],
  readEvent: (parsed) => ({
    ...readNamed(parsed, "PreToolUse", {
      PostToolUse: readClaudeOutcome(parsed),
      // A command that ends with another code than 0 fails, whatever it has done before.
      PostToolUseFailure: "failed",
    }),
    callId: requireText(parsed.event, "tool_use_id"),
  }),
  writeAnswer: ({ permission, reason, message, input }) => ({
    hookSpecificOutput: {
      // Without it the whole object is ignored, and the tool runs.
      hookEventName: "PreToolUse",
      permissionDecision: permission,
      permissionDecisionReason: reason,
      ...(isJsonObject(input) && { updatedInput: input }),
    },
    ...(message !== undefined && { systemMessage: message }),
  }),
  writeNote: (message) => ({ systemMessage: message }),
  writeFailure: () => null,
};

/**
 * Claude Code's events, with one for calls that succeeded and calls that failed. It knows no "allow", and runs the tool if it
 * finds a field that it doesn't know.
 */
const codex: Dialect = {
  name: "codex",
  canDefer: false,
  resultNames: ["tool_response"],
  readEvent: (parsed) => {
    const { event } = parsed;
    if (event["hook_event_name"] === "Stop") return { endedSession: requireText(event, "session_id") };
    return {
      ...readNamed(parsed, "PreToolUse", { PostToolUse: "unknown" }),
      callId: requireText(event, "tool_use_id"),
    };
  },
  writeAnswer: ({ permission, reason }) =>
    permission === "allow" ? null : claude.writeAnswer({ permission, reason }),
  writeNote: () => null,
  writeFailure: () => null,
};

/** The text that a tool has put out for the model, whole or in parts. */
function textOf(value: JsonValue | undefined): string {
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return value.map(textOf).join("\n");
  return value !== undefined && isJsonObject(value) ? textOf(value["text"]) : "";
}

/** A shell's exit code is only in the text that it puts out, after what the command wrote. */
function readCopilotOutcome(tool: string, input: JsonValue, result: JsonValue | undefined): Outcome {
  if (memberOf(result, "resultType") !== "success") return "failed";
  if (!shellsOf("copilot").includes(tool)) return "completed";
  if (memberOf(input, "mode") === "async" || memberOf(input, "detach") === true) return "started";
  const text = textOf(memberOf(result, "textResultForLlm"));
  const [, code] = /<[^<>\n]*\bexit(?:ed with)?(?: exit)? code (-?\d+)>\s*$/.exec(text) ?? [];
  if (code === undefined) return "unknown";
  return code === "0" ? "completed" : "failed";
}

/** https://docs.github.com/en/copilot/reference/hooks-configuration */
const copilot: Dialect = {
  name: "copilot",
  canDefer: false,
  resultNames: ["toolResult", "error"],
  readEvent: ({ event, results: { toolResult, error } }) => {
    const given = requireInput(event, "toolArgs");
    // Older versions send the arguments as text.
    const input = typeof given === "string" ? parseStrictJson(given) : given;
    const tool = requireText(event, "toolName");
    const isAfter = toolResult !== undefined || error !== undefined;
    return {
      outcome: isAfter ? readCopilotOutcome(tool, input, toolResult) : null,
      folder: readFolder(event),
      sessionId: requireText(event, "sessionId"),
      callId: undefined,
      tool,
      input,
      isSubagent: false,
    };
  },
  writeAnswer: ({ permission, reason }) => ({
    permissionDecision: permission,
    permissionDecisionReason: reason,
  }),
  writeNote: () => null,
  // It drops standard error.
  writeFailure: (reason) => ({ permissionDecision: "deny", permissionDecisionReason: reason }),
};

/** The lines that follow a command's output. The last of a name counts: the output may have such lines too. */
function readGeminiOutcome({ event, results: { tool_response: response } }: ParsedEvent): Outcome {
  if ((memberOf(response, "error") ?? null) !== null) return "failed";
  if (!shellsOf("gemini").includes(String(event["tool_name"]))) return "completed";
  const text = textOf(memberOf(response, "llmContent"));
  const readLine = (name: string) =>
    [...text.matchAll(new RegExp(`^${name}: (.*)$`, "gm"))].at(-1)?.[1]?.replace("(none)", "");
  if (/^Command was (?:automatically )?cancelled/.test(text)) return "failed";
  const isInBackground = memberOf(event["tool_input"], "is_background") === true;
  if (isInBackground || /^Command moved to background/.test(text) || readLine("Background PIDs"))
    return "started";
  if (readLine("Signal")) return "failed";
  const code = readLine("Exit Code") ?? "0";
  if (code !== "0") return code === "" ? "unknown" : "failed";
  // The last line is there unless the text was cut, and with it perhaps a code.
  return /\nProcess Group PGID: \d+\s*$/.test(text) ? "completed" : "unknown";
}

/** https://geminicli.com/docs/hooks/reference */
const gemini: Dialect = {
  name: "gemini",
  canDefer: false,
  resultNames: ["tool_response"],
  readEvent: (parsed) => ({
    ...readNamed(parsed, "BeforeTool", { AfterTool: readGeminiOutcome(parsed) }),
    callId: undefined,
  }),
  writeAnswer: ({ permission, reason, message }) => ({
    decision: permission,
    reason,
    ...(message !== undefined && { systemMessage: message }),
  }),
  writeNote: (message) => ({ systemMessage: message }),
  writeFailure: () => null,
};

const dialects: Record<DialectName, Dialect> = { claude, codex, copilot, gemini };

export function readDialectName(name = "claude"): DialectName {
  if (Object.hasOwn(dialects, name)) return name as DialectName;
  throw new UsageError("--dialect: expected claude, codex, copilot or gemini");
}

export const findDialect = (name: DialectName): Dialect => dialects[name];

/** Throws for what is no event. */
export const readEvent = (dialect: Dialect, text: string): ToolCall | TurnEnd =>
  dialect.readEvent(parseEvent(text, dialect.resultNames));
