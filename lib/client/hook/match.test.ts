/** Calls that need a human. */
import { describe, expect, it } from "vitest";
import type { JsonValue } from "#lib/protocol/encoding/canonical-json";
import { UsageError } from "#lib/protocol/text/command-words";
import { agents, type DialectName, dialectNames } from "./agents";
import { listTexts, listUnmatched, needsHuman, readPattern } from "./dialects";

const matches = (rule: string, tool: string, input: JsonValue, dialect: DialectName = "claude") =>
  needsHuman([readPattern(rule, dialect)], tool, input);

describe("a pattern", () => {
  it("names a tool, with any text for *", () => {
    expect(matches("Bash", "Bash", {})).toBe(true);
    expect(matches("Bash", "BashOutput", {})).toBe(false);
    expect(matches("mcp__bank__*", "mcp__bank__pay", {})).toBe(true);
    expect(matches("mcp.bank*", "mcp_bank__pay", {})).toBe(false);
    expect(needsHuman([], "Read", {})).toBe(true);
  });

  it.each([
    "git push",
    "git push origin main",
    "cd app && git push",
    "FORCE=1 git  push -f",
    "(git push)",
    'bash -c "git push"',
    "echo $(git push)",
    "true\ngit push",
  ])("finds a command in %j", (command) => {
    expect(matches("Bash(git push*)", "Bash", { command })).toBe(true);
    expect(matches("Bash(git push:*)", "Bash", { command }), "as rules of Claude Code end").toBe(true);
  });

  it("finds texts and numbers at any depth, and words of a list", () => {
    expect(matches("Bash(git push*)", "Bash", { command: ["git", "push"] })).toBe(true);
    expect(matches("Write(/etc/*)", "Write", { files: [{ path: "/etc/passwd" }] })).toBe(true);
    expect(matches("Bash(git push*)", "Bash", { command: "git status", timeout: 5 })).toBe(false);
    for (const id of ["42", 42, [42], { id: 42 }]) expect(matches("Kill(42)", "Kill", { id })).toBe(true);
    expect(matches("Deploy(true)", "Deploy", { isForced: true, to: null })).toBe(true);
    expect(matches("Deploy(null)", "Deploy", { isForced: true, to: null })).toBe(false);
  });

  it("finds the parts of a pattern in their order, each in a place of its own", () => {
    const rule = "Bash(rm*-rf*/*)";
    for (const command of ["rm -rf /", "rm-rf/", "rm -v -rf -rf /home\n/x"])
      expect(matches(rule, "Bash", { command }), command).toBe(true);
    for (const command of ["rm -r /", "/ -rf rm", "xrm -rf"])
      expect(matches(rule, "Bash", { command }), command).toBe(false);
    expect(matches("Bash(aba*aba)", "Bash", { command: "ababa" })).toBe(false);
  });

  it("is compared at once with whatever a model writes, as an agent that waits too long runs the tool", () => {
    expect(matches("Bash(*rm*-rf*/*)", "Bash", { command: "rm-rf ".repeat(2_000) })).toBe(false);
    let lists: JsonValue = "git push";
    for (let depth = 1; depth < 20; depth += 1) lists = [lists];
    expect(listTexts(lists).join().length).toBeLessThan(300);
    expect(matches("Bash(git push*)", "Bash", lists)).toBe(true);
  });

  it.each(["", "Bash(git push", "Bash()", "Bash git", "(git)"])("is refused if it is %j", (rule) => {
    expect(() => readPattern(rule, "claude")).toThrow(UsageError);
  });
});

describe("a pattern in the dialect of each agent", () => {
  it.each(dialectNames)("for one shell is for all of them: %s", (dialect) => {
    const command = { command: "git push" };
    const { shells, formerShells = [] } = agents[dialect];
    for (const tool of [...shells, ...formerShells])
      for (const rule of ["Bash", "bash", "run_shell_command", "PowerShell", "exec_command(git push*)"])
        expect(matches(rule, tool, command, dialect), `${rule} ${tool}`).toBe(true);
    expect(matches("Bash", "Read", command, dialect)).toBe(false);
    expect(matches("Mon*", "Bash", command, "claude"), "also by a part of a name").toBe(true);
  });

  it.each([
    ["claude", "mcp__bank__pay", "mcp__shop__pay"],
    ["codex", "mcp__bank__pay", "mcp__shop__pay"],
    ["gemini", "mcp_bank_pay", "mcp_shop_pay"],
    ["copilot", "bank-pay", "shop-pay"],
    ["qwen", "mcp__bank__pay", "mcp__shop__pay"],
    ["opencode", "bank_pay", "shop_pay"],
    ["crush", "mcp_bank_pay", "mcp_shop_pay"],
    ["goose", "bank__pay", "shop__pay"],
    ["vibe", "bank.pay", "shop.pay"],
  ] as const)("finds the tools of an MCP server: %s", (dialect, tool, other) => {
    for (const rule of ["mcp__bank__*", "mcp__bank__pay", "mcp__*__pay", "mcp__*", "mcp__ba*", "mcp__ba*pay"])
      expect(matches(rule, tool, {}, dialect), rule).toBe(true);
    for (const rule of ["mcp__bank__*", "mcp__ba*", "mcp__bank__pay"])
      expect(matches(rule, other, {}, dialect), rule).toBe(false);
    expect(matches("mcp__*", "Bash", {}, dialect)).toBe(false);
  });

  it.each([
    ["claude", "mcp__bank"],
    ["claude", "mcp_bank_*"],
    ["claude", "bank-*"],
    ["claude", "apply_patch"],
    ["codex", "Write"],
    ["copilot", "mcp_bank_*"],
    ["copilot", "Write(/etc/*)"],
    ["gemini", "bank-pay"],
    ["gemini", "Write"],
    ["opencode", "mcp_bank_*"],
    ["cursor", "apply_patch"],
  ] as const)("is refused where it would ask nobody: %s, %s", (dialect, rule) => {
    expect(() => readPattern(rule, dialect)).toThrow(/matches no tool with --dialect/);
  });

  it("is taken as the agent itself writes it", () => {
    expect(matches("mcp_my-bank_*", "mcp_my-bank_pay", {}, "gemini")).toBe(true);
    expect(matches("my-bank-*", "my-bank-pay", {}, "copilot")).toBe(true);
    expect(matches("my-bank_*", "my-bank_pay", {}, "opencode")).toBe(true);
    expect(matches("mcp__bank__pay", "MCP:pay", {}, "cursor"), "whatever the server").toBe(true);
    expect(matches("write_file", "write_file", {}, "claude"), "Qwen Code").toBe(true);
    expect(matches("NewTool", "NewTool", {}, "claude"), "of a later version").toBe(true);
  });

  it("leaves out tools, which are listed", () => {
    const unmatched = listUnmatched([readPattern("Bash", "claude")], "claude");
    expect(unmatched).toEqual(expect.arrayContaining(["Write", "Edit", "WebFetch", "Agent"]));
    expect(unmatched).not.toContain("Monitor");
    expect(listUnmatched([], "claude")).toEqual([]);
  });
});
