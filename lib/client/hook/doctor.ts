/** `countersign doctor`: what this machine's hooks see, and what stands in their way. Changes nothing, asks nobody. */

import { CountersignError } from "#lib/client/api/errors";
import { send } from "#lib/client/api/transport";
import {
  type Command,
  connect,
  flagOptions,
  optionalOptions,
  readText,
  requireWords,
  valuedOptions,
} from "#lib/client/cli/io";
import { canonicalHash, type JsonObject } from "#lib/protocol/encoding/canonical-json";
import { readCommandLine, single } from "#lib/protocol/text/command-words";
import { explainError, toVisibleText } from "#lib/protocol/text/display-text";
import { agents, type DialectName, dialectNames } from "./agents";
import { readTimeout } from "./call";
import { tryHook } from "./check";
import { listUnmatched } from "./dialects";
import { countWaiting, openSpool, readTrouble } from "./record";
import { readAgent, readReach } from "./recorded-call";
import {
  listFailOpen,
  listOtherHooks,
  listOwnHooks,
  listSettings,
  listSteering,
  parseHooks,
} from "./settings";

type Status = "ok" | "warning" | "fault";
interface Finding {
  status: Status;
  text: string;
}

const answerMs = 10_000;
/** The service refuses nothing for it, but times on this machine then can't be compared. */
const maxClockSeconds = 30;

export async function runDoctor(command: Command): Promise<void> {
  requireWords(command);
  const { io, line } = command;
  const [ofAgents, common]: [Finding[], Finding[]] = [[], []];
  const addTo = (list: Finding[]) => (status: Status, text: string) =>
    void list.push({ status, text: toVisibleText(text) });
  const add = addTo(ofAgents);
  const shared: Shared = { add: addTo(common), examined: new Set(), keys: new Map() };
  for (const dialect of dialectNames) await examineAgent(command, dialect, add, shared);
  for (const key of shared.keys.values()) await examineKey(key, shared.add);
  if (ofAgents.length === 0)
    add("warning", "no agent of this user or machine has the hook: see countersign hook install");
  const findings = [...ofAgents, ...common];
  if (line.flags.has("json")) io.print(`${JSON.stringify(findings, null, 2)}\n`);
  else for (const { status, text } of findings) io.print(`${status.padEnd(8)} ${text}\n`);
  const faults = findings.filter(({ status }) => status === "fault").length;
  if (faults > 0) throw new CountersignError(`faults found: ${faults}`);
}

type Add = (status: Status, text: string) => void;

/** Programs, keys and services that hooks of several agents share: each is examined and named once, after the agents. */
interface Shared {
  add: Add;
  examined: Set<string>;
  keys: Map<string, UsedKey>;
}

interface UsedKey {
  hook: Command;
  /** True if sudo runs its hooks as another user. */
  isOthers: boolean;
  /** True if a hook records with it. */
  isRecording: boolean;
}

const isNew = ({ examined }: Shared, ...what: readonly unknown[]) =>
  examined.size < examined.add(JSON.stringify(what)).size;

