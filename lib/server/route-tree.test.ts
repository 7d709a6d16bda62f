/** The files of app/v1 are the table of operations, and so is the OpenAPI document: none has a path or a method more. */
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { buildOpenApi } from "#lib/api/openapi";
import { operations } from "#lib/api/operations/index";
import type { OperationSpec } from "#lib/api/operations/operation";
import * as nextRoutes from "#lib/server/next/api-route";
import { isOperationPath } from "./operations";

const api = Object.entries(operations as Record<string, OperationSpec>).filter(([, { path }]) =>
  path.startsWith("/v1/"),
);

interface RouteFile {
  path: string;
  /** Method → the operation that answers it. */
  operations: Record<string, string>;
  /** The methods that the table refuses for this path. */
  others: string[];
}

function readRouteFiles(): RouteFile[] {
  const files = readdirSync("app/v1", { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith("route.ts"),
  );
  return files
    .filter((name) => !name.startsWith("[[...path]]"))
    .map((name) => {
      const text = readFileSync(`app/v1/${name}`, "utf8");
      const named = [...text.matchAll(/^export const ([A-Z]+) = operation\("(\w+)"\);$/gm)];
      const [, others = ""] = /^export const \{ ([A-Z, ]+) \} = otherMethods;$/m.exec(text) ?? [];
      return {
        path: `/v1/${name.slice(0, -"/route.ts".length)}`.replaceAll(/\[(\w+)\]/g, "{$1}"),
        operations: Object.fromEntries(named.map(([, method = "", id = ""]) => [method, id])),
        others: others.split(", "),
      };
    });
}

const pairs = (files: RouteFile[]) =>
  files.flatMap(({ path, operations }) =>
    Object.entries(operations).map(([method, id]) => `${method} ${path} ${id}`),
  );

describe("the tree of app/v1", () => {
  const files = readRouteFiles();

  it("names every operation of the table at its path and method, and nothing else", () => {
    expect(api.length).toBeGreaterThan(20);
    expect(pairs(files).sort()).toEqual(
      api.map(([id, { method, path }]) => `${method} ${path} ${id}`).sort(),
    );
  });

  it("leaves no method to Next, whose answers have another shape", () => {
    for (const { operations, others } of files) {
      expect([...Object.keys(operations), ...others].sort()).toEqual(
        Object.keys(nextRoutes.otherMethods).sort(),
      );
    }
  });

  it("is what the OpenAPI document lists", () => {
    const { paths } = buildOpenApi("http://localhost:3000") as { paths: Record<string, object> };
    const documented = Object.entries(paths)
      .filter(([path]) => path.startsWith("/v1/"))
      .flatMap(([path, methods]) => Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`));
    const open = api.filter(([, spec]) => spec.internal !== true);
    expect(documented.sort()).toEqual(open.map(([, { method, path }]) => `${method} ${path}`).sort());
  });
});

it("has files for the Python client of this version and its old name, and for no other", () => {
  const { pythonWheel, pythonWheelChecksum, retiredPythonWheel, retiredPythonWheelChecksum } = operations;
  const known = [pythonWheel, pythonWheelChecksum, retiredPythonWheel, retiredPythonWheelChecksum];
  const folders = readdirSync("app").filter((name) => name.includes(".whl"));
  expect(folders.map((name) => `/${name}`).sort()).toEqual(known.map(({ path }) => path).sort());
});

describe("paths of the table", () => {
  it.each([
    "/v1",
    "/v1/",
    "/v1/nothing",
    "/log/x",
    "/verify.mjs",
    "/countersign.mjs",
    "/countersign.mjs.sha256",
    "/countersign.tgz",
    operations.pythonWheel.path,
    operations.pythonWheelChecksum.path,
    "/.well-known/jwks.json",
    "/.well-known/log-list.sig",
    "/approve/t/deny",
  ])("takes %s", (path) => expect(isOperationPath(path)).toBe(true));
  it.each(["/", "/verify/a/b", "/approve/t", "/portal", "/v10/x", "/docs/api", "/verify.mjs.map"])(
    "leaves %s to the pages",
    (path) => expect(isOperationPath(path)).toBe(false),
  );
});
