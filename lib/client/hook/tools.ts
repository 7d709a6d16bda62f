/** The tools of each agent, and what a `--match` pattern written for one of them means in another. */
import { UsageError } from "#lib/protocol/text/command-words";
import type { DialectName } from "./dialects";

interface AgentTools {
  /** Each of these runs a command: a pattern for one is a pattern for all. */
  shells: readonly string[];
  /** Names from older versions, and from other agents that speak the dialect. */
  formerShells: readonly string[];
  others: readonly string[];
  /** The name of an MCP server's tool. */
  nameMcpTool(server: string, tool: string): string;
}

const words = (text: string) => text.trim().split(/\s+/);

const geminiTools = words(`
  write_file replace read_file read_many_files list_directory glob grep_search web_fetch google_web_search write_todos
  activate_skill ask_user enter_plan_mode exit_plan_mode invoke_agent complete_task get_internal_docs update_topic
  list_mcp_resources read_mcp_resource`);

const agents: Record<DialectName, AgentTools> = {
  claude: {
    shells: ["Bash", "Monitor", "PowerShell"],
    // Qwen Code's.
    formerShells: ["run_shell_command"],
    others: words(`
      Write Edit NotebookEdit Read Glob Grep LSP WebFetch WebSearch Agent Skill Workflow Artifact SendMessage SendUserFile
      CronCreate CronDelete RemoteTrigger ScheduleWakeup TaskCreate TaskStop TaskUpdate TodoWrite ToolSearch
      EnterWorktree ExitWorktree EnterPlanMode ExitPlanMode AskUserQuestion ListMcpResourcesTool ReadMcpResourceTool`),
    nameMcpTool: (server, tool) => `mcp__${server}__${tool}`,
  },
  codex: {
    shells: ["Bash"],
    formerShells: ["shell", "shell_command", "local_shell", "exec_command", "write_stdin", "exec"],
    others: words("apply_patch update_plan view_image web_search spawn_agent send_input request_permissions"),
    nameMcpTool: (server, tool) => `mcp__${server}__${tool}`,
  },
  copilot: {
    shells: ["bash", "powershell", "write_bash", "write_powershell"],
    formerShells: [],
    others: words(`
      create edit str_replace_editor apply_patch view grep glob web_fetch web_search task skill store_memory sql
      read_bash stop_bash read_powershell stop_powershell report_intent update_todo ask_user`),
    nameMcpTool: (server, tool) => `${server}-${tool}`,
  },
  gemini: {
    shells: ["run_shell_command"],
    formerShells: [],
    others: geminiTools,
    nameMcpTool: (server, tool) => `mcp_${server}_${tool}`,
  },
};

export const checkedShellsOf = (dialect: DialectName) => agents[dialect].shells;
export const shellsOf = (dialect: DialectName) => [
  ...agents[dialect].shells,
  ...agents[dialect].formerShells,
];
export const listTools = (dialect: DialectName) => [...agents[dialect].shells, ...agents[dialect].others];

const allShells = new Set((Object.keys(agents) as DialectName[]).flatMap(shellsOf));

/** The globs for names of tools that a pattern's tool stands for in this dialect. Throws for what asks nobody there. */
export function translateTool(dialect: DialectName, tool: string): readonly string[] {
  if (allShells.has(tool)) return shellsOf(dialect);
  if (tool.startsWith("mcp__")) return [translateMcpTool(dialect, tool)];
  const writtenFor = tool.startsWith("mcp_") ? "gemini" : tool.includes("-") ? "copilot" : dialect;
  if (writtenFor !== dialect || isForeign(dialect, tool)) throw refuse(dialect, tool);
  return [tool];
}

function translateMcpTool(dialect: DialectName, pattern: string): string {
  const { nameMcpTool } = agents[dialect];
  const [, server, tool] = /^mcp__(.+?)__(.+)$/s.exec(pattern) ?? [];
  if (server !== undefined && tool !== undefined) return nameMcpTool(server, tool);
  const [first = "", ...more] = pattern.slice("mcp__".length).split("*");
  // Alone, the name of a server is the name of no tool.
  if (more.length === 0) throw refuse(dialect, pattern);
  return nameMcpTool(`${first}*`, `*${more.at(-1)}`);
}

function isForeign(dialect: DialectName, tool: string): boolean {
  if (listTools(dialect).includes(tool)) return false;
  // Qwen Code has the names of Gemini CLI, from which it comes.
  const related: readonly DialectName[] = dialect === "claude" ? ["claude", "gemini"] : [dialect];
  const isKnown = (name: DialectName) => listTools(name).includes(tool);
  return !related.some(isKnown) && (Object.keys(agents) as DialectName[]).some(isKnown);
}

function refuse(dialect: DialectName, tool: string): UsageError {
  const names = `${listTools(dialect).join(", ")}, and mcp__SERVER__TOOL for the tools of MCP servers`;
  return new UsageError(`--match: ${tool} matches no tool with --dialect ${dialect}. Its tools are ${names}`);
}
