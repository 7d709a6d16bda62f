/** Where each agent's settings are, and what the hook is in them. */

import { readCount } from "#lib/client/cli/attest";
import {
  type ClientIo,
  type Command,
  connect,
  describeChange,
  type FlagOption,
  requireWords,
  type ValuedOption,
} from "#lib/client/cli/io";
import type { Machine } from "#lib/client/cli/machine";
import { utf8Decode } from "#lib/protocol/encoding/bytes";
import {
  canonicalJson,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "#lib/protocol/encoding/canonical-json";
import { parseStrictJson } from "#lib/protocol/encoding/strict-json";
import { single, UsageError } from "#lib/protocol/text/command-words";
import { toVisibleText } from "#lib/protocol/text/display-text";
import { deferringElsewhere, readReach, readTimeout } from "./call";
import { type DialectName, listUnmatched, readDialectName } from "./dialects";

interface AgentSettings {
  name: string;
  /** In the user's home. */
  ofUser: string;
  /** Settings of the whole machine: for all of its users, who can't change them. */
  ofMachine: { linux: string; darwin: string };
  /** In a project and its user's own, which can add hooks for the same events. */
  ofProject: readonly string[];
  /** The first is the one before a call. */
  events: readonly string[];
  /** Its hook must not hold the agent up: exit code 2 would make it go on instead of stopping. */
  endEvent?: string;
  fresh: JsonObject;
  write(command: string, timeoutSeconds: number): JsonObject;
}

const everywhere = (path: string) => ({ linux: path, darwin: path });

const agents: Record<DialectName, AgentSettings> = {
  claude: {
    name: "Claude Code",
    ofUser: ".claude/settings.json",
    ofMachine: {
      linux: "/etc/claude-code/managed-settings.json",
      darwin: "/Library/Application Support/ClaudeCode/managed-settings.json",
    },
    ofProject: [".claude/settings.json", ".claude/settings.local.json"],
    events: ["PreToolUse", "PostToolUse", "PostToolUseFailure"],
    fresh: {},
    // Since 2.1.295 a hook that crashes, answers rubbish or takes too long blocks by it; older versions don't read it.
    write: (command, timeout) => ({ hooks: [{ type: "command", command, timeout, onFailure: "block" }] }),
  },
  codex: {
    name: "Codex",
    ofUser: ".codex/hooks.json",
    ofMachine: everywhere("/etc/codex/hooks.json"),
    ofProject: [".codex/hooks.json"],
    events: ["PreToolUse", "PostToolUse", "Stop"],
    endEvent: "Stop",
    fresh: {},
    write: (command, timeout) => ({ hooks: [{ type: "command", command, timeout }] }),
  },
  copilot: {
    name: "Copilot CLI",
    ofUser: ".copilot/hooks/countersign.json",
    ofMachine: everywhere("/etc/github-copilot/policy.d/countersign.json"),
    ofProject: [".github/hooks/*.json"],
    events: ["preToolUse", "postToolUse", "postToolUseFailure"],
    fresh: { version: 1 },
    write: (bash, timeoutSec) => ({ type: "command", bash, timeoutSec }),
  },
  gemini: {
    name: "Gemini CLI",
    ofUser: ".gemini/settings.json",
    ofMachine: {
      linux: "/etc/gemini-cli/settings.json",
      darwin: "/Library/Application Support/GeminiCli/settings.json",
    },
    ofProject: [".gemini/settings.json"],
    events: ["BeforeTool", "AfterTool"],
    fresh: {},
    write: (command, seconds) => ({
      hooks: [{ type: "command", name: "countersign", command, timeout: seconds * 1_000 }],
    }),
  },
};

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

export const getSettings = (dialect: DialectName) => agents[dialect];

const lastWords = "countersign: this hook failed. A call that waits for it does not run.";
/** For an agent that reads standard output alone. The hook itself has written it if it ended with 2. */
const failure = JSON.stringify({ permissionDecision: "deny", permissionDecisionReason: lastWords });

/** Without a sentence on standard error, exit code 2 blocks nothing in Codex, Gemini CLI and Qwen Code. */
function endWith(command: string, dialect: DialectName, event: string): string {
  const say = `echo '${lastWords}' >&2`;
  if (event === agents[dialect].endEvent) return `${command} || { ${say}; exit 1; }`;
  const answer = dialect === "copilot" && event === "preToolUse" ? `[ $? -eq 2 ] || echo '${failure}'; ` : "";
  return `${command} || { ${answer}${say}; exit 2; }`;
}

/** Every file that may have hooks of this agent, also for the folder that the check runs in. */
export async function listSettings(machine: Machine, dialect: DialectName, file: string): Promise<string[]> {
  const { ofUser, ofMachine, ofProject } = agents[dialect];
  const machines = Object.values(ofMachine);
  const [project = "."] = machine.workingFolders;
  const files = [
    file,
    `${machine.home}/${ofUser}`,
    ...machines,
    ...(dialect === "claude" ? machines.map((one) => one.replace(/\.json$/, ".d/*.json")) : []),
    ...ofProject.map((one) => `${project}/${one}`),
  ];
  const found = files.map(async (one) => {
    // Copilot reads whatever lies beside its own.
    if (dialect !== "copilot" && !one.endsWith("*.json")) return [one];
    const folder = one.slice(0, one.lastIndexOf("/"));
    const names = (await machine.listFiles(folder)).map(({ name }) => name);
    return names.filter((name) => name.endsWith(".json")).map((name) => `${folder}/${name}`);
  });
  return [...new Set((await Promise.all(found)).flat())];
}

/** The settings with this hook for every event, and without what an earlier installation has left. */
function addHook(
  dialect: DialectName,
  settings: JsonObject | null,
  writeEntry: (event: string) => JsonObject,
  isBefore: boolean,
): JsonObject {
  const { events, fresh } = agents[dialect];
  const { hooks = {} } = settings ?? {};
  if (!isJsonObject(hooks)) throw new UsageError("the settings have hooks that are no object");
  const added = events.flatMap((event, at) => {
    // A hook that only records has nothing to do before a call.
    const isWanted = at > 0 || isBefore;
    if (!isWanted && hooks[event] === undefined) return [];
    const entry = isWanted ? writeEntry(event) : null;
    return [[event, replaceEntry(event, hooks[event] ?? [], entry)]];
  });
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
  const events = [...agents[dialect].events, ...(dialect === "codex" ? ["PermissionRequest"] : [])];
  return events.flatMap((event) => {
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
        .filter(({ handler }) => isOurs(handler) && handler["onFailure"] !== "block")
        .map(({ handler }) => handler["type"] ?? null);

/* `countersign hook install`: the program where the agent does not work, and the hook in the agent's settings. */

const ownOptions = ["to", "settings", "run-as", "url", "key-file", "port"] as const;
const files: readonly ValuedOption[] = ["output", "agent-key"];
const ownFlags: readonly FlagOption[] = ["system", "yes", "json"];
/** How much later than the hook the agent gives up: the hook cancels its request in between. */
const spareSeconds = 30;
/** Whatever the installer's umask: a program that the agent's user can't read blocks nothing. */
const forAll = { file: 0o644, folder: 0o755 };

interface Plan {
  settingsFile: string;
  before: string;
  after: string;
  /** Starts the helper with the agent, for hooks of type `http`. */
  start: string | null;
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
  const { folder, changed, settingsFile, before, after } = plan;
  const change = describeChange(before, after);
  for (const name of changed) io.print(`${folder}/${name}\n+ the hook's program\n\n`);
  if (change !== "") io.print(`${settingsFile}\n${change}`);
  if (change === "" && changed.length === 0) io.print("Nothing to change: the hook is installed.\n");
  else if (line.flags.has("yes")) {
    for (const name of changed)
      await io.machine.writeFile(`${folder}/${name}`, io.hookPrograms[name] ?? "", forAll);
    // Settings may hold secrets: who could not read them must not begin to.
    const file = (await io.machine.readMode(settingsFile)) ?? forAll.file;
    if (change !== "") await io.machine.writeFile(settingsFile, after, { ...forAll, file });
    io.print(
      "\nInstalled. Restart the agent, then prove that it is live: countersign hook install --check\n",
    );
  } else io.print("\nNothing is written yet. To write it, add --yes.\n");
  if (plan.start !== null)
    io.print(`\nEvery call is blocked unless its helper runs. Start the agent with it:\n\n  ${plan.start}\n`);
  describeReach(command);
  await warn(command, plan);
}

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
  const usualFolder = line.flags.has("system") ? "/opt/countersign" : `${machine.home}/.countersign`;
  const folder = machine.absolute(single(line, "to") ?? usualFolder);
  await requireOutside(command, folder);
  const words = [machine.nodePath, `${folder}/countersign-hook.cjs`, ...(await listArguments(command))];
  const user = single(line, "run-as");
  const prefix = user === undefined ? [] : ["sudo", "-n", "-u", user, "--"];
  const shell = [...prefix, ...words].map(quote).join(" ");
  const settingsFile = findSettings(command);
  const before = (await io.isFile(settingsFile)) ? utf8Decode(await io.readFile(settingsFile)) : "";
  const seconds = readTimeout(command) + spareSeconds;
  const isBefore = reach.isAsking || line.flags.has("before");
  const port = readCount(command, "port");
  if (port !== undefined && (dialect !== "claude" || user !== undefined))
    throw new UsageError("--port is for Claude Code, without --run-as");
  const { write } = agents[dialect];
  const writeEntry = (event: string) =>
    port === undefined ? write(endWith(shell, dialect, event), seconds) : writeHttp(port, seconds);
  const settings = addHook(dialect, parseSettings(settingsFile, before), writeEntry, isBefore);
  const after = `${JSON.stringify(settings, null, 2)}\n`;
  const shown = words.map(quote);
  const start =
    port === undefined
      ? null
      : [...shown.slice(0, 2), "serve", "--port", port, ...shown.slice(2), "--", "claude"].join(" ");
  return {
    start,
    settingsFile,
    before,
    after,
    folder,
    changed: await findChanged(io, folder),
    sudoers: words.map(escapeForSudoers).join(" "),
  };
}

export function findSettings({ line, io: { machine } }: Command): string {
  const { ofMachine, ofUser } = getSettings(readDialectName(single(line, "dialect")));
  const named = single(line, "settings");
  if (named !== undefined) return machine.absolute(named);
  if (!line.flags.has("system")) return `${machine.home}/${ofUser}`;
  return machine.platform === "darwin" ? ofMachine.darwin : ofMachine.linux;
}

/** The options as they were given, with absolute paths: an agent runs the hook anywhere. */
async function listArguments(command: Command): Promise<string[]> {
  const { line, io } = command;
  const keyFile = single(line, "key-file");
  if (keyFile === undefined)
    throw new UsageError("hook install needs --key-file: a file with an API key that has the scope hook");
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

function parseSettings(file: string, text: string): JsonObject | null {
  if (text.trim() === "") return null;
  try {
    const settings = parseStrictJson(text);
    if (isJsonObject(settings)) return settings;
  } catch {
    // Said below: comments, for example, would be lost.
  }
  throw new UsageError(`${file} is not plain JSON, so nothing was changed: write the hook into it by hand`);
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
  const { name } = getSettings(dialect);
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

async function warn({ io, line }: Command, { sudoers }: Plan): Promise<void> {
  const keyFile = single(line, "key-file") ?? "";
  const mode = await io.machine.readMode(keyFile);
  if (mode === null) io.tell(`Warning: ${toVisibleText(keyFile)} isn't there.\n`);
  else if ((mode & 0o044) !== 0)
    io.tell(`Warning: other users can read ${toVisibleText(keyFile)}. Run: chmod 600 ${quote(keyFile)}\n`);
  const user = single(line, "run-as");
  if (user === undefined)
    io.tell(
      "Warning: commands that the agent runs as your user can read this key and change these files. --run-as and --system are against that: see /docs/hook\n",
    );
  else
    io.tell(
      `For visudo, with the agent's user in place of AGENT:\nAGENT ALL=(${user}) NOPASSWD: ${sudoers}\n`,
    );
}

const quote = (word: string) =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`;

/**
 * As sudoers(5) has it, where a backslash is read twice: by the file's reader, and by what compares arguments. A bare `*`
 * would allow any words, such as another --url.
 */
const escapeForSudoers = (word: string) =>
  word.replaceAll("\\", String.raw`\\\\`).replace(/[,:=*?[\]#\s]/g, String.raw`\$&`);
