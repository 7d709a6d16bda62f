/**
 * `countersign hook install --check`: an agent is asked to run a command that the hook always blocks. Agents skip hooks
 * that they don't trust, that are switched off, or that they read differently, and say nothing.
 */

import { CountersignError } from "#lib/client/api/errors";
import { type Service, send } from "#lib/client/api/transport";
import { type ClientIo, type Command, type Machine, readText, requireWords } from "#lib/client/cli/io";
import { isJsonObject, type JsonObject, type JsonValue } from "#lib/protocol/encoding/canonical-json";
import { parseStrictJson } from "#lib/protocol/encoding/strict-json";
import { single } from "#lib/protocol/text/command-words";
import { toVisibleText } from "#lib/protocol/text/display-text";
import { type Agent, type Answer, agents, type DialectName } from "./agents";
import { readTimeout } from "./call";
import { isMatched, listTexts, readDialectName, type ToolCall, type ToolPattern } from "./dialects";
import { findSettings, listFailOpen, listOtherHooks, listSettings, parseHooks } from "./settings";
import { listCheckedShells } from "./tools";

const checkFolder = /\/tmp\/countersign-check-[0-9a-f]{32}(?=\/ran)/;
const pollMs = 250;
/** Milliseconds after which a call that was not blocked after all has surely run. */
const settleMs = 2_000;
/** Seconds for the agent's other shells, once one has been blocked. */
const othersSeconds = 60;
const sayEverySeconds = 15;
const serviceTimeoutMs = 10_000;

const checkReason = "This is the check of Countersign's hook.";
const tryMs = 30_000;

export const findCheck = (input: JsonValue): string | undefined =>
  listTexts(input).flatMap((text) => checkFolder.exec(text)?.[0] ?? [])[0];

/** The call is blocked, and the waiting check learns whether a real one could have asked. */
export async function answerCheck(
  { io: { machine } }: Command,
  openService: () => Promise<Service>,
  { tool, input }: ToolCall,
  patterns: readonly ToolPattern[],
): Promise<Answer> {
  const folder = findCheck(input) ?? "";
  // An agent can name a folder of its own.
  if (!(await belongsToInstaller(machine, folder)))
    return {
      permission: "deny",
      reason: `${checkReason} Run the check as the user who installed it.`,
    };
  const found = await readScopes(openService).catch((error: unknown) => ({
    problem: error instanceof Error ? error.message : String(error),
  }));
  const answer = { ...found, isAsked: isMatched(patterns, tool) };
  await machine.createFile(`${folder}/blocked-${encodeURIComponent(tool)}`, JSON.stringify(answer));
  return { permission: "deny", reason: `${checkReason} The hook is live.` };
}

async function belongsToInstaller(machine: Machine, folder: string): Promise<boolean> {
  const owner = await machine.readOwner(folder);
  return owner !== null && owner === (await machine.readOwner(machine.programPath ?? ""));
}

/** Reads nothing else of what the service answers about the key: the agent can read the output. */
async function readScopes(openService: () => Promise<Service>): Promise<JsonObject> {
  const signal = AbortSignal.timeout(serviceTimeoutMs);
  const info = await send<JsonObject>(await openService(), {
    method: "GET",
    path: "/v1/keys/info",
    signal,
    tries: 1,
  });
  return { scopes: info["scopes"] ?? [] };
}

/** A call of the agent's first shell, as its event before it. */
function writeCheckEvent({ members, before, shells }: Agent, folder: string): string {
  const event: JsonObject = {};
  const put = (path: string | null, value: JsonValue) => {
    const names = path?.split(".") ?? [];
    const last = names.pop();
    let at = event;
    for (const name of names) {
      at[name] ??= {};
      at = at[name] as JsonObject;
    }
    if (last !== undefined) at[last] = value;
  };
  put(members.event, before);
  put(members.session, "countersign-check");
  put(members.tool, shells[0] ?? "");
  put(members.input, { command: `touch ${folder}/ran-${shells[0]}` });
  put(members.call, "countersign-check");
  return JSON.stringify(event);
}

/** Runs an installed hook's line as its agent does before a call. Null if it says no; else what happened. */
export async function tryHook({ machine }: ClientIo, agent: Agent, line: string): Promise<string | null> {
  const folder = `/tmp/countersign-check-${machine.randomHex(16)}`;
  await machine.makeSharedFolder(folder);
  try {
    const stdin = writeCheckEvent(agent, folder);
    const { code, out, err } = await machine.runShell(line, stdin, folder, tryMs);
    if (code === 0 && out.includes(checkReason)) return null;
    return `ended with ${code}: ${(err || out).trim() || "it said nothing"}`;
  } finally {
    await machine.remove(folder);
  }
}

