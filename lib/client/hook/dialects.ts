/** Events and answers of hooks, read and written as the agent's row says (agents.ts), and the calls that need a human. */

import type { Outcome } from "#lib/client/gate/gate";
import { isJsonObject, type JsonObject, type JsonValue } from "#lib/protocol/encoding/canonical-json";
import { parseStrictJson } from "#lib/protocol/encoding/strict-json";
import { UsageError } from "#lib/protocol/text/command-words";
import {
  type Agent,
  agents,
  type DialectName,
  dialectNames,
  type ParsedEvent,
  readPath,
  readTask,
} from "./agents";
import { listShells, listTools, translateTool } from "./tools";

/*
 * An event has one reading or none: who approves, what is matched and what runs must be the same call. Only what the
 * tool has put out may be anything, since a call that ran must be attested.
 */

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
  /** The agent's own name for what goes on in the background. */
  task?: string | undefined;
}

/** The agent's turn is over, or one call of it, which the event says no more of than its number. */
export interface TurnEnd {
  endedSession: string;
  endedCall?: string;
  /** Commands that still run in the background, by the agent's own names for them; null if it doesn't tell. */
  running: readonly string[] | null;
}

/** The agent's own question to its user, whether a call may run that a hook let pass. */
export interface Prompt {
  sessionId: string;
  tool: string;
  input: JsonValue;
  folder: string | undefined;
}

const requireMember = (event: JsonObject, path: string): JsonValue => {
  const value = readPath(event, path);
  if (value === undefined || value === null || value === "") throw new Error(`the event has no ${path}`);
  return value;
};

function requireText(event: JsonObject, path: string): string {
  const value = requireMember(event, path);
  if (typeof value !== "string") throw new Error(`the event has no ${path}`);
  return value;
}

/** Numbers of calls may be numbers, of agents that count them. */
function readCallId(event: JsonObject, path: string): string {
  const value = requireMember(event, path);
  return typeof value === "number" ? String(value) : requireText(event, path);
}

/** `given`: the name of the event, if the installed command has it. */
function readEventName({ members, before, after }: Agent, { event, results }: ParsedEvent, given?: string) {
  if (members.event !== null) return requireText(event, members.event);
  const [firstAfter = ""] = Object.keys(after);
  return given ?? (Object.keys(results).length > 0 ? firstAfter : before);
}

export function readEvent(
  agent: Agent,
  text: string,
  given?: string,
): ToolCall | TurnEnd | { prompt: Prompt } {
  const parsed = parseEvent(text, agent.results);
  const { event, results } = parsed;
  const { members, before, after, end } = agent;
  const name = readEventName(agent, parsed, given);
  const sessionId = requireText(event, members.session);
  if (name === end) return { endedSession: sessionId, running: readRunning(event) };
  const isAfter = Object.hasOwn(after, name);
  const isPrompt = name === agent.prompt;
  if (name !== before && !isAfter && !isPrompt) throw new Error(`unknown event ${name}`);
  const callId = members.call === null || isPrompt ? undefined : readCallId(event, members.call);
  // Antigravity forgets the tool of some calls that ended.
  if (isAfter && callId !== undefined && readPath(event, members.tool) === undefined)
    return { endedSession: sessionId, endedCall: callId, running: null };
  const tool = requireText(event, members.tool);
  const sent = readPath(event, members.input);
  if (sent === undefined) throw new Error(`the event has no ${members.input}`);
  // Older versions of Copilot send the arguments as text.
  const input = typeof sent === "string" && agent === agents.copilot ? parseStrictJson(sent) : sent;
  const outcome = isAfter ? (after[name] ?? null) : null;
  const cwd = readPath(event, members.folder);
  const folder = typeof cwd === "string" && cwd !== "" ? cwd : undefined;
  if (isPrompt) return { prompt: { sessionId, tool, input, folder } };
  const task = readTask(agent, results);
  return {
    outcome: typeof outcome === "function" ? outcome({ tool, input, results }) : outcome,
    folder,
    sessionId,
    callId,
    tool,
    input,
    isSubagent: typeof event["agent_id"] === "string",
    task,
  };
}

function readRunning(event: JsonObject): string[] | null {
  const tasks = event["background_tasks"];
  if (!Array.isArray(tasks)) return null;
  return tasks.map((task) => String(readPath(task, "id")));
}

export function readDialectName(name = "claude"): DialectName {
  if (Object.hasOwn(agents, name)) return name as DialectName;
  throw new UsageError(`--dialect: expected one of ${dialectNames.join(", ")}`);
}

/*
 * `--match`: which tool calls need a human, as `Bash`, `mcp__bank__*` or `Bash(git push*)`. A pattern in brackets is
 * compared with every text and number in the arguments and with every part of it between a shell's separators and
 * quotes, so that `cd app && git push` and `bash -c "git push"` match too. Asking once too often is the safe mistake.
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

/** True for every call without patterns. */
export function needsHuman(patterns: readonly ToolPattern[], tool: string, input: JsonValue): boolean {
  if (patterns.length === 0) return true;
  const texts = listTexts(input).flatMap(splitParts);
  return patterns.some((one) => one.tool(tool) && (one.text === null || texts.some(one.text)));
}

export function listTexts(value: JsonValue): string[] {
  const texts = listMembers(value).flatMap(listTexts);
  // A command may be given as a list of its words.
  return isJsonObject(value) ? texts : [...texts, collectTexts(value).join(" ")];
}

const listMembers = (value: JsonValue) =>
  typeof value === "object" && value !== null ? Object.values(value) : [];

/** Collects each text once: lists in lists would double them with every level. A tool may read a number as one. */
const collectTexts = (value: JsonValue): string[] => {
  if (typeof value === "object" && value !== null) return listMembers(value).flatMap(collectTexts);
  return value === null ? [] : [String(value)];
};

function splitParts(text: string): string[] {
  const parts = text.split(/[;&|\n\r(){}`"'$<>]+/).map((part) => part.trim());
  return [text, ...parts].map((part) => part.replace(/^(?:\w+=\S*\s+)+/, "").replaceAll(/\s+/g, " "));
}
