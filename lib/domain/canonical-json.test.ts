import { describe, expect, it } from "vitest";
import { canonicalJson, type JsonValue } from "./canonical-json";

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

  it("refuses what has no canonical form", () => {
    for (const value of [Number.NaN, Number.POSITIVE_INFINITY, "\ud800", { "\udc00": 1 }, undefined]) {
      expect(() => canonicalJson(value as JsonValue)).toThrow();
    }
  });
});
