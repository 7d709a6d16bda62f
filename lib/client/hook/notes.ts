/**
 * A note for each allowed call, between the hook's two processes: what was approved under the call's number. By it a call
 * that ran with other arguments is found out, one whose number the agent repeats, and one whose end it doesn't tell. Arguments aren't in it, only their hash.
 */

import { type ClientIo, type Command, readText } from "#lib/client/cli/io";
import { canonicalHash, isJsonObject } from "#lib/protocol/encoding/canonical-json";
import { parseStrictJson } from "#lib/protocol/encoding/strict-json";
import { single } from "#lib/protocol/text/command-words";
import type { ToolCall } from "./dialects";

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

const folderOf = ({ machine }: ClientIo) => `${machine.home}/.countersign/calls`;
const nameSession = (sessionId: string) => `${canonicalHash(["session", sessionId]).slice(0, 32)}-`;
const nameCall = (agent: string, sessionId: string, callId: string) =>
  `${nameSession(sessionId)}${canonicalHash([agent, callId]).slice(0, 32)}.json`;
const pathOf = (io: ClientIo, { agent_slug, session_id, call_id }: CallNote) =>
  `${folderOf(io)}/${nameCall(agent_slug, session_id, call_id)}`;

/** True if there is a note. Without a place for notes the call is found again by its number and arguments alone. */
export async function writeNote(io: ClientIo, note: CallNote): Promise<boolean> {
  try {
    await io.machine.writeFile(pathOf(io, note), JSON.stringify(note), forOneself);
    for (const { name, ageMs } of await io.machine.listFiles(folderOf(io)))
      if (ageMs > keptMs) await io.machine.remove(`${folderOf(io)}/${name}`);
    return true;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    io.tell(`No note of this call in ${folderOf(io)}, so changed arguments may go unnoticed: ${why}\n`);
    return false;
  }
}

export async function findNote(
  { io, line }: Command,
  { sessionId, callId }: ToolCall,
): Promise<CallNote | null> {
  if (callId === undefined) return null;
  return readNote(io, nameCall(single(line, "agent") ?? "", sessionId, callId));
}

/** Notes of calls that are allowed and not reported since. */
export async function listNotes({ io, line }: Command, sessionId: string): Promise<CallNote[]> {
  const files = await io.machine.listFiles(folderOf(io));
  const names = files.map(({ name }) => name).filter((name) => name.startsWith(nameSession(sessionId)));
  const notes = await Promise.all(names.map((name) => readNote(io, name)));
  return notes.filter((note) => note !== null).filter((note) => note.agent_slug === single(line, "agent"));
}

export async function removeNote(io: ClientIo, note: CallNote | null): Promise<void> {
  if (note !== null) await io.machine.remove(pathOf(io, note));
}

async function readNote(io: ClientIo, name: string): Promise<CallNote | null> {
  const path = `${folderOf(io)}/${name}`;
  if (!(await io.isFile(path))) return null;
  const note = parseStrictJson(await readText(io, path));
  const names = ["agent_slug", "session_id", "call_id", "tool", "request_id", "inputs_hash"];
  const isWhole = isJsonObject(note) && names.every((member) => typeof note[member] === "string");
  return isWhole ? (note as unknown as CallNote) : null;
}
