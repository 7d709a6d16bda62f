/** What agents write to a hook and read from it. Each says "denied" in words of its own; exit code 2 blocks in all of them. */
import { isJsonObject, type JsonObject, type JsonValue } from "#lib/core/encoding/canonical-json";
import { parseStrictJson } from "#lib/core/encoding/strict-json";
import { UsageError } from "#lib/core/text/command-words";
import { type ParsedEvent, parseEvent } from "./hook-event";

/** As the agent says; `unknown` if it says nothing. */
export type Outcome = "completed" | "failed" | "interrupted" | "unknown";

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
}

export interface Answer {
  /** Never `ask`: without a terminal, agents take it for something else. */
  permission: "allow" | "deny" | "defer";
  /** The model reads it. */
  reason: string;
  /** Only the user reads it. */
  message?: string | undefined;
}

export interface Dialect {
  canDefer: boolean;
  /** What the tool has put out, or why it failed. */
  resultNames: readonly string[];
  readCall(event: ParsedEvent): ToolCall;
  /** For standard output. */
  writeAnswer(answer: Answer): object | null;
  /** What the user reads after an action. Null: the agent has no place for it. */
  writeNote(message: string): object | null;
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
  };
}

const memberOf = (value: JsonValue | undefined, name: string) =>
  value !== undefined && isJsonObject(value) ? value[name] : undefined;

/** https://code.claude.com/docs/en/hooks */
const claude: Dialect = {
  canDefer: true,
  resultNames: ["tool_response", "error"],
  readCall: (parsed) => {
    const { event, results } = parsed;
    const isInterrupted = memberOf(results["tool_response"], "interrupted") === true;
    return {
      ...readNamed(parsed, "PreToolUse", {
        PostToolUse: isInterrupted ? "interrupted" : "completed",
        // A command that ends with another code than 0 fails, whatever it has done before.
        PostToolUseFailure: event["is_interrupt"] === true ? "interrupted" : "failed",
      }),
      callId: requireText(event, "tool_use_id"),
    };
  },
  writeAnswer: ({ permission, reason, message }) => ({
    hookSpecificOutput: {
      // Without it the whole object is ignored, and the tool runs.
      hookEventName: "PreToolUse",
      permissionDecision: permission,
      permissionDecisionReason: reason,
    },
    ...(message !== undefined && { systemMessage: message }),
  }),
  writeNote: (message) => ({ systemMessage: message }),
};

/**
 * Claude Code's events, with one for calls that succeeded and calls that failed. It knows no "allow", and runs the tool if it
 * finds a field that it doesn't know.
 */
const codex: Dialect = {
  canDefer: false,
  resultNames: ["tool_response"],
  readCall: (parsed) => ({
    ...readNamed(parsed, "PreToolUse", { PostToolUse: "unknown" }),
    callId: requireText(parsed.event, "tool_use_id"),
  }),
  writeAnswer: ({ permission, reason }) =>
    permission === "allow" ? null : claude.writeAnswer({ permission, reason }),
  writeNote: () => null,
};

/** https://docs.github.com/en/copilot/reference/hooks-configuration */
const copilot: Dialect = {
  canDefer: false,
  resultNames: ["toolResult", "error"],
  readCall: ({ event, results: { toolResult, error } }) => {
    const input = requireInput(event, "toolArgs");
    const isAfter = toolResult !== undefined || error !== undefined;
    const hasSucceeded = memberOf(toolResult, "resultType") === "success";
    return {
      outcome: isAfter ? (hasSucceeded ? "completed" : "failed") : null,
      folder: readFolder(event),
      sessionId: requireText(event, "sessionId"),
      callId: undefined,
      tool: requireText(event, "toolName"),
      // Older versions send the arguments as text.
      input: typeof input === "string" ? parseStrictJson(input) : input,
    };
  },
  writeAnswer: ({ permission, reason }) => ({
    permissionDecision: permission,
    permissionDecisionReason: reason,
  }),
  writeNote: () => null,
};

/** https://geminicli.com/docs/hooks/reference */
const gemini: Dialect = {
  canDefer: false,
  resultNames: ["tool_response"],
  readCall: (parsed) => {
    const hasFailed = (memberOf(parsed.results["tool_response"], "error") ?? null) !== null;
    return {
      ...readNamed(parsed, "BeforeTool", { AfterTool: hasFailed ? "failed" : "completed" }),
      callId: undefined,
    };
  },
  writeAnswer: ({ permission, reason, message }) => ({
    decision: permission,
    reason,
    ...(message !== undefined && { systemMessage: message }),
  }),
  writeNote: (message) => ({ systemMessage: message }),
};

const dialects = { claude, codex, copilot, gemini };
export type DialectName = keyof typeof dialects;

export function readDialectName(name = "claude"): DialectName {
  if (Object.hasOwn(dialects, name)) return name as DialectName;
  throw new UsageError("--dialect: expected claude, codex, copilot or gemini");
}

export const findDialect = (name: DialectName): Dialect => dialects[name];

/** Throws for what is no event. */
export const readEvent = (dialect: Dialect, text: string): ToolCall =>
  dialect.readCall(parseEvent(text, dialect.resultNames));
