/** Each decision says whether it still holds, and the index lists them all with that. */
import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";

const folder = "docs/decisions";
const files = readdirSync(folder).filter((file) => /^\d{4}-[a-z0-9-]+\.md$/.test(file));
const read = (file: string) => readFileSync(`${folder}/${file}`, "utf8");
const form =
  /^# (.+)\n\n2026-\d\d-\d\d(?:, changed 2026-\d\d-\d\d)?\n\nStatus: (Accepted|Superseded by (\d{4}))\n\n/;

it("decisions have a title, a date and a status, and the index says the same", () => {
  expect(files.length).toBeGreaterThan(40);
  const lines = files.map((file) => {
    const [, title, status = ""] = form.exec(read(file)) ?? [];
    return `- [${file.slice(0, 4)}](./${file}) ${title}: ${status.toLowerCase()}`;
  });
  expect(read("README.md").match(/^- \[.*$/gm)).toEqual(lines);
});

it("what superseded a decision exists and stands", () => {
  const successors = files.flatMap((file) => form.exec(read(file))?.[3] ?? []);
  const standing = files.filter((file) => form.exec(read(file))?.[2] === "Accepted");
  expect(successors.filter((number) => !standing.some((file) => file.startsWith(number)))).toEqual([]);
});
