/**
 * Coding agents, a row each: where their settings are, what their events look like, what they do with an answer, and what
 * becomes of a call if the hook fails. The table in /docs/hook is made of it (event.test.ts).
 */

import type { Outcome } from "#lib/client/gate/gate";
import { isJsonObject, type JsonObject, type JsonValue } from "#lib/protocol/encoding/canonical-json";
import { openCodePlugin, piPlugin } from "./plugins";

export interface ParsedEvent {
  /** Strictly parsed; without its results. */
  event: JsonObject;
  /** Results, as `JSON.parse` reads them. */
  results: JsonObject;
}

export interface Answer {
  /** Never `ask`: without a terminal, agents take it for something else. */
  permission: "allow" | "deny" | "defer";
  /** The model reads it. */
  reason: string;
  /** Text for the user alone. */
  message?: string | undefined;
  /** The approved input: agents that take it run this, whatever other hooks have made of the call before. */
  input?: JsonValue | undefined;
}

/** Members of an event, as paths with dots. */
interface Members {
  /** Name of the event; null: the installed command names it, or its results tell. */
  event: string | null;
  session: string;
  tool: string;
  input: string;
  /** Null: the agent doesn't number its calls. */
  call: string | null;
  folder: string;
}

interface EndedCall {
  tool: string;
  input: JsonValue;
  results: JsonObject;
}

type ReadOutcome = (call: EndedCall) => Outcome;
type Fate = "blocked" | "runs" | "not known";

export interface Agent {
  name: string;
  /** Version that ran with this hook; null: from its documents or its source. */
  tried: string | null;
  /** A call whose hook ends with an unknown code, takes too long, or answers rubbish. */
  fates: readonly [crash: Fate, late: Fate, rubbish: Fate];
  subagents: "yes" | "no" | "not known";
  /** Outcomes that it tells, in words. */
  tells: string;
  /** The place where its user sees a waiting call: title, link and code. */
  shows: string;

  members: Members;
  results: readonly string[];
  before: string;
  after: Readonly<Record<string, Outcome | ReadOutcome>>;
  /** Event of a turn's end. Its hook must not hold the agent up: exit code 2 would make it go on instead of stopping. */
  end?: string;
  /** Event of its own question to its user, whether a call may run; the call's id is missing. */
  prompt?: string;
  /** Set if some calls end without an event: they are attested at the turn's end. */
  forgetsCalls?: true;
  canDefer?: true;
  /** True if it runs the input of an answer, once checked by the tool's schema: then a human can change it. */
  takesInput?: true;
  /** Paths in its results, or a pattern in their text, of its own name for what goes on in the background. */
  task?: readonly string[] | RegExp;
  answer(answer: Answer): object | null;
  /** Answer without an opinion, where none at all would block a call that nobody has to be asked about. */
  silence?: object;
  /** Message to the user after an action. */
  note?(message: string): object;
  /** Standard output of a hook that fails before a call, for an agent that doesn't read standard error. */
  failure?(reason: string): object;

  /** Tools that run a command: a pattern for one is a pattern for all. */
  shells: readonly string[];
  /** Names from older versions. */
  formerShells?: readonly string[];
  tools: readonly string[];
  /** Name of an MCP server's tool. */
  mcp: string;

  /** File in the user's home. */
  ofUser: string;
  /** Settings of the whole machine, for all of its users, who can't change them; null if it has none. */
  ofMachine: { linux: string; darwin: string } | null;
  /** Files in a project, which its users can add hooks for the same events to. */
  ofProject: readonly string[];
  fresh: JsonObject;
  /** Entry of an event in its settings. `waiting`: folder of --output, for an agent that says something while a hook runs. */
  write(command: string, timeoutSeconds: number, isBefore: boolean, waiting?: string): JsonObject;
  /** Set if its settings are in TOML, a table for each hook. */
  isToml?: true;
  /** Text of the settings, if they are a program that the agent loads. */
  plugin?(command: readonly string[]): string;
  /** Place of a status line's command in its settings, or in a file of its own in the user's home. */
  statusLine?: { path: readonly string[]; file?: string };
  /** Set if its events don't name themselves: the installed command does. */
  isNameless?: true;
  /** A thing to know after the installation. */
  hint?: string;
}

