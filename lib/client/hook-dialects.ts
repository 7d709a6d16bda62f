/** What agents write to a hook and read from it. Each says "denied" in words of its own; exit code 2 blocks in all of them. */
import { isJsonObject, type JsonObject, type JsonValue } from "#lib/domain/canonical-json";
import { UsageError } from "#lib/domain/command-words";
import { parseStrictJson } from "#lib/domain/strict-json";

export interface ToolCall {
  moment: "before" | "after";
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
  readCall(event: JsonObject): ToolCall;
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

function readMoment(event: JsonObject, before: string, after: string): ToolCall["moment"] {
  const name = requireText(event, "hook_event_name");
  if (name !== before && name !== after) throw new Error(`unknown event ${name}`);
  return name === before ? "before" : "after";
}

/** https://code.claude.com/docs/en/hooks */
const claude: Dialect = {
  canDefer: true,
  readCall: (event) => ({
    moment: readMoment(event, "PreToolUse", "PostToolUse"),
    sessionId: requireText(event, "session_id"),
    callId: requireText(event, "tool_use_id"),
    tool: requireText(event, "tool_name"),
    input: requireInput(event, "tool_input"),
  }),
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

/** Claude Code's events. It knows no "allow", and runs the tool if it finds a field that it doesn't know. */
const codex: Dialect = {
  canDefer: false,
  readCall: claude.readCall,
  writeAnswer: ({ permission, reason }) =>
    permission === "allow" ? null : claude.writeAnswer({ permission, reason }),
  writeNote: () => null,
};

/** https://docs.github.com/en/copilot/reference/hooks-configuration */
const copilot: Dialect = {
  canDefer: false,
  readCall: (event) => {
    const input = requireInput(event, "toolArgs");
    return {
      moment: Object.hasOwn(event, "toolResult") ? "after" : "before",
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
  readCall: (event) => ({
    moment: readMoment(event, "BeforeTool", "AfterTool"),
    sessionId: requireText(event, "session_id"),
    callId: undefined,
    tool: requireText(event, "tool_name"),
    input: requireInput(event, "tool_input"),
  }),
  writeAnswer: ({ permission, reason, message }) => ({
    decision: permission,
    reason,
    ...(message !== undefined && { systemMessage: message }),
  }),
  writeNote: (message) => ({ systemMessage: message }),
};

const dialects = { claude, codex, copilot, gemini };

export function findDialect(name: string): Dialect {
  const found = Object.entries(dialects).find(([known]) => known === name);
  if (found === undefined) throw new UsageError("--dialect: expected claude, codex, copilot or gemini");
  return found[1];
}

/** Throws for what is no event. */
export function readEvent(dialect: Dialect, text: string): ToolCall {
  const event = JSON.parse(text) as JsonValue;
  if (!isJsonObject(event)) throw new Error("the event is no JSON object");
  return dialect.readCall(event);
}
