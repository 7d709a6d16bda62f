/** Where each agent's settings are, and what the hook is in them. */

import { readCount } from "#lib/client/cli/attest";
import {
  type ClientIo,
  type Command,
  connect,
  describeChange,
  type FlagOption,
  type Machine,
  requireWords,
  type ValuedOption,
} from "#lib/client/cli/io";
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
import { toVisibleText } from "#lib/protocol/text/display-text";
import { agents, type DialectName, dialectNames, listEvents } from "./agents";
import { deferringElsewhere, readTimeout } from "./call";
import { listUnmatched, readDialectName } from "./dialects";
import { pluginMark } from "./plugins";
import { readReach } from "./recorded-call";

const tokenVariable = "COUNTERSIGN_HOOK_TOKEN";

/** Entry of an event for `countersign hook serve --port`. Without onFailure a call runs if nobody answers. */
const writeHttp = (port: number, timeout: number): JsonObject => ({
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
/** Without a sentence on standard error, exit code 2 blocks nothing in Codex, Gemini CLI and Qwen Code. */
function endWith(command: string, dialect: DialectName, event: string): string {
  const say = `echo '${lastWords}' >&2`;
  const { before, end, failure } = agents[dialect];
  if (event === end) return `${command} || { ${say}; exit 1; }`;
  // For an agent that reads standard output alone. The hook itself has written it if it ended with 2.
  const isRead = failure !== undefined && event === before;
  const answer = isRead ? `[ $? -eq 2 ] || echo '${JSON.stringify(failure(lastWords))}'; ` : "";
  return `${command} || { ${answer}${say}; exit 2; }`;
}

/** Every file that may have hooks of this agent, also for the folder that the check runs in. */
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
function addHook(
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

function addTomlHooks(file: string, text: string, entries: readonly (readonly [string, JsonObject])[]) {
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

/** Hooks in an agent's settings, or in the plugin that is its settings; null if the text has another form. */
export function parseHooks(dialect: DialectName, text: string): JsonObject | null {
  try {
    const { plugin, before, isToml } = agents[dialect];
    if (isToml) return parseTomlHooks(text);
    if (plugin === undefined) {
      const settings = JSON.parse(text) as JsonValue;
      return isJsonObject(settings) ? settings : null;
    }
    const [, words] = /^const command = (\[.*\]);$/m.exec(text) ?? [];
    if (words === undefined) return { hooks: { [before]: [{ type: "another plugin" }] } };
    return { hooks: { [before]: [{ command: (JSON.parse(words) as string[]).map(quote).join(" ") }] } };
  } catch {
    return null;
  }
}

/* `countersign hook install`: the program where the agent does not work, and the hook in the agent's settings. */

/** Both lie in one folder. */
const hookPrograms = ["countersign-hook.cjs", "countersign-hook.mjs"];
const ownOptions = ["to", "settings", "run-as", "url", "key-file", "port"] as const;
const files: readonly ValuedOption[] = ["output", "agent-key"];
const ownFlags: readonly FlagOption[] = ["system", "yes", "json"];
/** How much later than the hook the agent gives up: the hook cancels its request in between. */
const spareSeconds = 30;
/** Whatever the installer's umask: a program that the agent's user can't read blocks nothing. */
const forAll = { file: 0o644, folder: 0o755 };

interface Settings {
  file: string;
  before: string;
  after: string;
}

interface Plan {
  settings: Settings[];
  /** Ways to start the helper, for hooks of type `http`. */
  start: string;
  folder: string;
  /** Names of programs that aren't there yet, or are others. */
  changed: string[];
  /** Commands that the agent's user may run as another, as sudoers(5) writes them. */
  sudoers: string;
}

export async function installHook(command: Command): Promise<void> {
  requireWords({ ...command, words: command.words.slice(1) });
  const { io, line } = command;
  if (!["linux", "darwin"].includes(io.machine.platform))
    throw new UsageError("hook install works on Linux and macOS; elsewhere, write the settings by hand");
  const plan = await makePlan(command);
  const { folder, changed } = plan;
  const settings = showChanges(command, plan.settings, { folder, names: changed, sign: "+" });
  if (settings.length === 0 && changed.length === 0) io.print("Nothing to change: the hook is installed.\n");
  else if (line.flags.has("yes")) {
    for (const name of changed)
      await io.machine.writeFile(`${folder}/${name}`, io.hookPrograms[name] ?? "", forAll);
    await writeChanges(command, settings);
    const checked = (["dialect", "settings"] as const).flatMap((name) =>
      (line.values[name] ?? []).map((value) => ` --${name} ${quote(toAbsolute(command, name, value))}`),
    );
    io.print(
      `\nInstalled. Restart the agent, then prove that it is live: countersign hook install --check${checked.join("")}\n`,
    );
  } else io.print("\nNothing is written yet. To write it, add --yes.\n");
  io.print(plan.start);
  describeReach(command);
  await warn(command, plan);
}

interface Programs {
  folder: string;
  names: readonly string[];
  sign: "+" | "-";
}

/** Those that change. */
function showChanges({ io }: Command, settings: readonly Settings[], { folder, names, sign }: Programs) {
  const changed = settings.filter(({ before, after }) => before !== after);
  for (const name of names) io.print(`${folder}/${name}\n${sign} the hook's program\n\n`);
  for (const { file, before, after } of changed) io.print(`${file}\n${describeChange(before, after)}`);
  return changed;
}

/** A file of which nothing is left goes. */
async function writeChanges({ io: { machine } }: Command, settings: readonly Settings[]): Promise<void> {
  for (const { file, after } of settings) {
    // Settings may hold secrets: who could not read them must not begin to.
    const mode = (await machine.readMode(file)) ?? forAll.file;
    if (after === "") await machine.remove(file);
    else await machine.writeFile(file, after, { ...forAll, file: mode });
  }
}

const findFolder = ({ line, io: { machine } }: Command) =>
  machine.absolute(
    single(line, "to") ?? (line.flags.has("system") ? "/opt/countersign" : `${machine.home}/.countersign`),
  );

async function makePlan(command: Command): Promise<Plan> {
  const { line, io } = command;
  const { machine } = io;
  const dialect = readDialectName(single(line, "dialect"));
  if (single(line, "agent") === undefined) throw new UsageError("hook install needs --agent");
  const reach = readReach(command, dialect);
  // The hook couldn't see where it runs, and would deny each call that nobody decides in time.
  if (line.flags.has("defer") && single(line, "run-as") !== undefined)
    throw new UsageError(
      "--defer doesn't work with --run-as: sudo hides from the hook how Claude Code was started",
    );
  const folder = findFolder(command);
  await requireOutside(command, folder);
  const agent = agents[dialect];
  const user = single(line, "run-as");
  // Others can't read what the hook of another user shows, and a machine's users have homes of their own.
  const isShowing =
    reach.isAsking &&
    user === undefined &&
    !line.flags.has("system") &&
    agent.plugin === undefined &&
    single(line, "output") === undefined;
  const output = isShowing ? ["--output", `${machine.home}/${waitingFolder}`] : [];
  const { path: statusPath = [], file: statusFile } = (isShowing && agent.statusLine) || {};
  const words = [
    machine.nodePath,
    `${folder}/countersign-hook.cjs`,
    ...(await listArguments(command)),
    ...output,
  ];
  const prefix = user === undefined ? [] : ["sudo", "-n", "-u", user, "--"];
  const wordsOf = (event: string) => [...words, ...(agent.isNameless ? ["--event", event] : [])];
  const toShell = (event: string) => [...prefix, ...wordsOf(event)].map(quote).join(" ");
  const settingsFile = findSettings(command);
  const before = await readSettings(io, settingsFile);
  const seconds = readTimeout(command) + spareSeconds;
  // A hook that only records has nothing to do before a call.
  const isWanted = (event: string) =>
    event === agent.prompt
      ? line.flags.has("answer-prompts")
      : event !== agent.before || reach.isAsking || line.flags.has("before");
  const port = readCount(command, "port");
  if (port !== undefined && (dialect !== "claude" || user !== undefined))
    throw new UsageError("--port is for Claude Code, without --run-as");
  const writeEntry = (event: string) =>
    port === undefined
      ? agent.write(
          endWith(toShell(event), dialect, event),
          seconds,
          event === agent.before,
          isShowing ? `~/${waitingFolder}` : undefined,
        )
      : writeHttp(port, seconds);
  const makeSettings = () => {
    const parsed = parseSettings(settingsFile, before);
    const shown = statusFile === undefined ? addStatusLine(parsed, statusPath) : parsed;
    return toText(addHook(dialect, shown, writeEntry, isWanted));
  };
  const makeToml = () => {
    const entries = listEvents(agent)
      .filter(isWanted)
      .map((event) => [event, writeEntry(event)] as const);
    return addTomlHooks(settingsFile, before, entries);
  };
  // Named settings may be of another home.
  const hasOwnFile = statusFile !== undefined && single(line, "settings") === undefined;
  const more = hasOwnFile ? [await addStatusFile(command, `${machine.home}/${statusFile}`, statusPath)] : [];
  const after = agent.plugin?.([...prefix, ...words]) ?? (agent.isToml ? makeToml() : makeSettings());
  const [node = "", program = "", ...rest] = words;
  const serving = port === undefined ? null : [node, program, "serve", "--port", String(port), ...rest];
  const service = port !== undefined && !line.flags.has("system") ? nameService(machine, port) : null;
  if (service !== null && serving !== null) {
    const { name, file } = service;
    const text = machine.platform === "darwin" ? writePlist(name, serving) : writeUnit(serving);
    more.push({ file, before: await readSettings(io, file), after: text });
  }
  const former = line.flags.has("system") ? [] : listServices(machine, dialect, before);
  for (const { name, file, end, enabled } of former) {
    if (name === service?.name || !(await io.isFile(file))) continue;
    io.tell(`The helper of the former port goes on until you end it: ${end}\n`);
    // systemctl disables no unit whose file is gone.
    if (enabled !== undefined && (await io.isFile(enabled))) continue;
    more.push({ file, before: await readSettings(io, file), after: "" });
  }
  return {
    start: serving === null ? "" : describeStart([...serving, "--", "claude"], port, service?.enable),
    settings: [{ file: settingsFile, before, after }, ...more],
    folder,
    changed: await findChanged(io, folder),
    sudoers: (agent.isNameless ? listEvents(agent) : [""])
      .map((event) => wordsOf(event).map(escapeForSudoers).join(" "))
      .join(", "),
  };
}

function describeStart(command: readonly string[], port: number | undefined, enable?: string): string {
  const withAgent = `\nEvery call is blocked unless its helper runs. Start the agent with it:\n\n  ${command.map(quote).join(" ")}\n`;
  if (enable === undefined) return withAgent;
  const token = `${tokenVariable}="$(cat ~/.countersign/run/token-${port})"`;
  return `${withAgent}\nOr let your session start the helper, and give its token to the agent:\n\n  ${enable}\n  ${token} claude\n`;
}

/** The helper as a service of the user's session, which the user enables. Each port has its own. */
function nameService({ home, platform }: Machine, port: number) {
  if (platform === "darwin") {
    const name = `dev.countersign.hook.${port}`;
    const file = `${home}/Library/LaunchAgents/${name}.plist`;
    const enable = `launchctl bootstrap gui/$(id -u) ${quote(file)}`;
    return { name, file, enable, end: `launchctl bootout gui/$(id -u)/${name}` };
  }
  const name = `countersign-hook-${port}`;
  return {
    name,
    file: `${home}/.config/systemd/user/${name}.service`,
    enable: `systemctl --user enable --now ${name}`,
    end: `systemctl --user disable --now ${name}`,
    enabled: `${home}/.config/systemd/user/default.target.wants/${name}.service`,
  };
}

/** Services of the ports that the settings name. */
function listServices(machine: Machine, dialect: DialectName, text: string) {
  const found = parseHooks(dialect, text);
  const urls = found === null ? [] : listOwnHooks(dialect, found).map(({ handler }) => handler["url"]);
  const ports = new Set(urls.map((url) => Number(/:(\d+)\/$/.exec(String(url))?.[1])));
  return [...ports].filter(Boolean).map((port) => nameService(machine, port));
}

const writeUnit = (command: readonly string[]) => `[Unit]
Description=Countersign hook of a coding agent

[Service]
ExecStart=${command.map(quoteForSystemd).join(" ")}
Restart=on-failure

[Install]
WantedBy=default.target
`;

/** As systemd.service(5) reads a command line: with specifiers, variables and escapes also between quotes. */
const quoteForSystemd = (word: string) =>
  /^[\w@+=:,./-]+$/.test(word)
    ? word
    : `"${word.replace(/["\\]/g, String.raw`\$&`).replaceAll("%", "%%").replaceAll("$", "$$$$").replaceAll("\n", String.raw`\n`)}"`;

const escapeXml = (text: string) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
const writePlist = (name: string, command: readonly string[]) => `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
  <dict>
    <key>Label</key>
    <string>${name}</string>
    <key>ProgramArguments</key>
    <array>
${command.map((word) => `      <string>${escapeXml(word)}</string>\n`).join("")}    </array>
    <key>KeepAlive</key>
    <dict><key>SuccessfulExit</key><false/></dict>
    <key>RunAtLoad</key>
    <true/>
  </dict>
</plist>
`;

const readSettings = async (io: ClientIo, file: string) =>
  (await io.isFile(file)) ? utf8Decode(await io.readFile(file)) : "";
const toText = (settings: JsonObject | null) => `${JSON.stringify(settings, null, 2)}\n`;

async function addStatusFile(command: Command, file: string, path: readonly string[]): Promise<Settings> {
  const { io } = command;
  const before = await readSettings(io, file);
  let now: JsonObject | null;
  try {
    now = parseSettings(file, before);
  } catch {
    // The hook itself is in another file.
    const why = `${toVisibleText(file)} is not plain JSON`;
    io.tell(`Warning: ${why}: no status line was added. See ${connect(command).baseUrl}/docs/hook\n`);
    return { file, before, after: before };
  }
  const shown = addStatusLine(now, path);
  return { file, before, after: shown === now ? before : toText(shown) };
}

/** Shows link and code of what waits; a status line of the user's own stays. */
function addStatusLine(settings: JsonObject | null, path: readonly string[]): JsonObject | null {
  const [name, ...rest] = path;
  if (name === undefined) return settings;
  const now = settings?.[name];
  if (rest.length > 0 && (now === undefined || isJsonObject(now)))
    return { ...settings, [name]: addStatusLine(now ?? null, rest) };
  return now === undefined ? { ...settings, [name]: statusLine } : settings;
}

/** In the user's home. */
const waitingFolder = ".countersign/waiting";
const statusLine = {
  type: "command",
  command: `find ~/${waitingFolder} -type f -mmin -1440 -exec cat {} + 2>/dev/null`,
  refreshInterval: 2,
};

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

/** The options as they were given, with absolute paths: an agent runs the hook anywhere. */
async function listArguments(command: Command): Promise<string[]> {
  const { line, io } = command;
  const keyFile = single(line, "key-file");
  if (keyFile === undefined)
    throw new UsageError(
      "hook install needs --key-file: a file with an API key that has the permission hook",
    );
  const key = io.machine.absolute(keyFile);
  await requireOutside(command, key);
  const valued = Object.entries(line.values) as [ValuedOption, string[]][];
  const given = valued
    .filter(([name]) => !(ownOptions as readonly string[]).includes(name))
    .flatMap(([name, values]) => values.flatMap((value) => [`--${name}`, toAbsolute(command, name, value)]));
  const flags = [...line.flags].filter((flag) => !ownFlags.includes(flag)).map((flag) => `--${flag}`);
  return ["--url", connect(command).baseUrl, "--key-file", key, ...given, ...flags];
}

const toAbsolute = ({ io }: Command, name: ValuedOption, value: string) =>
  files.includes(name) ? io.machine.absolute(value) : value;

/** An agent can change or read everything in a project. */
async function requireOutside({ io: { machine } }: Command, path: string): Promise<void> {
  const project = await machine.findProject(path);
  if (project !== null) throw new UsageError(`${path} is in the repository ${project}: choose another place`);
  for (const folder of machine.workingFolders) {
    // Somebody at home, or above it, isn't in a project.
    if (await machine.isInside(machine.home, folder)) continue;
    if (await machine.isInside(path, folder))
      throw new UsageError(`${path} is in the working folder ${folder}: choose another place`);
  }
}

function parseSettings(
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

async function findChanged(io: ClientIo, folder: string): Promise<string[]> {
  const programs = Object.entries(io.hookPrograms);
  if (programs.length === 0) throw new UsageError("hook install works with countersign.mjs only");
  const changed: string[] = [];
  for (const [name, text] of programs) {
    const file = `${folder}/${name}`;
    if (!(await io.isFile(file)) || utf8Decode(await io.readFile(file)) !== text) changed.push(name);
  }
  return changed;
}

/** Which of the agent's tools ask nobody, and where `--defer` defers nothing. */
function describeReach({ io, line }: Command): void {
  const dialect = readDialectName(single(line, "dialect"));
  const { ask, record, isAsking } = readReach({ io, line, words: [] }, dialect);
  const unmatched = isAsking ? listUnmatched(ask, dialect) : [];
  const { name, hint } = agents[dialect];
  if (hint !== undefined) io.print(`\n${hint}\n`);
  if (!isAsking) io.print(`\nNobody is asked about any call of ${name}.\n`);
  if (unmatched.length > 0)
    io.print(
      `\nNot matched, so nobody is asked for these tools of ${name}: ${unmatched.join(", ")}; nor for tools that are not listed here, such as those of MCP servers, unless an --ask names them.\n`,
    );
  const unseen = listUnmatched([...ask, ...record], dialect);
  if (record.length > 0)
    io.print(
      unseen.length === 0
        ? `\nEvery call is recorded.\n`
        : `\nNeither asked about nor recorded: ${unseen.join(", ")}.\n`,
    );
  if (line.flags.has("defer")) io.print(`\n${deferringElsewhere}\n`);
}

async function warn(command: Command, { sudoers }: Plan): Promise<void> {
  const { io, line } = command;
  const keyFile = single(line, "key-file") ?? "";
  const mode = await io.machine.readMode(keyFile);
  if (mode === null) io.tell(`Warning: ${toVisibleText(keyFile)} isn't there.\n`);
  else if ((mode & 0o044) !== 0)
    io.tell(`Warning: other users can read ${toVisibleText(keyFile)}. Run: chmod 600 ${quote(keyFile)}\n`);
  const user = single(line, "run-as");
  if (user === undefined)
    io.tell(
      `Warning: commands that the agent runs as your user can read this key and change these files. --run-as and --system prevent that: see ${connect(command).baseUrl}/docs/hook\n`,
    );
  else
    io.tell(
      `For visudo, with the agent's user in place of AGENT:\nAGENT ALL=(${user}) NOPASSWD: ${sudoers}\n`,
    );
}

/* `countersign hook uninstall`: what install wrote goes, and what others wrote stays. */

const byHand = "take the hook out of it by hand";

/** Without our hooks, and without an event of ours that has no other. */
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
function takeOut(dialect: DialectName, file: string, text: string): string {
  const { plugin, isToml, fresh, statusLine: { path = [] } = {} } = agents[dialect];
  if (!text.includes("countersign") && !text.includes(tokenVariable)) return text;
  const isPlugin = plugin !== undefined && file.endsWith(".js");
  if (isPlugin) return text.includes(pluginMark) ? "" : text;
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

/** Settings and services of this user, machine and folder, of any agent, that start the programs. */
async function listUsers({ io }: Command, folder: string, except: readonly string[]): Promise<string[]> {
  const { machine } = io;
  const units = nameService(machine, 0).file.replace(/\/[^/]*$/, "");
  const services = (await machine.listNames(units)).filter((name) => name.includes("countersign"));
  const settings = dialectNames.map((dialect) =>
    listSettings(machine, dialect, `${machine.home}/${agents[dialect].ofUser}`),
  );
  const found = [...(await Promise.all(settings)).flat(), ...services.map((name) => `${units}/${name}`)];
  const users = new Set<string>();
  for (const file of found)
    if (!except.includes(file) && (await readSettings(io, file)).includes(`${folder}/countersign-hook`))
      users.add(file);
  return [...users];
}

export async function uninstallHook(command: Command): Promise<void> {
  requireWords({ ...command, words: command.words.slice(1) });
  const { io, line } = command;
  const dialect = readDialectName(single(line, "dialect"));
  const file = findSettings(command);
  const { file: statusFile } = agents[dialect].statusLine ?? {};
  const isUsual = single(line, "settings") === undefined;
  const files = [file, ...(statusFile !== undefined && isUsual ? [`${io.machine.home}/${statusFile}`] : [])];
  const settings: Settings[] = [];
  for (const one of files) {
    const before = await readSettings(io, one);
    settings.push({ file: one, before, after: takeOut(dialect, one, before) });
  }
  const before = settings[0]?.before ?? "";
  const services = line.flags.has("system") ? [] : listServices(io.machine, dialect, before);
  for (const { file: unit, enabled, end } of services) {
    if (enabled !== undefined && (await io.isFile(enabled)))
      throw new UsageError(
        `a service of your session starts the hook's helper, so nothing was changed: first run ${end}`,
      );
    settings.push({ file: unit, before: await readSettings(io, unit), after: "" });
  }
  const folder = findFolder(command);
  const users = await listUsers(
    command,
    folder,
    settings.map((one) => one.file),
  );
  const isThere = await Promise.all(hookPrograms.map((name) => io.isFile(`${folder}/${name}`)));
  const names = users.length > 0 ? [] : hookPrograms.filter((_, i) => isThere[i]);
  const changed = showChanges(command, settings, { folder, names, sign: "-" });
  if (changed.length === 0 && names.length === 0)
    return io.print(`Nothing to take out: ${toVisibleText(file)} has no hook of Countersign.\n`);
  if (!line.flags.has("yes")) return io.print("\nNothing is changed yet. To take it out, add --yes.\n");
  await writeChanges(command, changed);
  for (const name of names) await io.machine.remove(`${folder}/${name}`);
  io.print("\nUninstalled. Restart the agent: a session that began with the hook goes on blocking calls.\n");
  for (const { end, enabled } of services) if (enabled === undefined) io.print(`End the helper: ${end}\n`);
  for (const user of users)
    io.print(`The hook's program stays in ${folder}: ${toVisibleText(user)} uses it.\n`);
  for (const { file: one, after } of changed)
    if (after.includes(waitingFolder)) io.print(`A status line that isn't install's own stays in ${one}.\n`);
  io.print("Your key stays. If nothing else uses it, delete its file, and revoke it in the portal.\n");
}

const quote = (word: string) =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;

/**
 * As sudoers(5) has it, where a backslash is read twice: by the file's reader, and by what compares arguments. A bare `*`
 * would allow any words, such as another --url.
 */
const escapeForSudoers = (word: string) =>
  word.replaceAll("\\", String.raw`\\\\`).replace(/[,:=*?[\]#\s]/g, String.raw`\$&`);
