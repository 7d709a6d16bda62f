/** The tools of each agent, and what a `--match` pattern written for one of them means in another. */

import type { AttestRequest } from "#lib/client/api/wire";
import { type ClientIo, type Command, readText } from "#lib/client/cli/io";
import { canonicalHash, isJsonObject } from "#lib/protocol/encoding/canonical-json";
import { parseStrictJson } from "#lib/protocol/encoding/strict-json";
import { single, UsageError } from "#lib/protocol/text/command-words";
import { agents, type DialectName, dialectNames } from "./agents";

export const listCheckedShells = (dialect: DialectName) => agents[dialect].shells;
export const listShells = (dialect: DialectName) => [
  ...agents[dialect].shells,
  ...(agents[dialect].formerShells ?? []),
];
export const listTools = (dialect: DialectName) => [...agents[dialect].shells, ...agents[dialect].tools];

const allShells = new Set(dialectNames.flatMap(listShells));

const nameMcpTool = (dialect: DialectName, server: string, tool: string) =>
  agents[dialect].mcp.replace("SERVER", () => server).replace("TOOL", () => tool);

/** The globs for names of tools that a pattern's tool stands for in this dialect. Throws for what asks nobody there. */
export function translateTool(dialect: DialectName, tool: string): readonly string[] {
  if (allShells.has(tool)) return listShells(dialect);
  if (tool.startsWith("mcp__")) return [translateMcpTool(dialect, tool)];
  const { mcp } = agents[dialect];
  // Named as another agent names tools of MCP servers.
  const isOthers = tool.startsWith("mcp_")
    ? !/^mcp_[^_]/.test(mcp)
    : tool.includes("-") && mcp.startsWith("mcp_");
  if (isOthers || isForeign(dialect, tool)) throw refuse(dialect, tool);
  return [tool];
}

function translateMcpTool(dialect: DialectName, pattern: string): string {
  const [, server, tool] = /^mcp__(.+?)__(.+)$/s.exec(pattern) ?? [];
  if (server !== undefined && tool !== undefined) return nameMcpTool(dialect, server, tool);
  const [first = "", ...more] = pattern.slice("mcp__".length).split("*");
  // Alone, the name of a server is the name of no tool.
  if (more.length === 0) throw refuse(dialect, pattern);
  return nameMcpTool(dialect, `${first}*`, `*${more.at(-1)}`);
}

function isForeign(dialect: DialectName, tool: string): boolean {
  if (listTools(dialect).includes(tool)) return false;
  // Qwen Code, which understands Claude Code's dialect, has the names of Gemini CLI, from which it comes.
  const related: readonly DialectName[] = dialect === "claude" ? ["qwen", "gemini"] : [];
  const isKnown = (name: DialectName) => listTools(name).includes(tool);
  return !related.some(isKnown) && dialectNames.some(isKnown);
}

function refuse(dialect: DialectName, tool: string): UsageError {
  const names = `${listTools(dialect).join(", ")}, and mcp__SERVER__TOOL for the tools of MCP servers`;
  return new UsageError(
    `--ask, --match, --record: ${tool} matches no tool with --dialect ${dialect}. Its tools are ${names}`,
  );
}

/*
 * A note for each allowed call, between the hook's two processes: what was approved under the call's number. By it a call
 * that ran with other arguments is found out, one whose number the agent repeats, and one whose end it doesn't tell. Arguments aren't in it, only their hash.
 */

export interface CallNote {
  agent_slug: string;
  session_id: string;
  call_id: string;
  tool: string;
  request_id: string;
  inputs_hash: string;
}

const forOneself = { file: 0o600, folder: 0o700 };
/** Notes of sessions that ended in the middle of a call. */
const keptMs = 7 * 24 * 60 * 60 * 1_000;
/** Ages are looked at if there are more: a call waits for it. */
const manyNotes = 100;