const words = (text: string) => text.trim().split(/\s+/);
const everywhere = (path: string) => ({ linux: path, darwin: path });

export function readPath(value: JsonValue | undefined, path: string): JsonValue | undefined {
  let found: JsonValue | undefined = value;
  for (const name of path.split("."))
    found =
      typeof found === "object" && found !== null && Object.hasOwn(found, name)
        ? (found as JsonObject)[name]
        : undefined;
  return found;
}

/* Ends of calls. */

const readClaudeOutcome: ReadOutcome = ({ tool, input, results: { tool_response: response } }) => {
  if (readPath(response, "interrupted") === true) return "failed";
  const isInBackground =
    tool === "Monitor" ||
    readPath(input, "run_in_background") === true ||
    typeof readPath(response, "backgroundTaskId") === "string" ||
    /_launched$/.test(String(readPath(response, "status")));
  return isInBackground ? "started" : "completed";
};

/** Codex tells of a shell's text alone, and nothing after a tool of an MCP server that failed. */
const readCodexOutcome: ReadOutcome = ({ results }) =>
  readPath(results, "tool_response.isError") === false ? "completed" : "unknown";

function readText(value: JsonValue | undefined): string {
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return value.map(readText).join("\n");
  return value !== undefined && isJsonObject(value) ? readText(value["text"]) : "";
}

/** A shell's exit code is only in the text that it puts out, after what the command wrote. */
const readCopilotOutcome: ReadOutcome = ({ tool, input, results: { toolResult: result } }) => {
  if (readPath(result, "resultType") !== "success") return "failed";
  if (!agents.copilot.shells.includes(tool)) return "completed";
  if (readPath(input, "mode") === "async" || readPath(input, "detach") === true) return "started";
  const text = readText(readPath(result, "textResultForLlm"));
  const [, code] = /<[^<>\n]*\bexit(?:ed with)?(?: exit)? code (-?\d+)>\s*$/.exec(text) ?? [];
  if (code === undefined) return "unknown";
  return code === "0" ? "completed" : "failed";
};

/** The lines that follow a command's output. The last of a name counts: the output may have such lines too. */
const readGeminiOutcome: ReadOutcome = ({ tool, input, results: { tool_response: response } }) => {
  if ((readPath(response, "error") ?? null) !== null) return "failed";
  if (!agents.gemini.shells.includes(tool)) return "completed";
  // Since 0.61 a tool's output is between two tags.
  const text = readText(readPath(response, "llmContent"))
    .replace(/^<untrusted_context>\n/, "")
    .replace(/\n<\/untrusted_context>\s*$/, "");
  const readLine = (name: string) =>
    [...text.matchAll(new RegExp(`^${name}: (.*)$`, "gm"))].at(-1)?.[1]?.replace("(none)", "");
  if (/^Command was (?:automatically )?cancelled/.test(text)) return "failed";
  const isInBackground = readPath(input, "is_background") === true;
  if (isInBackground || /^Command moved to background/.test(text) || readLine("Background PIDs"))
    return "started";
  if (readLine("Signal")) return "failed";
  const code = readLine("Exit Code") ?? "0";
  if (code !== "0") return code === "" ? "unknown" : "failed";
  // The last line is there unless the text was cut, and with it perhaps a code.
  return /\nProcess Group PGID: \d+\s*$/.test(text) ? "completed" : "unknown";
};

const readQwenOutcome: ReadOutcome = ({ input }) =>
  readPath(input, "is_background") === true ? "started" : "completed";

/** Cursor's tools put out JSON as text. */
const readCursorOutcome: ReadOutcome = ({ tool, results }) => {
  if (!agents.cursor.shells.includes(tool)) return "completed";
  const [, code] = /"exit_?[cC]ode"\s*:\s*(-?\d+)/.exec(readText(results["tool_output"])) ?? [];
  if (code === undefined) return "unknown";
  return code === "0" ? "completed" : "failed";
};

