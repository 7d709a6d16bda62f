/** Events have one reading, but for what a tool has put out. */
import { describe, expect, it } from "vitest";
import { parseEvent } from "./dialects";

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
