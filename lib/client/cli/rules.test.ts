/** `countersign rules try`: calls of real transcripts' forms, and what rules would have said of each. */
import { describe, expect, it } from "vitest";
import { nodeIo } from "#lib/verifier/cli/node-io";
import { expectExit } from "#support/commands";
import type { ClientIo } from "./io";
import { readTranscript } from "./rules";
import { runCommand } from "./run-command";

const claude = [
  { type: "user", message: { role: "user", content: "Clean up" } },
  {
    type: "assistant",
    timestamp: "2026-11-29T09:00:00.000Z",
    message: {
      role: "assistant",
      content: [
        { type: "text", text: "I'll look first." },
        { type: "tool_use", id: "toolu_1", name: "Bash", input: { command: "ls", timeout: 5 } },
        { type: "tool_use", id: "toolu_2", name: "Bash", input: { command: "rm -rf build" } },
      ],
    },
  },
  { type: "user", message: { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1" }] } },
];
const codex = [
  { timestamp: "2026-11-29T09:00:00.000Z", type: "session_meta", payload: { id: "s" } },
  ...[
    { type: "function_call", name: "shell", arguments: '{"command":["ls"]}', call_id: "c1" },
    { type: "local_shell_call", action: { type: "exec", command: ["pwd"] }, call_id: "c2" },
    { type: "custom_tool_call", name: "apply_patch", input: "*** Begin Patch", call_id: "c3" },
    { type: "function_call_output", call_id: "c1", output: "{}" },
  ].map((payload) => ({ timestamp: "2026-11-29T09:00:01.000Z", type: "response_item", payload })),
];
const text = (value: string) => ({ stringValue: value });
const spans = {
  resourceSpans: [
    {
      scopeSpans: [
        {
          spans: [
            {
              name: "execute_tool pay",
              startTimeUnixNano: "1795942800000000000",
              attributes: [
                { key: "gen_ai.tool.name", value: text("pay") },
                { key: "gen_ai.tool.call.arguments", value: text('{"payee":"Example Ltd"}') },
              ],
            },
            { name: "chat", attributes: [{ key: "gen_ai.operation.name", value: text("chat") }] },
          ],
        },
      ],
    },
  ],
};
const lines = (all: object[]) => `${all.map((one) => JSON.stringify(one)).join("\n")}\n`;

const rules = `@id("look") permit (principal, action == Action::"act", resource == Tool::"Bash")
when { context.details.hasTag("command") && context.details.getTag("command") == "ls" };
@id("never-rm") forbid (principal == Agent::"coder", action, resource == Tool::"Bash")
when { context.details.hasTag("command") && context.details.getTag("command") like "rm *" };`;

async function run(files: Record<string, string>, ...argv: string[]) {
  let out = "";
  const print = (more: string) => {
    out += more;
  };
  const io = {
    ...nodeIo,
    readFile: async (name: string) => new TextEncoder().encode(files[name]),
    print,
    tell: print,
    fetch: async () => {
      throw new TypeError("nothing is sent");
    },
  } as unknown as ClientIo;
  return { code: await runCommand(["rules", "try", ...argv], io), out };
}
const cedar = ["--cedar", "node_modules/@cedar-policy/cedar-wasm"];

describe("a transcript", () => {
  it.each<[string, string, string[]]>([
    ["Claude Code's", lines(claude), ["Bash", "Bash"]],
    ["Codex's", lines(codex), ["shell", "shell", "apply_patch"]],
    ["OTLP's spans", JSON.stringify(spans, null, 2), ["pay"]],
    ["one that breaks off", `${lines(claude)}{"type":"assist`, ["Bash", "Bash"]],
  ])("is read: %s", (_, given, tools) => {
    expect(readTranscript(given).map(({ tool }) => tool)).toEqual(tools);
  });

  it("has arguments and times", () => {
    expect(readTranscript(JSON.stringify(spans))).toEqual([
      { tool: "pay", input: { payee: "Example Ltd" }, at: new Date("2026-11-29T09:00:00.000Z") },
    ]);
    expect(readTranscript(lines(codex))[0]?.input).toEqual({ command: ["ls"] });
  });
});

describe("rules try", () => {
  it("says what would have been allowed, asked and denied, and sends nothing", async () => {
    const files = { t: lines([...claude, ...codex]), r: rules };
    const found = await run(files, "t", "--rules", "r", "--agent", "coder", ...cedar, "--json");
    expectExit(found, 0);
    expect(
      JSON.parse(found.out).calls.map(({ would, tool }: Record<string, string>) => [would, tool]),
    ).toEqual([
      ["allowed", "Bash"],
      ["denied", "Bash"],
      ["asked", "shell"],
      ["asked", "shell"],
      ["asked", "apply_patch"],
    ]);
    const shown = await run(files, "t", "--rules", "r", ...cedar);
    expect(shown.out).toContain("5 calls, judged by r: 1 allowed without asking, 4 asked, 0 denied.");
    expect(shown.out).toContain("allowed  Bash: ls  (look)");
  });

  it("judges the others beside arguments that can't be shown", async () => {
    const broken = lines(claude).replace('"timeout":5', '"env":{"NAME":"\\ud83d"}');
    const found = await run({ t: broken, r: rules }, "t", "--rules", "r", "--agent", "coder", ...cedar);
    expectExit(found, 0);
    expect(found.out).toContain("2 calls, judged by r: 0 allowed without asking, 0 asked, 2 denied.");
    expect(found.out).toContain("denied   Bash: rm -rf build  (never-rm)");
  });

  it("takes a template, and says what is missing", async () => {
    const files = { t: lines(claude), none: "{}\n", bad: "permit(" };
    expect((await run(files, "t", "--template", "2", ...cedar)).out).toContain(
      "the template “Never this tool”",
    );
    for (const [argv, why] of [
      [["t", "--template", "9", ...cedar], "--template: 1 to 3"],
      [["t", "--rules", "bad", ...cedar], "don't validate"],
      [["none", "--template", "1", ...cedar], "no calls of tools"],
      [["t", "--template", "1"], "needs --cedar"],
      [["--template", "1", ...cedar], "needs one transcript"],
    ] as const) {
      const refused = await run(files, ...argv);
      expect(refused.out).toContain(why);
      expectExit(refused, 2);
    }
  });
});
