/**
 * The document of all settings, made from .env.example, which lib/env.test.ts holds to the schema that reads them.
 *
 *   node .ci/settings.mjs   writes docs/settings.md
 */
import { readFileSync, realpathSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { root } from "./step.mjs";

export const settingsFile = "docs/settings.md";

/** A section begins with `## its name`; comments stand before the settings that they are about. */
function readSections(example) {
  const sections = [];
  let comment = [];
  let isTold = false;
  for (const line of example.split("\n")) {
    const [, title] = /^## (.+)$/.exec(line) ?? [];
    const [, name, initial = ""] = /^#([A-Z][A-Z0-9_]+)=(.*)$/.exec(line) ?? [];
    if (title !== undefined) {
      sections.push({ title, settings: [] });
      comment = [];
    } else if (name !== undefined) {
      sections.at(-1).settings.push({ name, initial, meaning: comment.join(" ") });
      isTold = true;
    } else if (line.startsWith("# ")) {
      if (isTold) comment = [];
      isTold = false;
      comment.push(line.slice(2));
    }
  }
  return sections;
}

const cell = (text) => text.replaceAll("|", "\\|");

const encodeRow = ({ name, initial, meaning }) =>
  `| \`${name}\` | ${initial === "" ? "" : `\`${initial}\``} | ${cell(meaning)} |`;

export function encodeSettings(example) {
  const sections = readSections(example).flatMap(({ title, settings }) => [
    `## ${title}`,
    "",
    "| setting | default | meaning |",
    "| --- | --- | --- |",
    ...settings.map(encodeRow),
    "",
  ]);
  return [
    "# Settings",
    "",
    "Environment variables, all optional on a loopback address. Made from `.env.example` by `node .ci/settings.mjs`.",
    "[Running it in production](./production.md) says which ones a public instance needs.",
    "",
    ...sections,
  ].join("\n");
}

export const readExample = () => readFileSync(`${root}/.env.example`, "utf8");

const [, program = ""] = process.argv;
if (program !== "" && realpathSync(program) === fileURLToPath(import.meta.url))
  writeFileSync(`${root}/${settingsFile}`, encodeSettings(readExample()));