export async function checkHook(command: Command): Promise<void> {
  requireWords({ ...command, words: command.words.slice(1) });
  const { io, line } = command;
  const dialect = readDialectName(single(line, "dialect"));
  const { name } = agents[dialect];
  const shells = listCheckedShells(dialect);
  const folder = `/tmp/countersign-check-${io.machine.randomHex(16)}`;
  await checkSettings(command, dialect);
  await io.machine.makeSharedFolder(folder);
  try {
    const calls = shells.map((tool) => `  ${tool}: touch ${folder}/ran-${tool}\n`).join("");
    io.print(
      `Restart ${name} first: it reads its hooks when it starts. Then ask it to run exactly these commands, each with the tool before it, and to go on after one that is blocked:\n\n${calls}\n`,
    );
    const blocked = await waitForBlocks(command, folder, shells);
    io.print(`The hook is live: it blocked ${blocked.join(", ")}, and ${name} ran nothing.\n`);
    const others = shells.filter((tool) => !blocked.includes(tool));
    if (others.length > 0)
      io.tell(
        `Not proven for ${others.join(", ")}: no such call came. Your ${name} may not have such a tool.\n`,
      );
    for (const tool of blocked) await reportBlocked(command, folder, tool);
  } finally {
    await io.machine.remove(folder);
  }
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

async function waitForBlocks(
  command: Command,
  folder: string,
  shells: readonly string[],
): Promise<readonly string[]> {
  const { io } = command;
  let leftMs = readTimeout(command) * 1_000;
  let blocked: string[] = [];
  for (; leftMs > 0; leftMs -= pollMs) {
    const seen = await readSeen(io, folder);
    if (seen.ran && seen.blocked.length === 0)
      throw new CountersignError("NOT live: the command ran, and no hook was asked. Nothing is blocked.");
    if (seen.blocked.length > 0 && blocked.length === 0) leftMs = Math.min(leftMs, othersSeconds * 1_000);
    blocked = seen.blocked;
    const missing = shells.filter((tool) => !blocked.includes(tool));
    if (seen.ran || missing.length === 0) break;
    if (leftMs % (sayEverySeconds * 1_000) === 0 || leftMs === readTimeout(command) * 1_000)
      io.tell(`Waiting for ${missing.join(", ")}: ${leftMs / 1_000} seconds left.\n`);
    await sleep(pollMs);
  }
  if (blocked.length === 0)
    throw new CountersignError(`Not proven: no such call came within ${readTimeout(command)} seconds.`);
  await sleep(settleMs);
  if ((await readSeen(io, folder)).ran)
    throw new CountersignError(
      "NOT live: the hook said no, and a command ran all the same, or a shell asks no hook. Is --dialect right?",
    );
  return blocked;
}

async function readSeen({ machine }: ClientIo, folder: string): Promise<{ ran: boolean; blocked: string[] }> {
  const names = (await machine.listFiles(folder)).map(({ name }) => name);
  const blocked = names.flatMap((name) => /^blocked-(.+)$/.exec(name)?.[1] ?? []).map(decodeURIComponent);
  return { ran: names.some((name) => name.startsWith("ran")), blocked };
}

async function reportBlocked(command: Command, folder: string, tool: string): Promise<void> {
  const file = `${folder}/blocked-${encodeURIComponent(tool)}`;
  const found = parseStrictJson(await readText(command.io, file));
  if (!isJsonObject(found)) throw new CountersignError(`The hook's answer for ${tool} can't be read.`);
  printScopes(command, found);
  if (found["isAsked"] !== true)
    command.io.tell(`Warning: real calls of ${tool} ask nobody, because no --ask names it.\n`);
}

async function checkSettings(command: Command, dialect: DialectName): Promise<void> {
  const { io } = command;
  const others: string[] = [];
  for (const file of await listSettings(io.machine, dialect, findSettings(command))) {
    if (!(await io.isFile(file))) continue;
    const settings = parseHooks(dialect, await readText(io, file));
    if (settings === null) {
      io.tell(`Warning: ${toVisibleText(file)} can't be read: look for hooks in it yourself.\n`);
      continue;
    }
    const open = listFailOpen(dialect, settings);
    if (open.includes("http"))
      throw new CountersignError(
        `in ${toVisibleText(file)} the hook of type http has no "onFailure": "block": every call runs while nobody answers it. Run hook install again.`,
      );
    if (open.length > 0)
      io.tell(
        `Warning: in ${toVisibleText(file)} the hook has no "onFailure": "block", so a call runs if it crashes or takes too long. Run hook install again; Claude Code reads it since 2.1.295.\n`,
      );
    others.push(...listOtherHooks(dialect, settings).map((hook) => `  ${file}  ${hook}\n`));
  }
  if (others.length > 0)
    io.tell(
      `Other hooks for the same events. One that rewrites a call could change it after a human approved it:\n${others.map((one) => toVisibleText(one.trimEnd())).join("\n")}\nHooks of plugins and extensions are not listed.\n`,
    );
}

function printScopes({ io }: Command, found: JsonValue): void {
  const { scopes, problem } = isJsonObject(found) ? found : {};
  if (!Array.isArray(scopes))
    throw new CountersignError(`But a real call could not ask a human, and is blocked: ${String(problem)}`);
  const more = scopes.filter((scope) => scope !== "hook");
  if (more.length > 0)
    io.tell(
      `Warning: the hook's key can do more than it needs (${toVisibleText(more.join(", "))}). Give it one with the permission hook alone.\n`,
    );
}
