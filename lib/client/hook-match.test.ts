/** Which calls need a human. */
import { describe, expect, it } from "vitest";
import type { JsonValue } from "#lib/core/encoding/canonical-json";
import { UsageError } from "#lib/core/text/command-words";
import { needsHuman, readPattern } from "./hook-match";

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

  it.each(["", "Bash(git push", "Bash()", "Bash git", "(git)"])("is refused if it is %j", (rule) => {
    expect(() => readPattern(rule)).toThrow(UsageError);
  });
});
