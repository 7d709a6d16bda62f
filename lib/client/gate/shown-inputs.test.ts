/** A human sees every argument, or nothing is asked. */
import { describe, expect, it } from "vitest";
import { deriveTitle } from "#lib/protocol/record/title";
import { showInputs as show } from "./shown-inputs";

const showInputs = (inputs: unknown, beside: Record<string, string>) => show(inputs, beside).context;

describe("what the human reads of the arguments", () => {
  it("is every argument, whole", () => {
    const shown = showInputs({ command: "ls", timeout: 5, deep: { b: 1, a: null } }, { project: "x" });
    expect(shown).toEqual({ project: "x", command: "ls", timeout: "5", deep: '{"a":null,"b":1}' });
    const long = `${"é".repeat(1_024)}${"🙂".repeat(1_025)}`;
    const parts = showInputs({ command: long }, {});
    expect(Object.keys(parts)).toEqual(["command (01/3)", "command (02/3)", "command (03/3)"]);
    expect(Object.values(parts).join("")).toBe(long);
  });

  it("begins with the arguments, so that a title says one of them if none has a known name", () => {
    const context = showInputs({ account: "4711" }, { project: "Spring cleaning" });
    expect(Object.keys(context)).toEqual(["account", "project"]);
    expect(deriveTitle({ action: "Use the tool close", tool: "close", context })).toMatch(/^account: 4711/);
  });

  it("is JSON if an argument has no name that can be shown, or there are too many", () => {
    expect(showInputs({ "": 1 }, {})).toEqual({ arguments: '{"":1}' });
    expect(showInputs({ ["n".repeat(60)]: 1 }, {})).toHaveProperty("arguments");
    expect(showInputs(["a"], {})).toEqual({ arguments: '["a"]' });
    expect(showInputs({}, {})).toEqual({ arguments: "{}" });
    expect(showInputs(null, {})).toEqual({ arguments: "null" });
    const numbered = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, at) => [`n${at}`, at]));
    expect(JSON.parse(showInputs(numbered(40), {})["arguments"] ?? "")).toEqual(numbered(40));
    const beside = Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`c${at}`, ""]));
    expect(showInputs(numbered(3), beside)).toEqual({ ...beside, arguments: '{"n0":0,"n1":1,"n2":2}' });
  });

  it("never takes the place of what else the human should see", () => {
    expect(showInputs({ amount: 9, to: "B" }, { amount: "1 EUR" })).toEqual({
      amount: "1 EUR",
      "amount (argument)": "9",
      to: "B",
    });
    const sly = { amount: 9, "amount (argument)": 1 };
    expect(showInputs(sly, { amount: "1 EUR" })).toEqual({
      amount: "1 EUR",
      arguments: '{"amount":9,"amount (argument)":1}',
    });
    expect(showInputs([1], { arguments: "none" })).toEqual({
      arguments: "none",
      "arguments (argument)": "[1]",
    });
  });

  it("is never a part of it", () => {
    expect(() => showInputs({ content: "x".repeat(33 * 1_024) }, {})).toThrow("too long to be shown");
    const full = Object.fromEntries(Array.from({ length: 32 }, (_, at) => [`c${at}`, ""]));
    expect(() => showInputs({ a: 1 }, full)).toThrow("too long to be shown");
  });
});

describe("what the gate states about it", () => {
  it("is the type of each argument, and that nothing is left out", () => {
    const inputs = { payee: "false", dry_run: false, limit: 10, price: 10.5, note: null };
    expect(show(inputs, { project: "x" })).toEqual({
      context: { project: "x", payee: "false", dry_run: "false", limit: "10", price: "10.5", note: "null" },
      details: {
        complete: true,
        types: { project: "string", payee: "string", dry_run: "boolean", limit: "number", price: "number" },
      },
    });
    expect(show({}, {}).details).toEqual({ complete: true, types: {} });
  });

  it.each([
    ["a value that is split", { command: "x".repeat(1_025), dry_run: true }, {}],
    [
      "thirty-three arguments",
      Object.fromEntries(Array.from({ length: 33 }, (_, at) => [`n${at}`, "x"])),
      {},
    ],
    ["a long name", { ["n".repeat(60)]: "x" }, {}],
    ["an empty name", { "": "x" }, {}],
    ["an object", { payee: { name: "x" } }, {}],
    ["a list", { payees: ["x"] }, {}],
    ["a number that no decimal holds", { limit: 1e300 }, {}],
    ["a number of five decimals", { limit: 0.00001 }, {}],
    ["a name that is taken", { payee: "x" }, { payee: "y" }],
    ["no names", ["x"], {}],
  ])("is that something is not shown by itself: %s", (_, inputs, beside) => {
    expect(show(inputs, beside as Record<string, string>).details.complete).toBe(false);
  });

  it("has no type for a part or a whole", () => {
    expect(show({ command: "x".repeat(1_025), dry_run: true }, {}).details.types).toEqual({
      dry_run: "boolean",
    });
    expect(show({ "": 1 }, {}).details.types).toEqual({});
  });
});