const readAntigravityOutcome: ReadOutcome = ({ tool, results }) => {
  if (readText(results["error"]) !== "") return "failed";
  return agents.antigravity.shells.includes(tool) ? "unknown" : "completed";
};

const readOpenHandsOutcome: ReadOutcome = ({ results }) => {
  const response = results["tool_response"];
  if (readPath(response, "is_error") === true) return "failed";
  const code = readPath(response, "exit_code") ?? readPath(response, "metadata.exit_code");
  if (typeof code !== "number" || code === -1) return "unknown";
  return code === 0 ? "completed" : "failed";
};

const readVibeOutcome: ReadOutcome = ({ results }) => {
  const code = readPath(results, "tool_output.returncode") ?? 0;
  return results["tool_status"] === "success" && code === 0 ? "completed" : "failed";
};

/** Results as our own plugin writes them. */
const readPluginOutcome: ReadOutcome = ({ results }) => {
  const [isError, code] = [readPath(results, "result.isError"), readPath(results, "result.exit")];
  if (isError === true || (typeof code === "number" && code !== 0)) return "failed";
  return isError === false || code === 0 ? "completed" : "unknown";
};

export function readTask({ task }: Agent, { tool_response: response }: JsonObject): string | undefined {
  if (task === undefined) return undefined;
  const found =
    task instanceof RegExp
      ? [task.exec(readText(readPath(response, "llmContent")))?.[1]]
      : task.map((path) => readPath(response, path));
  return found.find((name) => typeof name === "string");
}

/* Answers. */

const answerHookSpecific = ({ permission, reason, message, input }: Answer) => ({
  hookSpecificOutput: {
    // Required: without it the whole object is ignored, and the tool runs.
    hookEventName: "PreToolUse",
    permissionDecision: permission,
    permissionDecisionReason: reason,
    ...(input !== undefined && isJsonObject(input) && { updatedInput: input }),
  },
  ...(message !== undefined && { systemMessage: message }),
});

const answerDecision = ({ permission, reason, message }: Answer) => ({
  decision: permission,
  reason,
  ...(message !== undefined && { systemMessage: message }),
});

const noteToUser = (message: string) => ({ systemMessage: message });

/* Settings. */

const writeNested = (command: string, timeout: number) => ({
  hooks: [{ type: "command", command, timeout }],
});

const pluginMembers: Members = {
  event: "event",
  session: "session",
  tool: "tool",
  input: "input",
  call: "call",
  folder: "cwd",
};

const claudeMembers: Members = {
  event: "hook_event_name",
  session: "session_id",
  tool: "tool_name",
  input: "tool_input",
  call: "tool_use_id",
  folder: "cwd",
};

/** A hook that only our own plugin starts. */
const pluginRow = {
  fates: ["blocked", "blocked", "blocked"],
  members: pluginMembers,
  results: ["result"],
  before: "before",
  after: { after: readPluginOutcome },
  answer: answerDecision,
  fresh: {},
  write: () => ({}),
} as const;

