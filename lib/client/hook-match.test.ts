/** Which calls need a human. */
import { describe, expect, it } from "vitest";
import type { JsonValue } from "#lib/core/encoding/canonical-json";
import { UsageError } from "#lib/core/text/command-words";
import { listTexts, needsHuman, readPattern } from "./hook-match";

const matches = (rule: string, tool: string, input: JsonValue) =>
  needsHuman([readPattern(rule)], tool, input);

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

  it("finds texts at any depth, and words of a list", () => {
    expect(matches("shell(git push*)", "shell", { command: ["git", "push"] })).toBe(true);
    expect(matches("Write(/etc/*)", "Write", { files: [{ path: "/etc/passwd" }] })).toBe(true);
    expect(matches("Bash(git push*)", "Bash", { command: "git status", timeout: 5 })).toBe(false);
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
    expect(() => readPattern(rule)).toThrow(UsageError);
  });
});
