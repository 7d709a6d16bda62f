/**
 * Writes dist/countersign_client-<version>-py3-none-any.whl from clients/python, with nothing but Node: the service
 * builds where there is no Python. The bytes follow from the files alone: names are in order, nothing is compressed, and no time is written.
 */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { crc32 } from "node:zlib";
import { parse } from "smol-toml";
import { root } from "./step.mjs";

const sourceIn = (folder) => path.join(folder, "clients/python");

function readPackage(source, name) {
  return readdirSync(path.join(source, name), { recursive: true, encoding: "utf8" })
    .map((file) => `${name}/${file.replaceAll(path.sep, "/")}`)
    .filter((file) => /\.py$|\/py\.typed$/.test(file))
    .sort()
    .map((file) => [file, readFileSync(path.join(source, file))]);
}

/** Core metadata 2.4 (packaging.python.org/specifications/core-metadata). */
function writeMetadata(project, readme) {
  const extras = Object.entries(project["optional-dependencies"] ?? {});
  const lines = [
    "Metadata-Version: 2.4",
    `Name: ${project.name}`,
    `Version: ${project.version}`,
    `Summary: ${project.description}`,
    `License-Expression: ${project.license}`,
    "License-File: LICENSE",
    `Requires-Python: ${project["requires-python"]}`,
    ...project.classifiers.map((one) => `Classifier: ${one}`),
    ...project.dependencies.map((one) => `Requires-Dist: ${one}`),
    ...extras.flatMap(([extra, needed]) => [
      `Provides-Extra: ${extra}`,
      ...needed.map((one) => `Requires-Dist: ${one}; extra == "${extra}"`),
    ]),
    "Description-Content-Type: text/markdown",
  ];
  return `${lines.join("\n")}\n\n${readme}`;
}

/** Name in file names, folders and the module (binary-distribution-format, "Escaping and Unicode"). */
const escapeName = ({ name }) => name.replaceAll("-", "_");

const hashOf = (bytes) => createHash("sha256").update(bytes).digest("base64url");

function listFiles(folder, project) {
  const source = sourceIn(folder);
  const name = escapeName(project);
  const info = `${name}-${project.version}.dist-info`;
  const readme = readFileSync(path.join(source, project.readme), "utf8");
  const scripts = Object.entries(project.scripts).map(([script, target]) => `${script} = ${target}\n`);
  const files = [
    ...readPackage(source, name),
    [`${info}/METADATA`, Buffer.from(writeMetadata(project, readme))],
    [
      `${info}/WHEEL`,
      Buffer.from("Wheel-Version: 1.0\nGenerator: countersign\nRoot-Is-Purelib: true\nTag: py3-none-any\n"),
    ],
    [`${info}/entry_points.txt`, Buffer.from(`[console_scripts]\n${scripts.join("")}`)],
    [`${info}/licenses/LICENSE`, readFileSync(path.join(folder, "LICENSE"))],
  ];
  const record = files.map(([file, bytes]) => `${file},sha256=${hashOf(bytes)},${bytes.length}\n`);
  return [...files, [`${info}/RECORD`, Buffer.from(`${record.join("")}${info}/RECORD,,\n`)]];
}

/** The first day that a ZIP file can name. */
const firstDay = 0x21;
/** Mode of a file on Unix that anyone may read: -rw-r--r-- */
const fileMode = 0o100644;

function numbers(...fields) {
  return Buffer.concat(
    fields.map(([value, length]) => {
      const bytes = Buffer.alloc(length);
      bytes.writeUIntLE(value, 0, length);
      return bytes;
    }),
  );
}

/** APPNOTE.TXT 4.3.7 and 4.3.12: what a file's two headers have in common. */
const sharedHeader = (name, bytes) =>
  numbers(
    [20, 2],
    [0x800, 2],
    [0, 2],
    [0, 2],
    [firstDay, 2],
    [crc32(bytes), 4],
    [bytes.length, 4],
    [bytes.length, 4],
    [name.length, 2],
    [0, 2],
  );

function writeZip(files) {
  const written = [];
  const directory = [];
  let offset = 0;
  for (const [file, bytes] of files) {
    const name = Buffer.from(file);
    const local = [numbers([0x04034b50, 4]), sharedHeader(name, bytes), name, bytes];
    directory.push(
      numbers([0x02014b50, 4], [0x0314, 2]),
      sharedHeader(name, bytes),
      numbers([0, 2], [0, 2], [0, 2], [0, 2], [fileMode, 2], [offset, 4]),
      name,
    );
    written.push(...local);
    offset += local.reduce((sum, { length }) => sum + length, 0);
  }
  const central = Buffer.concat(directory);
  const end = numbers(
    [0x06054b50, 4],
    [0, 4],
    [files.length, 2],
    [files.length, 2],
    [central.length, 4],
    [offset, 4],
    [0, 2],
  );
  return Buffer.concat([...written, central, end]);
}

export function makeWheel(folder) {
  const { project } = parse(readFileSync(path.join(sourceIn(folder), "pyproject.toml"), "utf8"));
  const name = `${escapeName(project)}-${project.version}-py3-none-any.whl`;
  return { name, bytes: writeZip(listFiles(folder, project)) };
}

export function packWheel() {
  const { name, bytes } = makeWheel(root);
  writeFileSync(path.join(root, "dist", name), bytes);
}
