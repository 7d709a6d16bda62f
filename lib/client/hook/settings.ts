/** Paths of each agent's settings, and the hook's form in them. */

import type { ClientIo, Command, Machine } from "#lib/client/cli/io";
import { utf8Decode } from "#lib/protocol/encoding/bytes";
import {
  canonicalHash,
  canonicalJson,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "#lib/protocol/encoding/canonical-json";
import { parseStrictJson } from "#lib/protocol/encoding/strict-json";
import { single, UsageError } from "#lib/protocol/text/command-words";
import { agents, type DialectName, listEvents } from "./agents";
import { readDialectName } from "./dialects";
import { pluginMark } from "./plugins";

export const tokenVariable = "COUNTERSIGN_HOOK_TOKEN";

/** Entry of an event for `countersign hook serve --port`. Without onFailure a call runs if nobody answers. */
export const writeHttp = (port: number, timeout: number): JsonObject => ({
  hooks: [
    {
      type: "http",
      url: `http://127.0.0.1:${port}/`,
      headers: { Authorization: `Bearer $${tokenVariable}` },
      allowedEnvVars: [tokenVariable],
      timeout,
      onFailure: "block",
    },
  ],
});

const lastWords = "countersign: this hook failed. A call that waits for it does not run.";
/** Adds a sentence on standard error, without which exit code 2 blocks nothing in Codex, Gemini CLI and Qwen Code. */
export function endWith(command: string, dialect: DialectName, event: string): string {
  const say = `echo '${lastWords}' >&2`;
  const { before, end, failure } = agents[dialect];
  if (event === end) return `${command} || { ${say}; exit 1; }`;
  // Agents that read standard output alone get the failure from the hook itself if it ended with 2.
  const isRead = failure !== undefined && event === before;
  const answer = isRead ? `[ $? -eq 2 ] || echo '${JSON.stringify(failure(lastWords))}'; ` : "";
  return `${command} || { ${answer}${say}; exit 2; }`;
}

/** Lists every file that may have hooks of this agent, also for the folder that the check runs in. */
export async function listSettings(machine: Machine, dialect: DialectName, file: string): Promise<string[]> {
  const { ofUser, ofMachine, ofProject } = agents[dialect];
  const machines = Object.values(ofMachine ?? {});
  const [project = "."] = machine.workingFolders;
  const files = [
    file,
    `${machine.home}/${ofUser}`,
    ...machines,
    ...(dialect === "claude" ? machines.map((one) => one.replace(/\.json$/, ".d/*.json")) : []),
    ...ofProject.map((one) => `${project}/${one}`),
  ];
  const found = files.map(async (one) => {
    const [folder = "", ending] = [one.slice(0, one.lastIndexOf("/")), /\.[a-z]+$/.exec(one)?.[0] ?? ""];
    // Copilot and agents with plugins read whatever lies beside their own.
    const readsFolder = dialect === "copilot" || agents[dialect].plugin !== undefined;
    if (!readsFolder && !one.endsWith(`*${ending}`)) return [one];
    const names = (await machine.listFiles(folder)).map(({ name }) => name);
    return names.filter((name) => name.endsWith(ending)).map((name) => `${folder}/${name}`);
  });
  return [...new Set((await Promise.all(found)).flat())];
}

/** The settings with this hook for every event, and without what an earlier installation has left. */
export function addHook(
  dialect: DialectName,
  settings: JsonObject | null,
  writeEntry: (event: string) => JsonObject,
  isWanted: (event: string) => boolean,
): JsonObject {
  const { hooks = {} } = settings ?? {};
  if (!isJsonObject(hooks)) throw new UsageError("the settings have hooks that are no object");
  const added = listEvents(agents[dialect]).flatMap((event) => {
    if (!isWanted(event) && hooks[event] === undefined) return [];
    const entry = isWanted(event) ? writeEntry(event) : null;
    return [[event, replaceEntry(event, hooks[event] ?? [], entry)]];
  });
  const { fresh } = agents[dialect];
  return { ...(settings ?? fresh), hooks: { ...hooks, ...(Object.fromEntries(added) as JsonObject) } };
}

function replaceEntry(event: string, list: JsonValue, entry: JsonObject | null): JsonValue[] {
  if (!Array.isArray(list)) throw new UsageError(`the settings have ${event} hooks that are no list`);
  const others = list.flatMap(withoutOurs);
  if (entry === null) return others;
  const isThere = list.some((one) => canonicalJson(one) === canonicalJson(entry));
  return isThere && others.length === list.length - 1 ? list : [...others, entry];
}

/** An entry may have other handlers beside ours. */
function withoutOurs(entry: JsonValue): JsonValue[] {
  if (!isJsonObject(entry)) return [entry];
  const { hooks } = entry;
  if (!Array.isArray(hooks)) return isOurs(entry) ? [] : [entry];
  const others = hooks.filter((handler) => !isOurs(handler));
  if (others.length === hooks.length) return [entry];
  return others.length === 0 ? [] : [{ ...entry, hooks: others }];
}

function isOurs(handler: JsonValue): boolean {
  if (!isJsonObject(handler)) return false;
  const { allowedEnvVars } = handler;
  if (Array.isArray(allowedEnvVars) && allowedEnvVars.includes(tokenVariable)) return true;
  return [handler["command"], handler["bash"]].some(
    (text) => typeof text === "string" && /countersign(?:\.mjs'? hook|-hook\.cjs'?) /.test(text),
  );
}

const listTexts = (handler: JsonObject) => [
  handler["command"],
  handler["bash"],
  handler["url"],
  handler["prompt"],
];

function listHandlers(dialect: DialectName, settings: JsonObject): { event: string; handler: JsonObject }[] {
  const { hooks } = settings;
  if (!isJsonObject(hooks)) return [];
  return listEvents(agents[dialect]).flatMap((event) => {
    const list = hooks[event];
    const entries = Array.isArray(list) ? list.filter(isJsonObject) : [];
    return entries
      .flatMap((entry) => (Array.isArray(entry["hooks"]) ? entry["hooks"].filter(isJsonObject) : [entry]))
      .map((handler) => ({ event, handler }));
  });
}

export const listOwnHooks = (dialect: DialectName, settings: JsonObject) =>
  listHandlers(dialect, settings).filter(({ handler }) => isOurs(handler));

/** Others' hooks for the same events: each could rewrite a call after it was approved. */
export const listOtherHooks = (dialect: DialectName, settings: JsonObject): string[] =>
  listHandlers(dialect, settings)
    .filter(({ handler }) => !isOurs(handler))
    .map(({ event, handler }) => {
      const text = listTexts(handler).find((one) => typeof one === "string") ?? String(handler["type"]);
      return `${event}: ${text}`;
    });

/** Types of our entries that let a call run when the hook fails, though this agent could block it. */
export const listFailOpen = (dialect: DialectName, settings: JsonObject): JsonValue[] =>
  dialect !== "claude"
    ? []
    : listHandlers(dialect, settings)
        .filter(({ event, handler }) => isOurs(handler) && event !== agents.claude.end)
        .filter(({ handler }) => handler["onFailure"] !== "block")
        .map(({ handler }) => handler["type"] ?? null);

/* Settings in TOML, as far as hooks need it. */

/** Comments before a table are of no table. */
const splitTables = (text: string) => text.split(/^(?=(?:[ \t]*#.*\n)*[ \t]*\[)/m);

/** Null if the table has no such text, or writes it over several lines. */
function readTomlText(table: string, name: string): string | null {
  const [, basic, literal] =
    new RegExp(`^\\s*${name}\\s*=\\s*(?:("(?:\\\\.|[^"\\\\])*")|'([^']*)')`, "m").exec(table) ?? [];
  return basic === undefined ? (literal ?? null) : (JSON.parse(basic) as string);
}

const isOwnTable = (table: string) => isOurs({ command: readTomlText(table, "command") });

/** A list of hooks, or a text over several lines, could hide a table from these few patterns. */
const isPlainToml = (text: string) => !/"""|'''|^\s*hooks\s*=/m.test(text);

function parseTomlHooks(text: string): JsonObject | null {
  if (!isPlainToml(text)) return null;
  const hooks: Record<string, JsonObject[]> = {};
  for (const table of splitTables(text)) {
    const [type, command] = [readTomlText(table, "type"), readTomlText(table, "command")];
    if (type !== null) hooks[type] = [...(hooks[type] ?? []), { command }];
  }
  return { hooks };
}

export function addTomlHooks(
  file: string,
  text: string,
  entries: readonly (readonly [string, JsonObject])[],
) {
  if (!isPlainToml(text))
    throw new UsageError(`${file} is not plain TOML, so nothing was changed: write the hook into it by hand`);
  const others = splitTables(text)
    .filter((table) => !isOwnTable(table))
    .join("")
    .trimEnd();
  const own = entries.map(([type, entry]) => {
    // A project replaces a hook of the same name: it must not be able to guess this one.
    const name = `countersign-${type}-${canonicalHash(entry).slice(0, 16)}`;
    const lines = Object.entries({ name, type, ...entry }).map(
      ([key, value]) => `${key} = ${JSON.stringify(value)}`,
    );
    return ["[[hooks]]", ...lines].join("\n");
  });
  return `${[...(others === "" ? [] : [others]), ...own].join("\n\n")}\n`;
}

/** The command that a plugin of ours starts. */
const parsePlugin = (text: string): string[] | null =>
  JSON.parse(/^const command = (\[.*\]);$/m.exec(text)?.[1] ?? "null");

/** Hooks in an agent's settings, or in the plugin that is its settings; null if the text has another form. */
export function parseHooks(dialect: DialectName, text: string): JsonObject | null {
  try {
    const { plugin, before, isToml } = agents[dialect];
    if (isToml) return parseTomlHooks(text);
    if (plugin === undefined) {
      const settings = JSON.parse(text) as JsonValue;
      return isJsonObject(settings) ? settings : null;
    }
    const words = parsePlugin(text);
    if (words === null) return { hooks: { [before]: [{ type: "another plugin" }] } };
    return { hooks: { [before]: [{ command: words.map(quote).join(" ") }] } };
  } catch {
    return null;
  }
}

const steering = /^(?:NODE_OPTIONS|LD_PRELOAD|LD_LIBRARY_PATH|DYLD_\w+|HOME)$/;

/** Variables that the settings give to every hook, and by which its program is started otherwise. */
export const listSteering = ({ env }: JsonObject): string[] =>
  isJsonObject(env) ? Object.keys(env).filter((name) => steering.test(name)) : [];

export function findSettings({ line, io: { machine } }: Command): string {
  const { name, ofMachine, ofUser } = agents[readDialectName(single(line, "dialect"))];
  const named = single(line, "settings");
  if (named !== undefined) return machine.absolute(named);
  if (!line.flags.has("system")) return `${machine.home}/${ofUser}`;
  if (ofMachine === null)
    throw new UsageError(
      `--system: ${name} has no settings for the whole machine: name a file with --settings`,
    );
  return machine.platform === "darwin" ? ofMachine.darwin : ofMachine.linux;
}

export const readSettings = async (io: ClientIo, file: string) =>
  (await io.isFile(file)) ? utf8Decode(await io.readFile(file)) : "";
export const toText = (settings: JsonObject | null) => `${JSON.stringify(settings, null, 2)}\n`;

export function parseSettings(
  file: string,
  text: string,
  todo = "write the hook into it by hand",
): JsonObject | null {
  if (text.trim() === "") return null;
  try {
    const settings = parseStrictJson(text);
    if (isJsonObject(settings)) return settings;
  } catch {
    // Said below: comments, for example, would be lost.
  }
  throw new UsageError(`${file} is not plain JSON, so nothing was changed: ${todo}`);
}

/** Shows link and code of what waits; a status line of the user's own stays. */
export function addStatusLine(settings: JsonObject | null, path: readonly string[]): JsonObject | null {
  const [name, ...rest] = path;
  if (name === undefined) return settings;
  const now = settings?.[name];
  if (rest.length > 0 && (now === undefined || isJsonObject(now)))
    return { ...settings, [name]: addStatusLine(now ?? null, rest) };
  return now === undefined ? { ...settings, [name]: statusLine } : settings;
}

/** Folder in the user's home. */
export const waitingFolder = ".countersign/waiting";
const statusLine = {
  type: "command",
  command: `find ~/${waitingFolder} -type f -mmin -1440 -exec cat {} + 2>/dev/null`,
  refreshInterval: 2,
};

/* Removal: what install wrote goes, and what others wrote stays. */

const byHand = "take the hook out of it by hand";

/** Removes our hooks, and events of ours that have no other. */
function removeHook(dialect: DialectName, settings: JsonObject): JsonObject {
  const ours = listEvents(agents[dialect]);
  const { hooks, ...others } = settings;
  if (!isJsonObject(hooks)) return settings;
  const left = Object.entries(hooks).map(([event, list]): [string, JsonValue] => [
    event,
    Array.isArray(list) ? list.flatMap(withoutOurs) : list,
  ]);
  if (canonicalJson(Object.fromEntries(left)) === canonicalJson(hooks)) return settings;
  const kept = left.filter(([event, list]) => canonicalJson(list) !== "[]" || !ours.includes(event));
  return kept.length === 0 ? others : { ...settings, hooks: Object.fromEntries(kept) };
}

function removeStatusLine(settings: JsonObject, [name, ...rest]: readonly string[]): JsonObject {
  const now = name === undefined ? undefined : settings[name];
  if (name === undefined || !isJsonObject(now ?? null)) return settings;
  const { [name]: _, ...others } = settings;
  if (rest.length === 0)
    return canonicalJson(now as JsonObject) === canonicalJson(statusLine) ? others : settings;
  const inner = removeStatusLine(now as JsonObject, rest);
  if (inner === now) return settings;
  return Object.keys(inner).length === 0 ? others : { ...settings, [name]: inner };
}

/** The text without what install wrote; none if nothing else is in it. */
export function takeOut(dialect: DialectName, file: string, text: string): string {
  const { plugin, isToml, fresh, statusLine: { path = [] } = {} } = agents[dialect];
  if (!text.includes("countersign") && !text.includes(tokenVariable)) return text;
  if (plugin !== undefined && file.endsWith(".js")) {
    if (!text.includes(pluginMark)) return text;
    if (text === plugin(parsePlugin(text) ?? [])) return "";
    throw new UsageError(`${file} is not what install writes, so nothing was changed: ${byHand}`);
  }
  if (isToml) {
    if (!isPlainToml(text))
      throw new UsageError(`${file} is not plain TOML, so nothing was changed: ${byHand}`);
    const others = splitTables(text).filter((table) => !isOwnTable(table));
    return others.length === splitTables(text).length ? text : addTomlHooks(file, text, []).trimStart();
  }
  const settings = parseSettings(file, text, byHand) ?? {};
  const left = removeStatusLine(removeHook(dialect, settings), path);
  if (left === settings) return text;
  return [{}, fresh].some((one) => canonicalJson(one) === canonicalJson(left)) ? "" : toText(left);
}

export const quote = (word: string) =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;
