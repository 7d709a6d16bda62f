/** Commands `hook install` and `hook uninstall`: the program where the agent does not work, and the hook in its settings. */

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
import type { JsonObject } from "#lib/protocol/encoding/canonical-json";
import { single, UsageError } from "#lib/protocol/text/command-words";
import { toVisibleText } from "#lib/protocol/text/display-text";
import { agents, type DialectName, dialectNames, listEvents } from "./agents";
import { deferringElsewhere, readTimeout } from "./call";
import { listUnmatched, readDialectName } from "./dialects";
import { readReach } from "./recorded-call";
import {
  addHook,
  addStatusLine,
  addTomlHooks,
  endWith,
  findSettings,
  listOwnHooks,
  listSettings,
  parseHooks,
  parseSettings,
  quote,
  readSettings,
  takeOut,
  tokenVariable,
  toText,
  waitingFolder,
  writeHttp,
} from "./settings";

/** Programs that lie in one folder. */
const hookPrograms = ["countersign-hook.cjs", "countersign-hook.mjs"];
const ownOptions = ["to", "settings", "run-as", "url", "key-file", "port"] as const;
const files: readonly ValuedOption[] = ["output", "agent-key"];
const ownFlags: readonly FlagOption[] = ["system", "yes", "json"];
/** Seconds by which the agent gives up later than the hook, which cancels its request in between. */
const spareSeconds = 30;
/** Modes that ignore the installer's umask: a program that the agent's user can't read blocks nothing. */
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

/** Shows the settings that change. */
function showChanges({ io }: Command, settings: readonly Settings[], { folder, names, sign }: Programs) {
  const changed = settings.filter(({ before, after }) => before !== after);
  for (const name of names) io.print(`${folder}/${name}\n${sign} the hook's program\n\n`);
  for (const { file, before, after } of changed) io.print(`${file}\n${describeChange(before, after)}`);
  return changed;
}

const emptyText = (file: string) => (file.endsWith(".json") ? "{}\n" : "");

/** Removes a file of which nothing is left; where a link leads to it, both stay. */
async function writeChanges({ io: { machine } }: Command, settings: readonly Settings[]): Promise<void> {
  for (const { file, after } of settings) {
    // Settings may hold secrets: who could not read them must not begin to.
    const mode = (await machine.readMode(file)) ?? forAll.file;
    const isLink = (await machine.readOwner(file)) === null;
    if (after === "" && !isLink) await machine.remove(file);
    else await machine.writeFile(file, after || emptyText(file), { ...forAll, file: mode });
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
  const listWords = (event: string) => [...words, ...(agent.isNameless ? ["--event", event] : [])];
  const toShell = (event: string) => [...prefix, ...listWords(event)].map(quote).join(" ");
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
      .map((event) => listWords(event).map(escapeForSudoers).join(" "))
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

/** Quotes a word by systemd.service(5), where specifiers, variables and escapes also count between quotes. */
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
    // A folder at home, or above it, is no project.
    if (await machine.isInside(machine.home, folder)) continue;
    if (await machine.isInside(path, folder))
      throw new UsageError(`${path} is in the working folder ${folder}: choose another place`);
  }
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

/** Names the agent's tools that ask nobody, and cases in which `--defer` defers nothing. */
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

/* Removal, by `countersign hook uninstall`. */

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

/**
 * Escapes a word by sudoers(5), where a backslash is read twice: by the file's reader, and by what compares arguments. A bare
 * `*` would allow any words, such as another --url.
 */
const escapeForSudoers = (word: string) =>
  word.replaceAll("\\", String.raw`\\\\`).replace(/[,:=*?[\]#\s]/g, String.raw`\$&`);