async function examineAgent(command: Command, dialect: DialectName, add: Add, shared: Shared): Promise<void> {
  const { io } = command;
  const { name, before, ofUser, ofMachine } = agents[dialect];
  const seen = new Set<string>();
  const ofMachines: string[] = Object.values(ofMachine ?? {});
  const switches: [Status, string][] = [];
  let isManaged = false;
  for (const file of await listSettings(io.machine, dialect, `${io.machine.home}/${ofUser}`)) {
    if (!(await io.isFile(file))) continue;
    const settings = parseHooks(dialect, await readText(io, file).catch(() => ""));
    if (settings === null) continue;
    if (settings["disableAllHooks"] === true)
      switches.push(["fault", `${name}: ${file} switches all hooks off`]);
    for (const variable of listSteering(settings))
      switches.push([
        "warning",
        `${name}: ${file} sets ${variable} for the hook too, which may run otherwise`,
      ]);
    const own = listOwnHooks(dialect, settings);
    if (own.length === 0) continue;
    isManaged ||= ofMachines.includes(file);
    if (listFailOpen(dialect, settings).length > 0)
      add("fault", `${name}: in ${file} a hook has no "onFailure": "block", so a call runs if it crashes`);
    for (const other of listOtherHooks(dialect, settings))
      add("warning", `${name}: another hook could change a call that was approved: ${other}`);
    for (const { handler } of own) {
      const text = String(handler["command"] ?? handler["bash"] ?? handler["url"]);
      const line = text.replace(/ \|\| \{.*$/s, "");
      if (seen.has(line)) continue;
      seen.add(line);
      const called = own.filter(({ handler: one }) =>
        JSON.stringify(one).includes(JSON.stringify(line).slice(1, -1)),
      );
      const asking = called.find(({ event }) => event === before)?.handler;
      await examineHook(command, { dialect, name, file, text, line, asking }, add, shared);
    }
  }
  // A project, which the agent writes to, can't switch off what an administrator has installed.
  if (seen.size > 0 && !isManaged) for (const one of switches) add(...one);
}

interface Found {
  dialect: DialectName;
  name: string;
  file: string;
  /** Output in the form that its agent reads. */
  text: string;
  line: string;
  /** Entry for the event before a call. */
  asking: JsonObject | undefined;
}

/** Returns when the agent ends the hook, in the agent's own unit; null if the entry doesn't say. */
function readLimit(entry: JsonObject): number | null {
  const [, limit] = /"timeout(?:Sec)?":(\d+)/.exec(JSON.stringify(entry)) ?? [];
  return limit === undefined ? null : Number(limit);
}

/** Words of a command as the installer quotes them. */
const splitWords = (line: string): string[] =>
  (line.match(/(?:'[^']*'|\\'|[^\s'\\])+/g) ?? []).map((word) =>
    word.replaceAll(/'([^']*)'|\\(')/g, (_, quoted, escaped) => quoted ?? escaped),
  );

async function examineHook(
  { io }: Command,
  { dialect, name, file, text, line, asking }: Found,
  add: Add,
  shared: Shared,
): Promise<void> {
  if (/^https?:/.test(line)) {
    const asked = io.fetch(line, { signal: AbortSignal.timeout(answerMs) });
    const isAnswered = await asked.then(
      () => true,
      () => false,
    );
    const says = isAnswered ? "" : `, and nothing answers at ${line}: is hook serve --port running?`;
    return add(isAnswered ? "ok" : "fault", `${name}: a hook of type http in ${file}${says}`);
  }
  const words = splitWords(line);
  const at = words.findIndex((word) => /countersign(?:-hook)?\.[cm]js$/.test(word));
  const [node = "", program = ""] = [words[at - 1], words[at]];
  const argv = words.slice(at + 1).filter((word) => word !== "hook");
  const options = readCommandLine(argv, {
    valued: valuedOptions,
    optional: optionalOptions,
    flags: flagOptions,
  });
  const hook: Command = { io, line: options, words: [] };
  add(
    "ok",
    `${name}: a hook in ${file}${words[0] === "sudo" ? `, run as ${words[words.indexOf("-u") + 1]}` : ""}`,
  );
  const missing: string[] = [];
  for (const needed of [node, program]) if (!(await io.isFile(needed))) missing.push(needed);
  for (const needed of missing) add("fault", `${name}: ${needed} isn't there, so every call is blocked`);
  if (asking !== undefined && missing.length === 0) {
    const problem = await tryHook(io, agents[dialect], text);
    const said = problem === null ? "blocks a call" : `doesn't answer a call: ${problem}`;
    add(problem === null ? "ok" : "fault", `${name}: started as ${name} starts it, it ${said}`);
    const { hint } = agents[dialect];
    if (hint !== undefined) add("warning", hint);
  }
  const limit = asking === undefined ? null : readLimit(asking);
  const least = readLimit(agents[dialect].write(line, readTimeout(hook), true));
  if (limit !== null && least !== null && limit < least)
    add(
      "fault",
      `${name}: ends the hook while it waits: timeout in ${file} is ${limit}, not ${least} or more`,
    );
  if (isNew(shared, program)) await compareProgram(io, program, shared.add);
  const reach = readReach(hook, dialect);
  const unseen = listUnmatched([...reach.ask, ...reach.record], dialect);
  if (unseen.length > 0)
    add("warning", `${name}: pass unseen: ${unseen.join(", ")}, and what no pattern names`);
  if (reach.isAsking && asking === undefined)
    add("fault", `${name}: nothing is asked: the hook before a call is missing in ${file}`);
  const isOthers = words[0] === "sudo";
  const used = JSON.stringify([options.values["key-file"], options.values.url, isOthers]);
  const isRecording = reach.record.length > 0 || shared.keys.get(used)?.isRecording === true;
  shared.keys.set(used, { hook, isOthers, isRecording });
  if (!isOthers && (single(options, "url") ?? io.serviceUrl) !== undefined) await examineSpool(hook, shared);
}

