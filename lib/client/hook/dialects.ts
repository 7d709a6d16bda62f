/** Input and output of hooks. Each agent says "denied" in words of its own; exit code 2 blocks in all of them. */

import type { Outcome } from "#lib/client/gate/gate";
import { isJsonObject, type JsonObject, type JsonValue } from "#lib/protocol/encoding/canonical-json";
import { parseStrictJson } from "#lib/protocol/encoding/strict-json";
import { UsageError } from "#lib/protocol/text/command-words";
import { listShells, listTools, translateTool } from "./tools";

/*
 * An event has one reading or none: who approves, what is matched and what runs must be the same call. Only what the
 * tool has put out may be anything, since a call that ran must be attested.
 */

export interface ParsedEvent {
  /** Strictly parsed; without its results. */
  event: JsonObject;
  /** Results, as `JSON.parse` reads them. */
  results: JsonObject;
}

export function parseEvent(text: string, resultNames: readonly string[]): ParsedEvent {
  const whole = JSON.parse(text) as JsonValue;
  if (!isJsonObject(whole)) throw new Error("the event is no JSON object");
  const event = parseStrictJson(omitMembers(text, resultNames)) as JsonObject;
  const results = Object.entries(whole).filter(([name]) => resultNames.includes(name));
  return { event, results: Object.fromEntries(results) };
}

/** Omits members of an object that `JSON.parse` has accepted, so that only its depth must be followed. */
function omitMembers(text: string, names: readonly string[]): string {
  const kept: string[] = [];
  let [depth, begin] = [0, 0];
  let name: string | undefined;
  for (let at = text.indexOf("{"); at < text.length; at += 1) {
    const character = text[at];
    if (character === '"') {
      const end = endOfString(text, at);
      // The first string of a member is its name.
      name ??= JSON.parse(text.slice(at, end)) as string;
      at = end - 1;
    } else if (character === "{" || character === "[") {
      depth += 1;
      if (depth === 1) begin = at + 1;
    } else if (character === "}" || character === "]") depth -= 1;
    if (depth > 1 || (depth === 1 && character !== ",")) continue;
    if (name !== undefined && !names.includes(name)) kept.push(text.slice(begin, at));
    if (depth === 0) break;
    [begin, name] = [at + 1, undefined];
  }
  return `{${kept.join()}}`;
}

