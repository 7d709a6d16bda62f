/** docs/wire.md lists what the code has: nothing is missing there, and nothing is made up. */

import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { splitWire } from "#components/guides/wire-pages";
import { buildOpenApi, describedPath } from "#lib/api/openapi";
import { operations } from "#lib/api/operations/index";
import type { OperationSpec } from "#lib/api/operations/operation";
import { authorizationStatuses } from "#lib/api/schemas/authorize";
import { scopeNames } from "#lib/api/schemas/key-choices";
import { authorizationFields } from "#lib/protocol/approval/human-authorization-shape";
import { MESSAGE_NAMES, PUBLIC_MESSAGE_NAMES } from "#lib/protocol/presentation/disclosure";
import { warningCodes } from "#lib/protocol/statement/warnings";
import { attestationChecks } from "#lib/verifier/checks/verify-statement";
import { settingDefaults } from "./env";
import { describeError, errorNames } from "./errors";

interface Schema {
  type?: string;
  $ref?: string;
  properties?: Record<string, unknown>;
  required?: string[];
}

const text = readFileSync("docs/wire.md", "utf8");
const cellsOf = (line: string) =>
  line
    .slice(1, -1)
    .split("|")
    .map((cell) => cell.trim());

/** Each table's rows by the text of its header's first two cells. */
const tables = new Map<string, string[][]>();
for (const [table] of text.matchAll(/^(?:\|.*\|\n)+/gm)) {
  const [header = [], , ...rows] = table.trimEnd().split("\n").map(cellsOf);
  const name = header.slice(0, 2).join(" | ");
  if (tables.has(name)) throw new Error(`docs/wire.md: two tables begin with "${name}"`);
  tables.set(name, rows);
}

function rowsOf(name: string): string[][] {
  const rows = tables.get(name);
  if (rows === undefined) throw new Error(`docs/wire.md: no table begins with "${name}"`);
  return rows;
}

const codesIn = (cell = "") => [...cell.matchAll(/`([^`]+)`/g)].map(([, code = ""]) => code);
const firstCodes = (name: string) => rowsOf(name).flatMap(([cell]) => codesIn(cell));

/** The table whose header names this shape, whatever its second column is called. */
function findTable(shape: string): string {
  const name = [...tables.keys()].find((header) => header.startsWith(`${shape} | `));
  if (name === undefined) throw new Error(`docs/wire.md: no table of ${shape}`);
  return name;
}

/** "all of `Other` except `a`" means the other table's fields. */
function fieldsOf(shape: string): string[] {
  return rowsOf(findTable(shape)).flatMap(([cell = ""]) => {
    const codes = codesIn(cell);
    if (!cell.startsWith("all of ")) return codes;
    const [other = "", ...except] = codes;
    return fieldsOf(`\`${other}\``).filter((field) => !except.includes(field));
  });
}

const document = buildOpenApi("http://localhost:3000") as unknown as {
  paths: Record<string, Record<string, { parameters: { name: string; in: string }[]; responses: Answers }>>;
  components: { schemas: Record<string, Schema>; headers: Record<string, unknown> };
};
type Answers = Record<string, { content: Record<string, { schema: Schema }> }>;

const specs = (Object.values(operations) as OperationSpec[]).filter(({ internal }) => !internal);
const nameOf = ({ method, path }: OperationSpec) => `${method} ${path}`;
const describedOf = (spec: OperationSpec) => {
  const operation = document.paths[describedPath(spec)]?.[spec.method.toLowerCase()];
  if (operation === undefined) throw new Error(`not in the OpenAPI document: ${nameOf(spec)}`);
  return operation;
};
const sorted = (names: Iterable<string>) => [...names].sort();

