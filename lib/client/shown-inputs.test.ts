/** A human sees every argument, or nothing is asked. */
import { describe, expect, it } from "vitest";
import { showInputs } from "./shown-inputs";

describe("what the human reads of the arguments", () => {
  it("is every argument, whole", () => {
    const shown = showInputs({ command: "ls", timeout: 5, deep: { b: 1, a: null } }, { project: "x" });
    expect(shown).toEqual({ project: "x", command: "ls", timeout: "5", deep: '{"a":null,"b":1}' });
    const long = `${"é".repeat(1_024)}${"🙂".repeat(1_025)}`;
    const parts = showInputs({ command: long }, {});
    expect(Object.keys(parts)).toEqual(["command (01/3)", "command (02/3)", "command (03/3)"]);
    expect(Object.values(parts).join("")).toBe(long);
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