function endOfString(text: string, start: number): number {
  let at = start + 1;
  while (text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
  return at + 1;
}

export interface ToolCall {
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
  resultNames: readonly string[];
  readEvent(event: ParsedEvent): ToolCall | TurnEnd;
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

const readMember = (value: JsonValue | undefined, name: string) =>
  value !== undefined && isJsonObject(value) ? value[name] : undefined;

function readClaudeOutcome({ event, results: { tool_response: response } }: ParsedEvent): Outcome {
  if (readMember(response, "interrupted") === true) return "failed";
  const isInBackground =
    event["tool_name"] === "Monitor" ||
    readMember(event["tool_input"], "run_in_background") === true ||
    typeof readMember(response, "backgroundTaskId") === "string" ||
    /_launched$/.test(String(readMember(response, "status")));
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

function readText(value: JsonValue | undefined): string {
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return value.map(readText).join("\n");
  return value !== undefined && isJsonObject(value) ? readText(value["text"]) : "";
}

/** A shell's exit code is only in the text that it puts out, after what the command wrote. */
function readCopilotOutcome(tool: string, input: JsonValue, result: JsonValue | undefined): Outcome {
  if (readMember(result, "resultType") !== "success") return "failed";
  if (!listShells("copilot").includes(tool)) return "completed";
  if (readMember(input, "mode") === "async" || readMember(input, "detach") === true) return "started";
  const text = readText(readMember(result, "textResultForLlm"));
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
  if ((readMember(response, "error") ?? null) !== null) return "failed";
  if (!listShells("gemini").includes(String(event["tool_name"]))) return "completed";
  const text = readText(readMember(response, "llmContent"));
  const readLine = (name: string) =>
    [...text.matchAll(new RegExp(`^${name}: (.*)$`, "gm"))].at(-1)?.[1]?.replace("(none)", "");
  if (/^Command was (?:automatically )?cancelled/.test(text)) return "failed";
  const isInBackground = readMember(event["tool_input"], "is_background") === true;
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

export const dialectNames = Object.keys(dialects) as DialectName[];

export function readDialectName(name = "claude"): DialectName {
  if (Object.hasOwn(dialects, name)) return name as DialectName;
  throw new UsageError("--dialect: expected claude, codex, copilot or gemini");
}

export const findDialect = (name: DialectName): Dialect => dialects[name];

export const readEvent = (dialect: Dialect, text: string): ToolCall | TurnEnd =>
  dialect.readEvent(parseEvent(text, dialect.resultNames));

/*
 * `--match`: which tool calls need a human, as `Bash`, `mcp__bank__*` or `Bash(git push*)`. A pattern in brackets is
 * compared with every text in the arguments and with every part of it between a shell's separators and quotes, so that
 * `cd app && git push` and `bash -c "git push"` match too. Asking once too often is the safe mistake.
 */

type Matches = (text: string) => boolean;

export interface ToolPattern {
  tool: Matches;
  /** Null: whatever the arguments are. */
  text: Matches | null;
}

export function readPattern(rule: string, dialect: DialectName | null): ToolPattern {
  const [, tool, text] = /^([^()\s]+)(?:\((.+)\))?$/s.exec(rule) ?? [];
  if (tool === undefined)
    throw new UsageError(`--ask, --match, --record: expected Tool or Tool(pattern), not ${rule}`);
  // Rules of Claude Code may end in ":*", which means a prefix.
  const matchText = text === undefined ? null : readGlob(text.replace(/:\*$/, "*"));
  return { tool: dialect === null ? readGlob(tool) : readTool(tool, dialect), text: matchText };
}

/** A pattern for one shell of the agent matches all of them. */
function readTool(tool: string, dialect: DialectName): Matches {
  const globs = translateTool(dialect, tool).map(readGlob);
  const matchesName: Matches = (name) => globs.some((glob) => glob(name));
  const shells = listShells(dialect);
  return shells.some(matchesName) ? (name) => shells.includes(name) || matchesName(name) : matchesName;
}

export const isMatched = (patterns: readonly ToolPattern[], tool: string) =>
  patterns.length === 0 || patterns.some((one) => one.tool(tool));

export const listUnmatched = (patterns: readonly ToolPattern[], dialect: DialectName) =>
  listTools(dialect).filter((tool) => !isMatched(patterns, tool));

/** `*` is any text, of any length. Not as a RegExp: a model could write what one takes hours for, and agents don't wait. */
function readGlob(glob: string): Matches {
  const [first = "", ...parts] = glob.split("*");
  const last = parts.pop();
  if (last === undefined) return (text) => text === first;
  return (text) => {
    if (!text.startsWith(first)) return false;
    let at = first.length;
    for (const part of parts) {
      const found = text.indexOf(part, at);
      if (found === -1) return false;
      at = found + part.length;
    }
    return text.length - last.length >= at && text.endsWith(last);
  };
}

/** Without patterns, every call does. */
export function needsHuman(patterns: readonly ToolPattern[], tool: string, input: JsonValue): boolean {
  if (patterns.length === 0) return true;
  const texts = listTexts(input).flatMap(splitParts);
  return patterns.some((one) => one.tool(tool) && (one.text === null || texts.some(one.text)));
}

export function listTexts(value: JsonValue): string[] {
  const texts = listMembers(value).flatMap(listTexts);
  // A command may be given as a list of its words.
  return typeof value === "string" || Array.isArray(value)
    ? [...texts, collectTexts(value).join(" ")]
    : texts;
}

const listMembers = (value: JsonValue) =>
  typeof value === "object" && value !== null ? Object.values(value) : [];

/** Each text once, or lists in lists would double them with every level. */
const collectTexts = (value: JsonValue): string[] =>
  typeof value === "string" ? [value] : listMembers(value).flatMap(collectTexts);

function splitParts(text: string): string[] {
  const parts = text.split(/[;&|\n\r(){}`"'$<>]+/).map((part) => part.trim());
  return [text, ...parts].map((part) => part.replace(/^(?:\w+=\S*\s+)+/, "").replaceAll(/\s+/g, " "));
}