describe("docs/wire.md", () => {
  it("has each of its parts on a page of the site, which is not built otherwise", () => {
    expect(() => splitWire(text)).not.toThrow();
  });

  it("lists every public operation with its access and limit", () => {
    const accessOf = ({ auth }: OperationSpec) => {
      if (auth.kind === "none") return "`public`";
      const names = auth.scopes.length === 0 ? ["key"] : auth.scopes;
      return [...(auth.kind === "optional" ? ["public"] : []), ...names]
        .map((name) => `\`${name}\``)
        .join(", ");
    };
    const rows = specs.map((spec) => [
      `\`${nameOf(spec)}\``,
      accessOf(spec),
      spec.limit === null ? "none" : `\`${spec.limit}\``,
    ]);
    expect(sorted(rowsOf("operation | access").map(String))).toEqual(sorted(rows.map(String)));
  });

  it("lists every error", () => {
    const rows = errorNames.map((name) => {
      const { status, title, code } = describeError(name);
      return `${status},${title},\`${code}\``;
    });
    const listed = rowsOf("status | title").map((row) => row.slice(0, 3).join());
    expect(sorted(listed)).toEqual(sorted(rows));
  });

  it("lists every limit's setting with its default", () => {
    const settings = Object.entries(settingDefaults()).filter(([name]) => name.startsWith("LIMIT_"));
    const unset = (name: string) => (name === "LIMIT_ATTEST_PER_DAY" ? "none" : "5 × the key's");
    const rows = settings.map(([name, value]) => `\`${name}\`,${value === "" ? unset(name) : value}`);
    expect(sorted(rowsOf("name | setting").map((row) => row.slice(1, 3).join()))).toEqual(sorted(rows));
    const names = specs.flatMap(({ limit }) => limit ?? []);
    expect(firstCodes("name | setting")).toEqual(expect.arrayContaining([...new Set(names)]));
  });

  it.each([
    ["header | meaning", Object.keys(document.components.headers)],
    ["permission | allows", scopeNames],
    ["code | meaning", warningCodes],
    ["check | passes if", attestationChecks],
    ["status | meaning", authorizationStatuses],
  ])("lists all of: %s", (name, codes) => {
    expect(sorted(firstCodes(name))).toEqual(sorted(codes));
  });

  it("lists the messages of a zero-knowledge proof in their order", () => {
    const lists = [...text.matchAll(/```text\n(schema\n[\s\S]*?)```/g)].map(([, list = ""]) =>
      list.trim().split("\n"),
    );
    expect(lists).toEqual([[...MESSAGE_NAMES], [...PUBLIC_MESSAGE_NAMES]]);
  });

  const shapes = Object.entries(document.components.schemas).filter(([, { properties }]) => properties);
  it.each(shapes)("lists the fields of %s", (name, { properties = {} }) => {
    expect(sorted(fieldsOf(`\`${name}\``))).toEqual(sorted(Object.keys(properties)));
  });

  const bodies = specs.flatMap(({ body }) => body?.meta()?.id ?? []);
  it.each(bodies)("says which fields of %s are required", (name) => {
    const rows = rowsOf(findTable(`\`${name}\``)).filter(([, rule = ""]) => rule.startsWith("required"));
    const { required = [] } = document.components.schemas[name] ?? {};
    expect(sorted(rows.flatMap(([cell]) => codesIn(cell)))).toEqual(sorted(required));
  });

  it.each(specs.filter(({ query }) => query))("lists the parameters of $method $path", (spec) => {
    const inQuery = describedOf(spec).parameters.filter((parameter) => parameter.in === "query");
    expect(sorted(fieldsOf(`\`${nameOf(spec)}\` takes`))).toEqual(sorted(inQuery.map(({ name }) => name)));
  });

  /** Answers whose shape has no name of its own. */
  const unnamed = specs.flatMap((spec) =>
    Object.values(describedOf(spec).responses).flatMap(({ content }) => {
      const properties = content["application/json"]?.schema.properties;
      return properties === undefined ? [] : [{ name: nameOf(spec), fields: Object.keys(properties) }];
    }),
  );
  it.each(unnamed)("lists the fields that $name answers", ({ name, fields }) => {
    expect(sorted(fieldsOf(`\`${name}\` answers`))).toEqual(sorted(fields));
  });

  it.each(Object.entries(authorizationFields))("lists the fields of an approval's %s", (name, fields) => {
    const table = name === "human_authorization" ? `\`${name}\`` : name;
    expect(sorted(fieldsOf(table))).toEqual(sorted(fields));
  });

  it("lists the fields of the signed payload, as the published receipts and later ones have them", () => {
    const folder = "public/vectors/1.0.0";
    const signed = readdirSync(folder)
      .filter((file) => file.endsWith(".json"))
      .map((file) => JSON.parse(readFileSync(`${folder}/${file}`, "utf8")) as { payload?: unknown })
      .flatMap(({ payload }) => (typeof payload === "string" ? [payload] : []))
      .map((payload) => JSON.parse(payload) as { predicate: Record<string, unknown> });
    const later = ["not_before", "record", "agent_frozen_at", "approval_stopped", "trace"];
    const fields = new Set([...signed.flatMap(({ predicate }) => Object.keys(predicate)), ...later]);
    expect(sorted(fieldsOf("predicate"))).toEqual(sorted(fields));
  });
});