async function removeOld({ machine }: ClientIo, folder: string): Promise<void> {
  if ((await machine.listNames(folder)).length <= manyNotes) return;
  for (const { name, ageMs } of await machine.listFiles(folder))
    if (ageMs > keptMs) await machine.remove(`${folder}/${name}`);
}

const findNotesFolder = ({ machine }: ClientIo) => `${machine.home}/.countersign/calls`;
const nameSession = (sessionId: string) => `${canonicalHash(["session", sessionId]).slice(0, 32)}-`;
const nameCall = (agent: string, sessionId: string, callId: string) =>
  `${nameSession(sessionId)}${canonicalHash([agent, callId]).slice(0, 32)}.json`;
const buildNotePath = (io: ClientIo, { agent_slug, session_id, call_id }: CallNote) =>
  `${findNotesFolder(io)}/${nameCall(agent_slug, session_id, call_id)}`;

/** True if there is a note. Without a place for notes the call is found again by its number and arguments alone. */
export async function writeNote(io: ClientIo, note: CallNote): Promise<boolean> {
  try {
    await Promise.all([
      io.machine.writeFile(buildNotePath(io, note), JSON.stringify(note), forOneself),
      removeOld(io, findNotesFolder(io)),
    ]);
    return true;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    io.tell(
      `No note of this call in ${findNotesFolder(io)}, so changed arguments may go unnoticed: ${why}\n`,
    );
    return false;
  }
}

export async function findNote(
  { io, line }: Command,
  sessionId: string,
  callId: string | undefined,
): Promise<CallNote | null> {
  if (callId === undefined) return null;
  return readNote(io, nameCall(single(line, "agent") ?? "", sessionId, callId));
}

export async function listNotes({ io, line }: Command, sessionId: string): Promise<CallNote[]> {
  const files = await io.machine.listFiles(findNotesFolder(io));
  const names = files.map(({ name }) => name).filter((name) => name.startsWith(nameSession(sessionId)));
  const notes = await Promise.all(names.map((name) => readNote(io, name)));
  return notes.filter((note) => note !== null).filter((note) => note.agent_slug === single(line, "agent"));
}

export async function removeNote(io: ClientIo, note: CallNote | null): Promise<void> {
  if (note !== null) await io.machine.remove(buildNotePath(io, note));
}

async function readNote(io: ClientIo, name: string): Promise<CallNote | null> {
  const path = `${findNotesFolder(io)}/${name}`;
  if (!(await io.isFile(path))) return null;
  const note = parseStrictJson(await readText(io, path));
  const names = ["agent_slug", "session_id", "call_id", "tool", "request_id", "inputs_hash"];
  const isWhole = isJsonObject(note) && names.every((member) => typeof note[member] === "string");
  return isWhole ? (note as unknown as CallNote) : null;
}

/* Commands that an agent has left running in the background, with what is recorded when it no longer lists them. */

export interface TaskNote {
  session_id: string;
  task: string;
  record: AttestRequest;
}

const findTasksFolder = ({ machine }: ClientIo) => `${machine.home}/.countersign/background`;
const buildTaskPath = (io: ClientIo, { session_id, task, record }: TaskNote) =>
  `${findTasksFolder(io)}/${nameCall(record.agent_slug, session_id, task)}`;

export async function writeTask(io: ClientIo, note: TaskNote): Promise<void> {
  await io.machine.writeFile(buildTaskPath(io, note), JSON.stringify(note), forOneself);
  await removeOld(io, findTasksFolder(io));
}

export async function listTasks(io: ClientIo, sessionId: string): Promise<TaskNote[]> {
  const names = (await io.machine.listNames(findTasksFolder(io))).filter((name) =>
    name.startsWith(nameSession(sessionId)),
  );
  return Promise.all(
    names.map(async (name) => JSON.parse(await readText(io, `${findTasksFolder(io)}/${name}`)) as TaskNote),
  );
}

export const removeTask = (io: ClientIo, note: TaskNote) => io.machine.remove(buildTaskPath(io, note));
