/** Sources and documents cite only files that a reader of the repository has, in words that people use. */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { oddWords } from "#support/odd-words";

const folders = [".ci", "app", "bench", "components", "docs", "drizzle", "e2e", "lib"];
const files = [
  ...readdirSync("."),
  ...folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => `${folder}/${name}`),
  ),
];
const texts = files
  .filter((file) => /\.(?:[cm]?[jt]sx?|md|css|sql|example)$/.test(file))
  .filter(
    (file) =>
      !["lib/citations.test.ts", "e2e/support/odd-words.ts", "components/words.test.ts"].includes(file),
  )
  .filter((file) => !/\/(?:\.next|node_modules)\//.test(file) && statSync(file).isFile())
  .map((file) => ({ file, text: readFileSync(file, "utf8").replaceAll(/\n\s*(?:\*|\/\/) /g, " ") }));

/** Every match, as `file: match`. */
function findAll(pattern: RegExp): { file: string; match: RegExpExecArray }[] {
  return texts.flatMap(({ file, text }) => [...text.matchAll(pattern)].map((match) => ({ file, match })));
}
const say = ({ file, match }: { file: string; match: RegExpExecArray }) => `${file}: ${match[0]}`;

const headingsOf = (document: string) =>
  [...readFileSync(document, "utf8").matchAll(/^#{1,3} (.+)$/gm)].map(([, heading]) => heading);

describe("citations", () => {
  it("are read from all of the sources", () => expect(texts.length).toBeGreaterThan(600));

  it("name no document that is not in the repository", () => {
    const bare = findAll(/(?<![\w/.>}-])[\w-]+\.md\b/g).filter(({ match: [name] }) => !existsSync(name));
    expect(bare.map(say)).toEqual([]);
    const inDocs = findAll(/(?<![\w/}])docs\/[\w/-]+\.md\b/g).filter(
      ({ match: [name] }) => !existsSync(name),
    );
    expect(inDocs.map(say)).toEqual([]);
  });

  it("name no source file that is not in the repository", () => {
    const names = new Set(files.map((file) => file.slice(file.lastIndexOf("/") + 1)));
    // A released migration never changes: it names the files of its day.
    const cited = findAll(/(?<![\w/.\-"'`}])(?!dist\/)(?:[\w.-]+\/)*([\w-][\w.-]*\.tsx?)\b/g);
    expect(cited.length).toBeGreaterThan(50);
    const missing = cited.filter(({ match: [, name = ""] }) => !names.has(name));
    expect(missing.filter(({ file }) => !file.startsWith("drizzle/")).map(say)).toEqual([]);
    const migrations = findAll(/\bdrizzle\/[\w-]+\.sql\b/g);
    expect(migrations.filter(({ match: [name] }) => !existsSync(name)).map(say)).toEqual([]);
  });

  it("name sections that exist", () => {
    const cited = findAll(/\((docs\/[\w/-]+\.md), ([^)]+)\)/g);
    expect(cited.length).toBeGreaterThan(10);
    const missing = cited.filter(({ match: [, document = "", sections = ""] }) =>
      sections.split(" and ").some((section) => !headingsOf(document).includes(section)),
    );
    expect(missing.map(say)).toEqual([]);
  });

  it("name no issue by a number alone", () => {
    expect(findAll(/\bissues? #?\d+/gi).map(say)).toEqual([]);
  });
});

describe("words", () => {
  it("are those that people use", () => {
    expect(findAll(oddWords).map(say)).toEqual([]);
  });
});