async function compareProgram(io: Command["io"], program: string, add: Add): Promise<void> {
  const ours = io.hookPrograms[program.slice(program.lastIndexOf("/") + 1)];
  if (ours === undefined || !(await io.isFile(program))) return;
  const isSame = canonicalHash(ours) === canonicalHash(await readText(io, program));
  add(
    isSame ? "ok" : "warning",
    isSame ? `${program} is of this version` : `${program} is of another version: run hook install again`,
  );
}

/** The key, the way to the service, and both clocks. */
async function examineKey({ hook, isOthers, isRecording }: UsedKey, add: Add): Promise<void> {
  const { io, line } = hook;
  const keyFile = single(line, "key-file") ?? "";
  const key = await readText(io, keyFile).catch(() => null);
  if (key === null && !isOthers) return add("fault", `${keyFile} can't be read, so every call is blocked`);
  if (key === null) return add("ok", `${keyFile} can't be read by this user, and so not by its agent`);
  const whose = isOthers ? "fault" : "warning";
  add(whose, `${keyFile} can be read by this user: so can each command that its agent runs`);
  const service = connect({ ...hook, io: { ...io, apiKey: key.trim() || undefined } });
  try {
    const signal = AbortSignal.timeout(answerMs);
    const answer = await service.fetch(`${service.baseUrl}/v1/health`, { signal });
    const seconds = Math.round(
      Math.abs(Date.parse(answer.headers.get("date") ?? "") - service.now().getTime()) / 1_000,
    );
    add(answer.ok ? "ok" : "fault", `${service.baseUrl} answers${answer.ok ? "" : ` with ${answer.status}`}`);
    if (seconds > maxClockSeconds)
      add("warning", `this machine's clock and the service's differ by ${seconds} seconds`);
    const info = await send<JsonObject>(service, { method: "GET", path: "/v1/keys/info", signal, tries: 1 });
    const scopes = (info["scopes"] ?? []) as string[];
    const may = {
      hook: scopes.includes("hook") || ["attest", "authorize"].every((scope) => scopes.includes(scope)),
      record: !isRecording || scopes.includes("record") || scopes.includes("attest"),
    };
    for (const [scope, isThere] of Object.entries(may))
      if (!isThere) add("fault", `the key in ${keyFile} lacks the permission ${scope}`);
    const more = scopes.filter((scope) => scope !== "hook" && scope !== "record");
    if (more.length > 0)
      add("warning", `the key in ${keyFile} can do more than a hook needs: ${more.join(", ")}`);
  } catch (error) {
    add("fault", `${service.baseUrl}: ${explainError(error)}`);
  }
}

/** Recorded calls that wait. */
async function examineSpool(hook: Command, shared: Shared): Promise<void> {
  const { baseUrl } = connect(hook);
  const agent = readAgent(hook);
  if (!isNew(shared, "spool", baseUrl, agent)) return;
  const spool = openSpool(hook.io, baseUrl, agent);
  const waiting = await countWaiting(spool);
  const trouble = await readTrouble(spool);
  if (waiting > 0)
    shared.add(
      trouble === null ? "warning" : "fault",
      trouble ?? `recorded calls of ${agent} that wait to be sent: ${waiting}`,
    );
}
