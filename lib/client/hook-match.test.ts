/** Which calls need a human, and what the human reads. */
import { describe, expect, it } from "vitest";
import type { JsonValue } from "#lib/domain/canonical-json";
import { UsageError } from "#lib/domain/command-words";
import { describeArguments } from "./hook-context";
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

describe("what the human reads", () => {
  it("is every argument, whole", () => {
    expect(
      describeArguments({ command: "ls", timeout: 5, deep: { b: 1, a: null } }, { project: "x" }),
    ).toEqual({
      project: "x",
      command: "ls",
      timeout: "5",
      deep: '{"a":null,"b":1}',
    });
    const long = `${"é".repeat(1_024)}${"🙂".repeat(1_025)}`;
    const parts = describeArguments({ command: long }, {});
    expect(Object.keys(parts)).toEqual(["command (01/3)", "command (02/3)", "command (03/3)"]);
    expect(Object.values(parts).join("")).toBe(long);
  });

  it("is JSON if an argument has no name that can be shown", () => {
    expect(describeArguments({ "": 1 }, {})).toEqual({ arguments: '{"":1}' });
    expect(describeArguments(["a"], {})).toEqual({ arguments: '["a"]' });
    expect(describeArguments({}, {})).toEqual({ arguments: "{}" });
    const many = Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`n${at}`, at]));
    expect(JSON.parse(describeArguments(many, {})["arguments"] ?? "")).toEqual(many);
  });

  it("is never a part of it", () => {
    expect(() => describeArguments({ content: "x".repeat(33 * 1_024) }, {})).toThrow("too long to be shown");
    expect(() => describeArguments({ command: "ls" }, { command: "rm" })).toThrow("one name");
  });
});
