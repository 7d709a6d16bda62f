/**
 * Generates sources of clients/python: a TypedDict for each named schema of the OpenAPI document, and the words of the
 * verifier's reasons.
 *
 *   node .ci/python-types.mjs   writes both files; a test holds them to their sources
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { root } from "./step.mjs";

export const pythonFiles = {
  types: path.join(root, "clients/python/countersign_client/_wire.py"),
  reasons: path.join(root, "clients/python/countersign_client/verify/_reasons.py"),
};

const header = `"""Requests and responses of the service. Made from its OpenAPI document by .ci/python-types.mjs: don't edit."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias, TypedDict
`;

const literal = (value) =>
  value === null ? "None" : typeof value === "boolean" ? (value ? "True" : "False") : JSON.stringify(value);
const scalars = { string: "str", integer: "int", number: "float", boolean: "bool", null: "None" };
const upperFirst = (word) => word.charAt(0).toUpperCase() + word.slice(1);
const pascal = (name) =>
  name
    .split(/[^A-Za-z0-9]+/)
    .map(upperFirst)
    .join("");
const union = (types) =>
  [...new Set(types)].sort((a, b) => Number(a === "None") - Number(b === "None")).join(" | ");

/** Appends to `classes` what has to be declared first, and answers how the type is written. */
function typeOf(schema, name, classes) {
  if (schema.$ref !== undefined) return schema.$ref.split("/").at(-1);
  if (schema.const !== undefined) return `Literal[${literal(schema.const)}]`;
  if (schema.enum !== undefined) return `Literal[${schema.enum.map(literal).join(", ")}]`;
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices !== undefined && schema.properties === undefined)
    return union(
      choices.map((one, i) =>
        typeOf(one, `${name}${isObject(one) && choices.filter(isObject).length > 1 ? i + 1 : ""}`, classes),
      ),
    );
  if (Array.isArray(schema.type))
    return union(schema.type.map((type) => typeOf({ ...schema, type }, name, classes)));
  if (schema.type === "array")
    return `list[${schema.items ? typeOf(schema.items, `${name}Item`, classes) : "Any"}]`;
  if (isObject(schema)) return declare(schema, name, classes);
  const { additionalProperties: members } = schema;
  if (schema.type === "object")
    return `dict[str, ${typeof members === "object" ? typeOf(members, `${name}Value`, classes) : "Any"}]`;
  return scalars[schema.type] ?? "Any";
}

const isObject = (schema) => schema.properties !== undefined && Object.keys(schema.properties).length > 0;

/** Python's keywords that a field may be called: a class can't have such a member, a TypedDict can. */
const keywords = new Set(
  "and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield None True False".split(
    " ",
  ),
);

function declareClass(name, fields, isTotal) {
  const total = isTotal ? "" : ", total=False";
  if (!fields.some(([field]) => keywords.has(field)))
    return `class ${name}(TypedDict${total}):\n${fields.map(([field, type]) => `    ${field}: ${type}`).join("\n")}`;
  const members = fields.map(
    ([field, type]) => `        ${JSON.stringify(field)}: ${JSON.stringify(type)},\n`,
  );
  return `${name} = TypedDict(\n    ${JSON.stringify(name)},\n    {\n${members.join("")}    }${total},\n)`;
}

/** `NotRequired` is younger than the oldest Python that the package runs on, so what may be left out has a class of its own. */
function declare({ properties, required = [] }, name, classes) {
  const fields = (isRequired) =>
    Object.entries(properties)
      .filter(([field]) => required.includes(field) === isRequired)
      .map(([field, schema]) => [field, typeOf(schema, name + pascal(field), classes)]);
  const [must, may] = [fields(true), fields(false)];
  if (may.length === 0) classes.push(declareClass(name, must, true));
  else if (must.length === 0) classes.push(declareClass(name, may, false));
  else {
    classes.push(declareClass(`${name}Required`, must, true));
    classes.push(declareClass(`${name}Optional`, may, false));
    classes.push(`class ${name}(${name}Required, ${name}Optional):\n    pass`);
  }
  return name;
}

export function writePythonTypes(document) {
  const classes = [];
  for (const [name, schema] of Object.entries(document.components.schemas)) {
    if (name === "JsonValue") continue;
    const type = typeOf(schema, name, classes);
    // A name may come before its class.
    const written = schema.enum === undefined ? JSON.stringify(type) : type;
    if (type !== name) classes.push(`${name}: TypeAlias = ${written}`);
  }
  return `${header}\nJsonValue: TypeAlias = Any\n\n\n${classes.join("\n\n\n")}\n`;
}

export function writePythonReasons(reasons) {
  const rows = Object.entries(reasons).map(
    ([code, words]) => `    ${JSON.stringify(code)}: ${JSON.stringify(words)},\n`,
  );
  return `"""Reasons why a check did not pass, in words. Made from the TypeScript verifier's own by .ci/python-types.mjs: don't edit."""

from __future__ import annotations

REASONS: dict[str, str] = {
${rows.join("")}}
`;
}

async function readSources() {
  const outfile = path.join(mkdtempSync(path.join(root, "dist", "python-types-")), "sources.mjs");
  const contents = `
    export { buildOpenApi } from "#lib/api/openapi";
    export { packReasons } from "#lib/protocol/pack/pack-reasons";
    export { reasons } from "#lib/protocol/statement/reasons";
  `;
  const stdin = { contents, resolveDir: root, loader: "ts" };
  const shape = { bundle: true, format: "esm", platform: "node", packages: "external" };
  await build({ stdin, outfile, ...shape, logLevel: "warning" });
  try {
    const { buildOpenApi, reasons, packReasons } = await import(pathToFileURL(outfile).href);
    return { document: buildOpenApi("http://localhost:3000"), reasons: { ...reasons, ...packReasons } };
  } finally {
    rmSync(path.dirname(outfile), { recursive: true });
  }
}

if (process.argv[1] === import.meta.filename) {
  const { document, reasons } = await readSources();
  writeFileSync(pythonFiles.types, writePythonTypes(document));
  writeFileSync(pythonFiles.reasons, writePythonReasons(reasons));
}
