/** Where each agent's settings are, and what the hook is in them. */
import {
  canonicalJson,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "#lib/core/encoding/canonical-json";
import { UsageError } from "#lib/core/text/command-words";
import type { DialectName } from "./hook-dialects";

interface AgentSettings {
  name: string;
  /** In the user's home. */
  ofUser: string;
  /** Of the whole machine: for all of its users, who can't change it. */
  ofMachine: { linux: string; darwin: string };
  events: readonly string[];
  /** What a settings file has that is made for the hook. */
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
    events: ["PreToolUse", "PostToolUse", "PostToolUseFailure"],
    fresh: {},
    write: (command, timeout) => ({ hooks: [{ type: "command", command, timeout }] }),
  },
  codex: {
    name: "Codex",
    ofUser: ".codex/hooks.json",
    ofMachine: everywhere("/etc/codex/hooks.json"),
    events: ["PreToolUse", "PostToolUse"],
    fresh: {},
    write: (command, timeout) => ({ hooks: [{ type: "command", command, timeout }] }),
  },
  copilot: {
    name: "Copilot CLI",
    ofUser: ".copilot/hooks/countersign.json",
    ofMachine: everywhere("/etc/github-copilot/policy.d/countersign.json"),
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
    events: ["BeforeTool", "AfterTool"],
    fresh: {},
    write: (command, seconds) => ({
      hooks: [{ type: "command", name: "countersign", command, timeout: seconds * 1_000 }],
    }),
  },
};

export const settingsOf = (dialect: DialectName) => agents[dialect];

/** The settings with this hook for every event, and without what an earlier installation has left. */
export function addHook(
  { events, fresh, write }: AgentSettings,
  settings: JsonObject | null,
  command: string,
  timeoutSeconds: number,
): JsonObject {
  const { hooks = {} } = settings ?? {};
  if (!isJsonObject(hooks)) throw new UsageError("the settings have hooks that are no object");
  const entry = write(command, timeoutSeconds);
  const added = events.map((event) => [event, replaceEntry(event, hooks[event] ?? [], entry)]);
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
