/** Events have one reading, but for what a tool has put out; and each agent's row says what its events and answers are. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "#lib/protocol/encoding/canonical-json";
import { agents, type DialectName, dialectNames, listEvents } from "./agents";
import { explainDecision } from "./call";
import { parseEvent, readEvent } from "./dialects";

describe("an agent reads of an approval", () => {
  const status = "approved" as const;
  const rule = { kind: "rule" as const, ruleset_hash: "a", policy_ids: ["small"], context_hash: "b" };
  const amends = { request_hash: "a", fields: ["amount"] } as never;
  const people = { kind: "people" as const };
  it.each([
    ["that a human gave it", { decided_by: people }, "A human approved exactly this call."],
    ["that a human changed the call", { decided_by: people, amends }, /^A human changed this call/],
    ["that a rule gave it", { decided_by: rule }, "Rule small allowed it. Nobody was asked."],
  ])("%s, and of a TEST no such thing", (_, given, words) => {
    const explain = (environment: "production" | "local" | "staging") =>
      explainDecision({ status, ...given, environment } as Parameters<typeof explainDecision>[0]);
    expect(explain("production")).toMatch(words);
    expect(explain("production")).not.toContain("TEST");
    for (const environment of ["local", "staging"] as const) {
      expect(explain(environment)).toContain("TEST");
      expect(explain(environment)).not.toMatch(/A human/);
    }
  });
});

const parse = (text: string) => parseEvent(text, ["tool_response", "error"]);

describe("an event", () => {
  it("is read strictly, and without its results", () => {
    const text = `{ "a" : {"x":[1,{"tool_response":2}]}, "tool_response": {"o":"\\ud800,}","n":1e999,"o":2} , "error":"\\ud800","b":"}{\\",\\"" }`;
    expect(parse(text)).toEqual({
      event: { a: { x: [1, { tool_response: 2 }] }, b: '}{","' },
      results: { tool_response: { o: 2, n: Number.POSITIVE_INFINITY }, error: "\ud800" },
    });
    expect(parse("{}")).toEqual({ event: {}, results: {} });
    expect(parse('{"\\u0065rror":1e999}').event, "its name written otherwise").toEqual({});
    expect(parse('{"":1}').event).toEqual({ "": 1 });
  });

  it("may have results of any size", () => {
    const text = `{"tool_response":${JSON.stringify("\\".repeat(2_000_000))},"a":1}`;
    expect(parse(text).event).toEqual({ a: 1 });
  });

  it.each([
    ["a name twice", '{"a":1,"a":2}', "twice"],
    ["a name twice, written otherwise", '{"a":1,"\\u0061":2}', "twice"],
    ["a name twice, around a result", '{"a":1,"error":"x","a":2}', "twice"],
    ["a name twice, deep in a call", '{"a":[{"b":{"c":1,"c":2}}]}', "twice"],
    ["a number that changes", '{"a":12345678901234567890}', "12345678901234567890"],
    ["a lone surrogate", '{"a":"\\ud800"}', "lone surrogate"],
    ["a list", "[]", "no JSON object"],
    ["text after it", "{}{}", "JSON"],
  ])("with %s is refused", (_, text, message) => {
    expect(() => parse(text)).toThrow(message);
  });
});

type Sample = [DialectName, before: JsonObject, after: JsonObject, event?: string];

const nested = { tool_name: "bash", tool_input: { command: "ls" } };
const claude = (before: string, after: string, more: object = {}): [JsonObject, JsonObject] => {
  const call = { session_id: "s", cwd: "/w", ...nested };
  return [
    { ...call, hook_event_name: before },
    { ...call, hook_event_name: after, ...more },
  ];
};
const named = (member: string, folder: string, id: JsonObject = {}): [JsonObject, JsonObject] => {
  const call = { session_id: "s", [folder]: "/w", ...nested, ...id };
  return [
    { ...call, [member]: "PreToolUse" },
    { ...call, [member]: "PostToolUse" },
  ];
};

const plugin = { session: "s", call: "c", tool: "bash", input: { command: "ls" }, cwd: "/w" };
const step = {
  conversationId: "s",
  stepIdx: 7,
  workspacePaths: ["/w"],
  toolCall: { name: "bash", args: { command: "ls" } },
};
const conversation = { conversation_id: "s", cwd: "/w", ...nested, tool_use_id: "c" };
const vibe = { session_id: "s", cwd: "/w", ...nested, tool_call_id: "c", hook_event_name: "pre_tool" };
const samples: Sample[] = [
  ["claude", ...claude("PreToolUse", "PostToolUse", { tool_use_id: "c", tool_response: { stdout: "" } })],
  ["codex", ...claude("PreToolUse", "PostToolUse", { tool_use_id: "c", tool_response: { isError: false } })],
  ["qwen", ...claude("PreToolUse", "PostToolUse", { tool_use_id: "c", tool_response: { llmContent: "" } })],
  ["gemini", ...claude("BeforeTool", "AfterTool", { tool_response: { llmContent: "" } })],
  [
    "cursor",
    { ...conversation, hook_event_name: "preToolUse" },
    { ...conversation, hook_event_name: "postToolUse", tool_output: '{"exitCode":0}' },
  ],
  ["antigravity", step, { ...step, error: "" }, "PostToolUse"],
  [
    "vibe",
    vibe,
    { ...vibe, hook_event_name: "post_tool", tool_status: "success", tool_output: { returncode: 0 } },
  ],
  ["opencode", { event: "before", ...plugin }, { event: "after", ...plugin, result: { exit: 0 } }],
  ["pi", { event: "before", ...plugin }, { event: "after", ...plugin, result: { isError: false } }],
  ["goose", ...named("event", "working_dir", { tool_call_id: "c" })],
  ["crush", ...named("event", "cwd")],
  ["openhands", ...named("event_type", "working_dir")],
  [
    "copilot",
    { sessionId: "s", cwd: "/w", toolName: "bash", toolArgs: '{"command":"ls"}' },
    {
      sessionId: "s",
      cwd: "/w",
      toolName: "bash",
      toolArgs: { command: "ls" },
      toolResult: { resultType: "success" },
    },
  ],
];

describe("each agent's event", () => {
  it.each(samples)("is the same call before and after: %s", (dialect, before, after, event) => {
    const agent = agents[dialect];
    const id = agent.members.call === null ? {} : { tool_use_id: "c" };
    const read = (given: JsonObject, name?: string) => {
      const whole = agent.members.call === "tool_use_id" ? { ...id, ...given } : given;
      return readEvent(agent, JSON.stringify(whole), name);
    };
    const callId = { antigravity: "7" }[dialect as string] ?? (agent.members.call === null ? undefined : "c");
    const call = { sessionId: "s", folder: "/w", tool: "bash", input: { command: "ls" }, callId };
    expect(read(before)).toMatchObject({ ...call, outcome: null });
    expect(read(after, event)).toMatchObject({
      ...call,
      outcome: expect.stringMatching(/^(?:completed|unknown)$/),
    });
  });

  it("has a sample, and every other event is refused", () => {
    expect(samples.map(([dialect]) => dialect).toSorted()).toEqual(dialectNames.toSorted());
    for (const [dialect, before] of samples) {
      const { members } = agents[dialect];
      const other = members.event === null ? "Other" : undefined;
      const text = JSON.stringify({ ...before, ...(members.event !== null && { [members.event]: "Other" }) });
      expect(() => readEvent(agents[dialect], text, other), dialect).toThrow("unknown event Other");
    }
  });

  it("that names no tool any more ends its call by its number, and a turn's end names what still runs", () => {
    const { toolCall: _gone, ...rest } = step;
    const text = JSON.stringify({ ...rest, toolCall: null, error: "x" });
    const ended = { endedSession: "s", endedCall: "7", running: null };
    expect(readEvent(agents.antigravity, text, "PostToolUse")).toEqual(ended);
    const stop = {
      session_id: "s",
      hook_event_name: "Stop",
      background_tasks: [{ id: "b1", status: "running" }],
    };
    expect(readEvent(agents.claude, JSON.stringify(stop))).toEqual({ endedSession: "s", running: ["b1"] });
    const codex = { session_id: "s", hook_event_name: "Stop" };
    expect(readEvent(agents.codex, JSON.stringify(codex))).toEqual({ endedSession: "s", running: null });
  });

  it.each([
    [
      "gemini",
      "run_shell_command",
      "<untrusted_context>\nOutput: x\nProcess Group PGID: 7\n</untrusted_context>",
      "completed",
    ],
    [
      "gemini",
      "run_shell_command",
      "<untrusted_context>\nOutput: x\nExit Code: 3\nProcess Group PGID: 7\n</untrusted_context>",
      "failed",
    ],
    [
      "gemini",
      "run_shell_command",
      "<untrusted_context>\nCommand moved to background (PID: 7).\n</untrusted_context>",
      "started",
    ],
    ["gemini", "run_shell_command", "<untrusted_context>\nOutput: x … cut\n</untrusted_context>", "unknown"],
  ] as const)("tells how a call ended, as %s 0.61 has it: %#", (dialect, tool_name, llmContent, outcome) => {
    const event = {
      session_id: "s",
      hook_event_name: "AfterTool",
      tool_name,
      tool_input: {},
      tool_response: { llmContent },
    };
    expect(readEvent(agents[dialect], JSON.stringify(event))).toMatchObject({ outcome });
  });

  it.each<[DialectName, JsonObject, string]>([
    ["opencode", { result: { exit: 3 } }, "failed"],
    ["opencode", { result: { isError: false } }, "completed"],
    ["opencode", { result: {} }, "unknown"],
    ["pi", { result: { isError: true } }, "failed"],
    ["vibe", { tool_output: { returncode: 3 } }, "failed"],
    ["vibe", { tool_output: null, tool_status: "failure" }, "failed"],
    ["codex", { tool_response: "" }, "unknown"],
    ["qwen", { tool_input: { is_background: true } }, "started"],
    ["cursor", { tool_name: "Shell", tool_output: '{"exitCode":3,"stdout":""}' }, "failed"],
    ["cursor", { tool_name: "Shell", tool_output: "cut" }, "unknown"],
    ["antigravity", { error: "exit status 3" }, "failed"],
    ["openhands", { tool_response: { metadata: { exit_code: 3 } } }, "failed"],
    ["openhands", { tool_response: { exit_code: 0 } }, "completed"],
  ])("tells how a call of %s ended with %j", (dialect, more, outcome) => {
    const after = samples.find(([name]) => name === dialect)?.[2] ?? {};
    const text = JSON.stringify({ tool_use_id: "c", ...after, ...more });
    expect(readEvent(agents[dialect], text, "PostToolUse")).toMatchObject({ outcome });
  });

  it("is answered in the agent's own words", () => {
    const said = dialectNames.map((name) =>
      JSON.stringify(agents[name].answer({ permission: "deny", reason: "no" })),
    );
    for (const text of said)
      expect(text).toMatch(/"(?:permissionDecision|permission|decision)":"(?:deny|block)"/);
    for (const name of ["antigravity", "cursor"] as const)
      expect(JSON.stringify(agents[name].silence), `${name} blocks what has no answer`).toContain('"allow"');
  });
});

/** Agents that this hook can't gate, and why. */
const ungated: Readonly<Record<string, string>> = {
  Cline: "can't be gated call by call: its hook can only cancel the whole run",
  "Auggie, Qoder": "have hooks in Claude Code's form; nobody tried: `--dialect claude --settings FILE`",
  "Continue, gptme, aider, nanocoder, grok-cli, Kimi": "can't be gated: they have no hook that blocks",
};

