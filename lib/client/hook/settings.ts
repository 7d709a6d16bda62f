/** Where each agent's settings are, and what the hook is in them. */

import type { Machine } from "#lib/client/cli/machine";
import {
  canonicalJson,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "#lib/protocol/encoding/canonical-json";
import { UsageError } from "#lib/protocol/text/command-words";
import type { DialectName } from "./dialects";

interface AgentSettings {
  name: string;
  /** In the user's home. */
  ofUser: string;
  /** Settings of the whole machine: for all of its users, who can't change them. */
  ofMachine: { linux: string; darwin: string };
  /** In a project and its user's own, which can add hooks for the same events. */
  ofProject: readonly string[];
  events: readonly string[];
  /** Its hook must not hold the agent up: exit code 2 would make it go on instead of stopping. */
  endEvent?: string;
  /** Initial settings of a file that is made for the hook. */
  fresh: JsonObject;
  /** One of the entries of an event. */
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

export const settingsOf = (dialect: DialectName) => agents[dialect];

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
export function addHook(
  dialect: DialectName,
  settings: JsonObject | null,
  command: string,
  timeoutSeconds: number,
): JsonObject {
  const { events, fresh, write } = agents[dialect];
  const { hooks = {} } = settings ?? {};
  if (!isJsonObject(hooks)) throw new UsageError("the settings have hooks that are no object");
  const added = events.map((event) => {
    const entry = write(endWith(command, dialect, event), timeoutSeconds);
    return [event, replaceEntry(event, hooks[event] ?? [], entry)];
  });
  return { ...(settings ?? fresh), hooks: { ...hooks, ...(Object.fromEntries(added) as JsonObject) } };
}

function replaceEntry(event: string, list: JsonValue, entry: JsonObject): JsonValue[] {
  if (!Array.isArray(list)) throw new UsageError(`the settings have ${event} hooks that are no list`);
  const others = list.flatMap(withoutOurs);
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
  return [handler["command"], handler["bash"]].some(
    (text) => typeof text === "string" && /countersign\.mjs'? hook /.test(text),
  );
}

const textsOf = (handler: JsonObject) => [
  handler["command"],
  handler["bash"],
  handler["url"],
  handler["prompt"],
];

/** Handlers for the agent's tool events in settings: one entry may have several. */
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

/** Others' hooks for the same events: each could rewrite a call after it was approved. */
export const listOtherHooks = (dialect: DialectName, settings: JsonObject): string[] =>
  listHandlers(dialect, settings)
    .filter(({ handler }) => !isOurs(handler))
    .map(({ event, handler }) => {
      const text = textsOf(handler).find((one) => typeof one === "string") ?? String(handler["type"]);
      return `${event}: ${text}`;
    });

/** False if one of our entries lets a call run when the hook fails, though this agent could block it. */
export const isFailClosed = (dialect: DialectName, settings: JsonObject): boolean =>
  dialect !== "claude" ||
  listHandlers(dialect, settings)
    .filter(({ handler }) => isOurs(handler))
    .every(({ handler }) => handler["onFailure"] === "block");
