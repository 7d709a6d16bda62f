import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { measureMs, shortestMs } from "#support/shortest";
import { canonicalJson } from "./canonical-json";
import { parseStrictJson } from "./strict-json";

describe("parseStrictJson", () => {
  it("reads every JSON value as JSON.parse does", () => {
    const safe = fc.jsonValue({ maxDepth: 6 }).filter((value) => !/__proto__/.test(JSON.stringify(value)));
    fc.assert(
      fc.property(safe, (value) => {
        const text = JSON.stringify(value);
        if (!text.isWellFormed() || /\\ud[89a-f]/i.test(text)) return;
        expect(canonicalJson(parseStrictJson(text))).toBe(canonicalJson(JSON.parse(text)));
      }),
    );
  });

  it.each([
    ["two equal names", '{"a":1,"a":1}'],
    ["two equal names in another spelling", '{"a":1,"\\u0061":2}'],
    ["two equal names deeper down", '[{"x":{"a":1,"b":[],"a":2}}]'],
    ["a name __proto__", '{"a":{"__proto__":1}}'],
    ["a name __proto__ in another spelling", '{"\\u005f_proto__":1}'],
    ["a lone surrogate in a value", '["\\ud800"]'],
    ["a lone surrogate in a name", '{"\\udc00":1}'],
    ["a raw lone surrogate", '["\ud800"]'],
    ["an integer that a double rounds", "[9007199254740993]"],
    ["a fraction that a double rounds", '{"a":[{"b":1234567890123456.78}]}'],
    ["a number that a double has as zero", "[1e-400]"],
    ["an infinite number", "[1e400]"],
    ["depth 33", "[".repeat(33) + "]".repeat(33)],
    ["brackets that never close", "[".repeat(1_000_000)],
    ["depth 100,000", "[".repeat(100_000) + "]".repeat(100_000)],
    ["more characters than a MiB", `"${"a".repeat(1024 * 1024 - 1)}"`],
    ["text after the value", "{} {}"],
    ["a comment", "/**/{}"],
    ["nothing", ""],
  ])("refuses %s", (_, text) => {
    expect(() => parseStrictJson(text)).toThrow();
  });

  it("takes as many characters as the largest request has bytes, and as many as its caller says", () => {
    const text = `"${"a".repeat(1024 * 1024 - 2)}"`;
    expect(parseStrictJson(text)).toHaveLength(1024 * 1024 - 2);
    expect(parseStrictJson(`${text} `, { maxCharacters: 1024 * 1024 + 1 })).toHaveLength(1024 * 1024 - 2);
    expect(() => parseStrictJson("[1, 2]", { maxCharacters: 5 })).toThrow("longer than 5 characters");
  });

  it("counts names and values, and makes nothing of a text with too many", () => {
    const parse = vi.spyOn(JSON, "parse");
    const count = (text: string, maxTokens: number) => () => parseStrictJson(text, { maxTokens });
    const text = '{"a\\"b":[-1.5e3, "c\\\\", true, null, {}, []], "d":{"e":0}}';
    expect(count(text, 13)).not.toThrow();
    expect(parse).toHaveBeenCalledOnce();
    for (const many of [text, `[${"0,".repeat(12)}0]`, `[${"[],".repeat(12)}0]`, `[${'"",'.repeat(12)}0]`])
      expect(count(many, 12)).toThrow(new RangeError("more than 12 names and values"));
    expect(parse).toHaveBeenCalledOnce();
    parse.mockRestore();
  });

  it("is not confused by strings that look like structure, or equal names in different objects", () => {
    const text = '{"a":"\\"a\\":{[","b":{"a":[{"a":"\\\\"},{"a":-1.5e-3}]},"a\\"":0}';
    expect(parseStrictJson(text)).toEqual(JSON.parse(text));
    expect(parseStrictJson("[".repeat(32) + "]".repeat(32))).toBeDefined();
  });

  it("says what would become of a number that it refuses, and shows no more than its beginning", () => {
    const refuse = (token: string) => () => parseStrictJson(`{"a":[${token}]}`);
    expect(refuse("1234567890123456.78")).toThrow(
      "the number 1234567890123456.78 would become 1234567890123456.8: send it as a string",
    );
    expect(refuse("-1E400")).toThrow("the number -1E400 would become Infinity");
    expect(refuse("9".repeat(60_000))).toThrow(/^the number 9{40}… would become Infinity/);
  });

  it("takes linear time for hostile strings", async () => {
    const long = JSON.stringify({ a: '\\"'.repeat(200_000) });
    const work = () => {
      parseStrictJson(long);
      expect(() => parseStrictJson(`"${'\\"'.repeat(200_000)}`)).toThrow();
    };
    expect(await shortestMs(2_000, () => measureMs(work))).toBeLessThan(2_000);
  });
});