/** Rows in the order of /docs/hook. */
const rows = {
  /** https://code.claude.com/docs/en/hooks */
  claude: {
    name: "Claude Code",
    tried: "2.1.332",
    // Set through `onFailure`, which it reads since 2.1.295.
    fates: ["blocked", "blocked", "blocked"],
    subagents: "yes",
    tells: "completed, failed or started, and that a background command ended",
    shows: "status line",
    members: claudeMembers,
    results: ["tool_response", "error"],
    before: "PreToolUse",
    // A command that ends with another code than 0 fails, whatever it has done before.
    after: { PostToolUse: readClaudeOutcome, PostToolUseFailure: "failed" },
    end: "Stop",
    task: ["backgroundTaskId", "taskId", "agentId"],
    canDefer: true,
    takesInput: true,
    answer: answerHookSpecific,
    note: noteToUser,
    shells: ["Bash", "Monitor", "PowerShell"],
    tools: words(`
      Write Edit NotebookEdit Read Glob Grep LSP WebFetch WebSearch Agent Skill Workflow Artifact SendMessage SendUserFile
      CronCreate CronDelete RemoteTrigger ScheduleWakeup TaskCreate TaskStop TaskUpdate TodoWrite ToolSearch
      EnterWorktree ExitWorktree EnterPlanMode ExitPlanMode AskUserQuestion ListMcpResourcesTool ReadMcpResourceTool`),
    mcp: "mcp__SERVER__TOOL",
    ofUser: ".claude/settings.json",
    ofMachine: {
      linux: "/etc/claude-code/managed-settings.json",
      darwin: "/Library/Application Support/ClaudeCode/managed-settings.json",
    },
    ofProject: [".claude/settings.json", ".claude/settings.local.json"],
    fresh: {},
    statusLine: { path: ["statusLine"] },
    write: (command, timeout) => ({ hooks: [{ type: "command", command, timeout, onFailure: "block" }] }),
  },
  /**
   * Claude Code's events, with one for calls that succeeded and calls that failed. It knows no "allow", and runs the tool if it
   * finds a field that it doesn't know.
   */
  codex: {
    name: "Codex",
    tried: "0.171.0",
    fates: ["runs", "runs", "runs"],
    subagents: "yes",
    tells: "nothing of a shell's exit code; of MCP tools that they completed, or nothing",
    shows: "notification; its status names the folder",
    members: claudeMembers,
    results: ["tool_response"],
    before: "PreToolUse",
    after: { PostToolUse: readCodexOutcome },
    end: "Stop",
    prompt: "PermissionRequest",
    forgetsCalls: true,
    answer: (answer) =>
      answer.permission === "allow"
        ? null
        : answerHookSpecific({ permission: answer.permission, reason: answer.reason }),
    shells: ["Bash"],
    formerShells: words("shell shell_command local_shell exec_command write_stdin exec"),
    tools: words("apply_patch update_plan view_image web_search spawn_agent send_input request_permissions"),
    mcp: "mcp__SERVER__TOOL",
    ofUser: ".codex/hooks.json",
    ofMachine: everywhere("/etc/codex/hooks.json"),
    ofProject: [".codex/hooks.json"],
    fresh: {},
    // Fixed when a session starts, so it can't have the link itself.
    write: (command, timeout, isBefore, waiting) => ({
      hooks: [
        {
          type: "command",
          command,
          timeout,
          ...(isBefore && waiting !== undefined && { statusMessage: `link and code: ${waiting}` }),
        },
      ],
    }),
    hint: "Codex skips a new hook until you trust it with /hooks, but for the machine's own (--system). With allow_managed_hooks_only = true in /etc/codex/requirements.toml, no other hook runs beside that one.",
  },
  /** https://docs.github.com/en/copilot/reference/hooks-configuration */
  copilot: {
    name: "Copilot CLI",
    tried: "1.0.102",
    fates: ["blocked", "runs", "runs"],
    subagents: "yes",
    tells: "completed or failed; of a shell by the text that it puts out",
    shows: "status line",
    members: {
      event: null,
      session: "sessionId",
      tool: "toolName",
      input: "toolArgs",
      call: null,
      folder: "cwd",
    },
    results: ["toolResult", "error"],
    before: "preToolUse",
    after: { postToolUse: readCopilotOutcome, postToolUseFailure: readCopilotOutcome },
    answer: ({ permission, reason }) => ({
      permissionDecision: permission,
      permissionDecisionReason: reason,
    }),
    failure: (reason) => ({ permissionDecision: "deny", permissionDecisionReason: reason }),
    shells: words("bash powershell write_bash write_powershell"),
    tools: words(`
      create edit str_replace_editor apply_patch view grep glob web_fetch web_search task skill store_memory sql
      read_bash stop_bash read_powershell stop_powershell report_intent update_todo ask_user`),
    mcp: "SERVER-TOOL",
    ofUser: ".copilot/hooks/countersign.json",
    ofMachine: everywhere("/etc/github-copilot/policy.d/countersign.json"),
    ofProject: [".github/hooks/*.json"],
    fresh: { version: 1 },
    statusLine: { path: ["statusLine"], file: ".copilot/settings.json" },
    write: (bash, timeoutSec) => ({ type: "command", bash, timeoutSec }),
  },
  /** https://geminicli.com/docs/hooks/reference */
  gemini: {
    name: "Gemini CLI",
    tried: "0.61.0",
    fates: ["runs", "runs", "runs"],
    subagents: "yes",
    tells: "completed, failed or started; of a shell by the text that it puts out",
    shows: "window title, notification",
    members: { ...claudeMembers, call: null },
    results: ["tool_response"],
    before: "BeforeTool",
    after: { AfterTool: readGeminiOutcome },
    answer: answerDecision,
    note: noteToUser,
    shells: ["run_shell_command"],
    tools: words(`
      write_file replace read_file read_many_files list_directory glob grep_search web_fetch google_web_search write_todos
      activate_skill ask_user enter_plan_mode exit_plan_mode invoke_agent complete_task get_internal_docs update_topic
      list_mcp_resources read_mcp_resource list_background_processes read_background_output`),
    mcp: "mcp_SERVER_TOOL",
    ofUser: ".gemini/settings.json",
    ofMachine: {
      linux: "/etc/gemini-cli/settings.json",
      darwin: "/Library/Application Support/GeminiCli/settings.json",
    },
    ofProject: [".gemini/settings.json"],
    fresh: {},
    write: (command, seconds) => ({
      hooks: [{ type: "command", name: "countersign", command, timeout: seconds * 1_000 }],
    }),
  },
  /** https://antigravity.google/docs/hooks; the events don't say their names. */
  antigravity: {
    name: "Antigravity",
    tried: null,
    fates: ["blocked", "not known", "blocked"],
    subagents: "not known",
    tells: "failed or completed; nothing of a shell's exit code",
    shows: "window title, notification",
    members: {
      event: null,
      session: "conversationId",
      tool: "toolCall.name",
      input: "toolCall.args",
      call: "stepIdx",
      folder: "workspacePaths.0",
    },
    results: ["error"],
    before: "PreToolUse",
    after: { PostToolUse: readAntigravityOutcome },
    answer: answerDecision,
    silence: { decision: "allow" },
    shells: ["run_command"],
    tools: words(
      "view_file edit_file write_to_file replace_file_content codebase_search grep_search ask_permission",
    ),
    mcp: "mcp_SERVER_TOOL",
    isNameless: true,
    ofUser: ".gemini/config/hooks.json",
    ofMachine: null,
    ofProject: [".agents/hooks.json"],
    fresh: {},
    write: (command, timeout) => ({ matcher: "", ...writeNested(command, timeout) }),
    hint: "Antigravity asks its user too, whatever the hook allows, and drops all hooks in silence if one hooks.json is broken.",
  },
  /** https://cursor.com/docs/agent/hooks */
  cursor: {
    name: "Cursor",
    tried: null,
    fates: ["blocked", "blocked", "blocked"],
    subagents: "not known",
    tells: "completed or failed; of a shell by its exit code",
    shows: "window title, notification",
    members: { ...claudeMembers, session: "conversation_id" },
    results: ["tool_output", "error_message"],
    before: "preToolUse",
    after: { postToolUse: readCursorOutcome, postToolUseFailure: "failed" },
    answer: ({ permission, reason, message }) => ({
      permission,
      agent_message: reason,
      user_message: message ?? reason,
    }),
    silence: { permission: "allow" },
    shells: ["Shell"],
    tools: words("Read Write StrReplace Delete Grep Glob Task WebSearch WebFetch TabWrite"),
    mcp: "MCP:TOOL",
    ofUser: ".cursor/hooks.json",
    ofMachine: {
      linux: "/etc/cursor/hooks.json",
      darwin: "/Library/Application Support/Cursor/hooks.json",
    },
    ofProject: [".cursor/hooks.json"],
    fresh: { version: 1 },
    // Set `failClosed`: it blocks on a crash, a time-out and rubbish.
    write: (command, timeout, isBefore) => ({ command, timeout, ...(isBefore && { failClosed: true }) }),
    hint: "Cursor ignores an allow of a hook: its own prompt may come as well.",
  },
  /** https://qwenlm.github.io/qwen-code-docs/en/users/features/hooks */
  qwen: {
    name: "Qwen Code",
    tried: "0.24.4",
    fates: ["runs", "runs", "runs"],
    subagents: "yes",
    tells: "completed, failed or started, and that a background command ended",
    shows: "status line",
    members: claudeMembers,
    results: ["tool_response", "error"],
    before: "PreToolUse",
    after: { PostToolUse: readQwenOutcome, PostToolUseFailure: "failed" },
    end: "Stop",
    task: /^id: (\S+)$/m,
    answer: answerHookSpecific,
    note: noteToUser,
    shells: ["run_shell_command"],
    tools: words(`
      agent edit notebook_edit read_file write_file glob grep_search skill tool_call tool_search list_agents
      get_goal update_goal web_fetch todo_write exit_plan_mode`),
    mcp: "mcp__SERVER__TOOL",
    ofUser: ".qwen/settings.json",
    ofMachine: {
      linux: "/etc/qwen-code/settings.json",
      darwin: "/Library/Application Support/QwenCode/settings.json",
    },
    ofProject: [".qwen/settings.json"],
    statusLine: { path: ["ui", "statusLine"] },
    fresh: {},
    // Timeouts from 1000 on would be read as milliseconds.
    write: (command, timeout) => writeNested(command, timeout < 1_000 ? timeout : timeout * 1_000),
  },
  /** Source: vibe/core/skills/builtins/vibe.py, the package's own documents. */
  vibe: {
    name: "Mistral Vibe",
    tried: "3.0.2",
    // Set through `strict`.
    fates: ["blocked", "blocked", "blocked"],
    subagents: "not known",
    tells: "completed or failed; of a shell by its exit code",
    shows: "notification",
    members: { ...claudeMembers, call: "tool_call_id" },
    results: ["tool_status", "tool_output", "tool_output_text", "tool_error"],
    before: "pre_tool",
    after: { post_tool: readVibeOutcome },
    answer: ({ permission, reason, message }) => ({
      decision: permission,
      reason,
      ...(message !== undefined && { system_message: message }),
    }),
    note: (message) => ({ system_message: message }),
    shells: words("file_system.bash process.start process.write"),
    tools: words(`
      file_system.read_file file_system.write_file file_system.edit process.output process.list process.stop skill.read
      agents.spawn agents.send_message agents.interrupt`),
    mcp: "SERVER.TOOL",
    ofUser: ".vibe/hooks.toml",
    ofMachine: null,
    ofProject: [".vibe/hooks.toml"],
    fresh: {},
    isToml: true,
    write: (command, timeout, isBefore) => ({ command, timeout, ...(isBefore && { strict: true }) }),
  },
  opencode: {
    ...pluginRow,
    name: "OpenCode",
    tried: "1.18.33",
    subagents: "yes",
    tells: "completed or failed; nothing of a tool that failed, which is `unknown` at the turn's end",
    shows: "notice",
    end: "end",
    forgetsCalls: true,
    shells: ["bash"],
    tools: words("edit write read glob grep skill task todowrite webfetch websearch patch"),
    mcp: "SERVER_TOOL",
    ofUser: ".config/opencode/plugin/countersign.js",
    ofMachine: null,
    ofProject: [".opencode/plugin/*.js"],
    plugin: openCodePlugin,
    hint: "OpenCode starts without a plugin that it can't read. Kilo loads the same plugin: --settings ~/.config/kilo/plugin/countersign.js",
  },
  pi: {
    ...pluginRow,
    name: "pi",
    tried: "1.6.0",
    subagents: "not known",
    tells: "completed or failed",
    shows: "notice",
    shells: ["bash"],
    tools: words("read write edit grep find ls"),
    mcp: "SERVER_TOOL",
    ofUser: ".pi/agent/extensions/countersign.js",
    ofMachine: null,
    ofProject: [".pi/extensions/*.js"],
    plugin: piPlugin,
  },
  /** https://github.com/charmbracelet/crush/blob/main/docs/hooks/README.md */
  crush: {
    name: "Crush",
    tried: null,
    fates: ["runs", "runs", "runs"],
    subagents: "no",
    tells: "failed or nothing, since it has `PostToolUse`",
    shows: "window title, notification",
    members: { ...claudeMembers, event: "event", call: null },
    results: ["tool_response", "tool_output", "error"],
    before: "PreToolUse",
    after: { PostToolUse: "unknown", PostToolUseFailure: "failed" },
    answer: answerDecision,
    shells: ["bash"],
    tools: words("edit multiedit write view ls glob grep fetch download sourcegraph agent agentic_fetch"),
    mcp: "mcp_SERVER_TOOL",
    ofUser: ".config/crush/crush.json",
    ofMachine: null,
    ofProject: ["crush.json", ".crush.json"],
    fresh: {},
    write: (command, timeout) => ({ command, timeout }),
    hint: "Crush asks no hook about calls of its subagents: match `agent` and `agentic_fetch` too.",
  },
  /** https://goose-docs.ai/docs/guides/context-engineering/hooks */
  goose: {
    name: "Goose",
    tried: null,
    fates: ["blocked", "blocked", "blocked"],
    subagents: "not known",
    tells: "completed or failed",
    shows: "window title, notification",
    members: { ...claudeMembers, event: "event", call: "tool_call_id", folder: "working_dir" },
    results: ["tool_response", "tool_output", "error"],
    before: "PreToolUse",
    after: { PostToolUse: "completed", PostToolUseFailure: "failed" },
    answer: ({ permission, reason }) => ({ decision: permission === "allow" ? "allow" : "block", reason }),
    shells: ["developer__shell"],
    tools: words("developer__write developer__edit developer__tree developer__read_image"),
    mcp: "SERVER__TOOL",
    ofUser: ".agents/plugins/countersign/hooks/hooks.json",
    ofMachine: null,
    ofProject: [".agents/plugins/*/hooks/hooks.json"],
    fresh: {},
    write: (command, timeout, isBefore) => ({
      hooks: [{ type: "command", command, timeout, ...(isBefore && { on_failure: "block" }) }],
    }),
    hint: `Goose needs a manifest too: echo '{"name":"countersign","version":"1.0.0"}' > ~/.agents/plugins/countersign/plugin.json`,
  },
  openhands: {
    name: "OpenHands",
    tried: "1.58.2",
    fates: ["runs", "runs", "runs"],
    subagents: "not known",
    tells: "completed or failed by a shell's exit code, else nothing",
    shows: "window title, notification",
    members: { ...claudeMembers, event: "event_type", call: null, folder: "working_dir" },
    results: ["tool_response"],
    before: "PreToolUse",
    after: { PostToolUse: readOpenHandsOutcome },
    answer: answerDecision,
    shells: words("terminal execute_bash bash"),
    tools: words("file_editor str_replace_editor task_tracker browser think finish delegate"),
    mcp: "SERVER_TOOL",
    ofUser: ".openhands/hooks.json",
    ofMachine: null,
    ofProject: [".openhands/hooks.json"],
    fresh: {},
    write: (command, timeout) => ({ matcher: "*", ...writeNested(command, timeout) }),
  },
} satisfies Record<string, Agent>;

export type DialectName = keyof typeof rows;
export const agents: Record<DialectName, Agent> = rows;
export const dialectNames = Object.keys(agents) as DialectName[];

/** The events of an agent, the one before a call first. */
export const listEvents = ({ before, after, end, prompt }: Agent): string[] => [
  before,
  ...Object.keys(after),
  ...[end, prompt].filter((event) => event !== undefined),
];
