/** Openings of comments: question words and pronouns leave it to the reader to find out what a comment is about. */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { parseSync } from "oxc-parser";
import { describe, expect, it } from "vitest";

const folders = [".ci", "app", "bench", "clients", "components", "e2e", "lib"];
const script = /\.[cm]?[jt]sx?$/;
const readable = /\.(?:[cm]?[jt]sx?|css|go|in|py|sh|sql|toml|ya?ml)$|(?:^|\/)(?:Dockerfile|run)$/;
const files = [".", ...folders].flatMap((folder) =>
  readdirSync(folder, { recursive: folder !== ".", encoding: "utf8" })
    .map((name) => (folder === "." ? name : `${folder}/${name}`))
    .filter(
      (file) => readable.test(file) && !/\/(?:\.\w+_cache|\.venv|__pycache__|node_modules)\//.test(file),
    )
    .filter((file) => statSync(file).isFile()),
);

const opening =
  /^(?:\/\*|\/\/|#|--|""")[\s*/#-]*(?:What|Of|Whether|Who|Whom|Whose|Which|How|Why|Whatever|Whoever|Not|Such|Those|They|It|Its|By|As)\b/i;
const marker = /(?<=^|\s)(?:\/\*|\/\/|#|--\s|""").*/gm;
/** Comments on lines of their own, one below the other, are one comment. */
const continued = /^[ \t]*(\/\/|#|--).*\n[ \t]*$/m;

const listComments = (file: string, source: string) =>
  script.test(file)
    ? parseSync(file, source).comments.map(({ start, end }) => ({ start, text: source.slice(start, end) }))
    : [...source.matchAll(marker)].map(({ index, 0: text }) => ({ start: index, text }));

/** Lists openings as `file:line: comment`. */
function findOpenings(file: string, source: string): string[] {
  return listComments(file, source)
    .filter(({ text }) => opening.test(text))
    .filter(({ start, text }) => {
      const lines = source.slice(0, start).split("\n").slice(-2).join("\n");
      const above = continued.exec(lines)?.[1];
      return above === undefined || !text.startsWith(above);
    })
    .map(
      ({ start, text }) =>
        `${file}:${source.slice(0, start).split("\n").length}: ${text.split("\n", 2).join("")}`,
    );
}

describe("comments", () => {
  it("begin with a noun or a verb", () => {
    expect(files.length).toBeGreaterThan(1_000);
    expect(files.flatMap((file) => findOpenings(file, readFileSync(file, "utf8")))).toEqual([]);
  });

  it.each([
    ["a.ts", "let a;\n/** What it is. */"],
    ["a.ts", "/**\n * Whether it is.\n */"],
    ["a.ts", "let a; // Of both."],
    ["a.ts", "// of both\n// and more"],
    ["a.tsx", "const a = <p>{/* What it is. */}</p>;"],
    ["a.py", 'def a():\n    """Whether it is."""'],
    ["a.py", "a = 1  # Of both."],
    ["a.yaml", "# What it is."],
    ["a.sql", "SELECT 1; -- What it is."],
    ["a.css", "/* What it is. */"],
  ])("are found in %s: %j", (file, source) => expect(findOpenings(file, source)).toHaveLength(1));

  it.each([
    ["a.ts", 'const a = "// What it is.";'],
    ["a.ts", "// The first line says it.\n// What follows goes on."],
    ["a.ts", "/** Offers, notices, basics, itself and whetstones. */"],
    ["a.py", "# The first line says it.\n# What follows goes on."],
  ])("are not mistaken in %s: %j", (file, source) => expect(findOpenings(file, source)).toEqual([]));
});
