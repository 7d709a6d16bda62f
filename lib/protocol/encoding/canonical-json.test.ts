import canonicalize from "canonicalize";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canonicalJson, isCanonicalText, isSameJson, type JsonValue } from "./canonical-json";

describe("canonicalJson", () => {
  it("writes the RFC 8785 section 3.2.2 example", () => {
    const input = {
      numbers: [333333333.3333333, 1e30, 4.5, 2e-3, 0.000000000000000000000000001],
      string: "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"/",
      literals: [null, true, false],
    };
    expect(canonicalJson(input)).toBe(
      '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
    );
  });

  it("sorts by UTF-16 code units and keeps a key named __proto__ (RFC 8785 section 3.2.3)", () => {
    const input = JSON.parse(
      '{"\\u20ac":1,"\\r":2,"\\ufb33":3,"1":4,"\\ud83d\\ude00":5,"\\u0080":6,"\\u00f6":7,"__proto__":8}',
    );
    expect(canonicalJson(input)).toBe(
      '{"\\r":2,"1":4,"__proto__":8,"\u0080":6,"ö":7,"€":1,"😀":5,"\ufb33":3}',
    );
  });

  it.each([
    '{"1":{"b":1,"a":2},"a":3}',
    '{"1":1,"2":[{"b":1,"a":2}],"__proto__":{"d":1,"c":2}}',
    '{"a":{"b":1,"a":2},"__proto__":{"d":1,"c":2}}',
    '{"A":{"b":1,"a":2},"__proto__":[{"d":1,"c":2}],"b":0}',
    '{"10":1,"9":{"b":1,"a":2}}',
    '{"-":1,"1":2}',
  ])("puts what is inside of %s in order, whatever its names", (text) => {
    const value = JSON.parse(text) as JsonValue;
    expect(canonicalJson(value)).toBe(canonicalize(value));
    expect(JSON.stringify(value)).toBe(JSON.stringify(JSON.parse(text)));
  });

  it("refuses what has no canonical form, wherever it is", () => {
    for (const value of [Number.NaN, Number.POSITIVE_INFINITY, "\ud800", { "\udc00": 1 }]) {
      for (const where of [value, [1, value], { b: { a: [value] }, a: 1 }])
        expect(() => canonicalJson(where as JsonValue)).toThrow();
    }
    expect(() => canonicalJson(undefined as unknown as JsonValue)).toThrow();
  });

  it("changes nothing in the value, and writes what is no JSON of its own as the library does", () => {
    const value = { b: [{ d: 1, c: 2 }, 3], a: { f: 4, e: 5 } };
    const before = JSON.stringify(value);
    expect(canonicalJson(value)).toBe('{"a":{"e":5,"f":4},"b":[{"c":2,"d":1},3]}');
    expect(JSON.stringify(value)).toBe(before);
    const odd = { b: undefined, a: [undefined], d: new Date(0), c: { toJSON: "text" } };
    expect(canonicalJson(odd as unknown as JsonValue)).toBe(canonicalize(odd));
  });
});

describe("isCanonicalText", () => {
  const judge = (text: string) => {
    const value = JSON.parse(text) as JsonValue;
    const isCanonical = () => {
      try {
        return canonicalize(value) === text;
      } catch {
        return false;
      }
    };
    const found = () => {
      try {
        return isCanonicalText(text, value);
      } catch {
        return false;
      }
    };
    expect(found(), text).toBe(isCanonical());
    return isCanonical();
  };

  it("says what the library says, of canonical texts and of near misses", () => {
    const names = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.constantFrom("1", "10", "9", "__proto__", "a", "B"),
    );
    const { json } = fc.letrec<{ json: JsonValue }>((tie) => ({
      json: fc.oneof(
        { depthSize: "small" },
        fc.oneof(
          fc.string({ unit: "binary" }),
          fc.double({ noNaN: true, noDefaultInfinity: true }),
          fc.boolean(),
        ),
        fc.array(tie("json"), { maxLength: 3 }),
        fc.dictionary(names, tie("json"), { maxKeys: 4 }),
      ),
    }));
    let canonical = 0;
    fc.assert(
      fc.property(json, (value) => {
        const text = JSON.stringify(value);
        if (judge(text)) canonical += 1;
        judge(JSON.stringify(value, null, 1));
        if (/\\ud/.test(text)) return;
        const again = JSON.parse(text) as JsonValue;
        expect(canonicalJson(again)).toBe(canonicalize(again));
        expect(judge(canonicalJson(again))).toBe(true);
      }),
      { numRuns: 2_000 },
    );
    expect(canonical).toBeGreaterThan(100);
  });

  it.each([
    ['{"a":1,"b":2}', true],
    ['{"10":1,"9":2}', true],
    ['{"9":1,"10":2}', false],
    ['{"b":1,"a":2}', false],
    ['{"a":1,"a":1}', false],
    ['{"__proto__":1,"a":2}', true],
    ['["\\ud800"]', false],
    ['["\\ud83d\\ude00"]', false],
    ['["😀"]', true],
    ['["\\\\ud800"]', true],
    ['["\\u0041"]', false],
    ["[-0]", false],
    ["[1.0]", false],
    ["[1e21]", false],
    ["[1e+21]", true],
    [' {"a":1}', false],
  ])("%s: %s", (text, expected) => {
    expect(judge(text)).toBe(expected);
  });
});

describe("isSameJson", () => {
  const same = (one: string, other: string) => isSameJson(JSON.parse(one), JSON.parse(other));

  it.each([
    ['{"a":1,"b":[null,{"c":"x"}]}', '{"b":[null,{"c":"x"}],"a":1}', true],
    ["0", "-0", true],
    ["{}", "[]", false],
    ["null", "{}", false],
    ["[1]", '{"0":1}', false],
    ["[1,2]", "[2,1]", false],
    ['{"a":1}', '{"a":1,"b":2}', false],
    ['{"__proto__":{}}', '{"a":1}', false],
    ['{"toString":{}}', '{"a":{}}', false],
    ["1", '"1"', false],
  ])("of %s and %s", (one, other, expected) => {
    expect(same(one, other)).toBe(expected);
    expect(same(other, one)).toBe(expected);
  });

  it("agrees with canonical texts about any two values", () => {
    const pair = fc.tuple(fc.jsonValue({ maxDepth: 2 }), fc.jsonValue({ maxDepth: 2 }));
    fc.assert(
      fc.property(pair, ([one, other]) => {
        const [first, second] = [one, other] as [JsonValue, JsonValue];
        fc.pre(JSON.stringify([one, other]).isWellFormed() && !/\\ud/.test(JSON.stringify([one, other])));
        expect(isSameJson(first, second)).toBe(canonicalJson(first) === canonicalJson(second));
        expect(isSameJson(first, JSON.parse(canonicalJson(first)))).toBe(true);
      }),
    );
  });
});
