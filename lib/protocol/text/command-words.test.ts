/** An id that is an argument of a command is read as one, whatever it begins with. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readCommandLine, single, UsageError } from "./command-words";

const options = { valued: ["from-index", "new-key-file"], flags: ["lost", "all"] } as const;
const names: string[] = [...options.valued, ...options.flags];
const read = (...argv: string[]) => readCommandLine(argv, options);

/** 43 characters of base64url, as a SHA-256 has them, most of them beginning like an option or a number. */
const oddId = fc
  .tuple(
    fc.constantFrom("-", "--", "---", "-5", "-v", "--lost", "--from-index", "--all-", "_", ""),
    fc.string({ unit: fc.constantFrom(..."AZaz09-_"), minLength: 43, maxLength: 43 }),
  )
  .map(([start, rest]) => (start + rest).slice(0, 43));

describe("readCommandLine", () => {
  it("reads every id as an argument, with options before it, after it, and around it", () => {
    const shapes: ((id: string) => string[])[] = [
      (id) => ["revoke", "zk", id],
      (id) => ["revoke", "zk", id, "--from-index", "7", "--lost"],
      (id) => ["--from-index", "7", "revoke", "zk", id],
      (id) => ["--lost", "revoke", "--from-index=7", "zk", id],
      (id) => ["revoke", "zk", "--", id],
    ];
    fc.assert(
      fc.property(oddId, fc.constantFrom(...shapes), (id, shape) => {
        expect(read(...shape(id)).words).toEqual(["revoke", "zk", id]);
      }),
      { numRuns: 500 },
    );
  });

  it("takes the word after an option for its value, whatever it begins with", () => {
    fc.assert(
      fc.property(oddId, (id) => {
        for (const argv of [
          ["x", "--new-key-file", id],
          ["--new-key-file", id, "x"],
          [`--new-key-file=${id}`, "x"],
        ]) {
          const line = read(...argv);
          expect([line.words, single(line, "new-key-file")]).toEqual([["x"], id]);
        }
      }),
    );
  });

  it("takes no word for an argument that begins like an option, if it is strict", () => {
    const strict = (...argv: string[]) => readCommandLine(argv, { ...options, isStrict: true }).words;
    expect(() => strict("a", "--typo")).toThrow(new UsageError("unknown option --typo"));
    expect(() => strict("a", "--typo=1")).toThrow(UsageError);
    expect(strict("a", "-b", "--all", "--", "--typo")).toEqual(["a", "-b", "--typo"]);
  });

  it("takes for options what it knows, and after -- nothing", () => {
    fc.assert(
      fc.property(fc.string(), (word) => {
        const name = /^--([^=]+)/.exec(word)?.[1] ?? "";
        if (word !== "--" && !names.includes(name)) expect(read(word).words).toEqual([word]);
        expect(read("--", word).words).toEqual([word]);
      }),
    );
    expect(read("--lost", "--all")).toEqual({ words: [], values: {}, flags: new Set(["lost", "all"]) });
    expect(read("--new-key-file=a=b").values).toEqual({ "new-key-file": ["a=b"] });
    expect(read("--new-key-file=").values).toEqual({ "new-key-file": [""] });
  });

  it("refuses a missing value, a value that is too much, and an option given twice", () => {
    expect(() => read("--from-index")).toThrow(UsageError);
    expect(() => read("--lost=yes")).toThrow(UsageError);
    expect(() => single(read("--from-index", "1", "--from-index=2"), "from-index")).toThrow(UsageError);
  });
});