const writeRow = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;

function writeAgentsTable(): string[] {
  const heads = [
    "agent",
    "`--dialect`",
    "version tried",
    "crash",
    "late",
    "rubbish",
    "subagents",
    "MCP tools",
    "outcome",
    "link and code",
  ];
  const gated = Object.entries(agents).map(
    ([dialect, { name, tried, fates, subagents, mcp, tells, shows }]) => [
      name,
      `\`${dialect}\``,
      tried ?? "from its documents",
      ...fates,
      subagents,
      `\`${mcp}\``,
      tells,
      shows,
    ],
  );
  return [heads, ...gated].map(writeRow);
}

function writePlacesTable(): string[] {
  const places = Object.values(agents).map((agent) => [
    agent.name,
    listEvents(agent)
      .map((event) => `\`${event}\``)
      .join(", "),
    `\`~/${agent.ofUser}\``,
    agent.ofMachine === null ? "none" : `\`${agent.ofMachine.linux}\``,
  ]);
  return [["agent", "events", "settings", "for the machine (Linux)"], ...places].map(writeRow);
}

const writeUngated = (): string[] => Object.entries(ungated).map(([name, why]) => `- **${name}** ${why}.`);

describe("the guide", () => {
  const guide = readFileSync("components/guides/content/hook.md", "utf8");
  const cells = (line: string) => line.split("|").map((cell) => cell.trim());
  const rows = guide.split("\n").map((line) => cells(line).join("|"));

  it.each([
    ["what each agent does", writeAgentsTable()],
    ["where its settings are", writePlacesTable()],
  ])("has the table of agents: %s", (_, table) => {
    for (const line of table) expect(rows).toContain(cells(line).join("|"));
  });

  it("names the agents that can't be gated", () => {
    for (const line of writeUngated()) expect(guide).toContain(line);
  });
});
