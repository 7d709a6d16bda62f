/**
 * Imports allowed between rooms: one ordered list. A file imports from its own room and from rooms before it; `only` narrows
 * that further. Biome (biome.json) says what a room may take from packages. Both are shown to fire on planted violations of
 * every form, because a rule that stopped working would look like a clean tree.
 */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { parseSync, Visitor } from "oxc-parser";
import { describe, expect, it } from "vitest";

interface Room {
  path: string;
  /** The rooms that it may import, if not all before it. */
  only?: string[];
}

const rooms: Room[] = [
  { path: "lib/platform" },
  { path: "lib/protocol" },
  { path: "lib/verifier" },
  { path: "lib/client" },
  { path: "lib" }, // env, errors, logger, instrumentation
  { path: "lib/api/schemas", only: ["lib/protocol", "lib/verifier"] },
  { path: "lib/db", only: ["lib"] },
  { path: "lib/jobs", only: ["lib", "lib/protocol", "lib/verifier", "lib/api/schemas", "lib/db"] },
  { path: "lib/api/operations", only: ["lib/protocol", "lib/api/schemas"] },
  { path: "lib/api", only: ["lib/protocol", "lib/api/schemas", "lib/api/operations"] }, // the OpenAPI document
  { path: "lib/api/http" },
  { path: "lib/log/signing" },
  { path: "lib/log" },
  { path: "lib/services/accounts" },
  { path: "lib/services/keys" },
  { path: "lib/services/directory" },
  { path: "lib/services/agents" },
  { path: "lib/services/policies" },
  { path: "lib/services/approvals" },
  { path: "lib/services/attestations" },
  { path: "lib/services/packs" },
  { path: "lib/services/webhooks" },
  { path: "lib/services/notifications" },
  {
    path: "lib/services/mcp",
    only: [
      "lib",
      "lib/protocol",
      "lib/api/schemas",
      "lib/api/operations",
      "lib/api/http",
      "lib/client",
      "lib/services/approvals",
    ],
  },
  { path: "lib/services/portal" },
  { path: "lib/emulators" },
  { path: "lib/server" },
  { path: "lib/cli" },
  { path: "lib/server/pages" },
  {
    path: "components",
    only: ["lib/protocol", "lib/verifier", "lib/client", "lib/api/schemas", "lib/api/operations", "lib/api"],
  },
  {
    path: "app", // no database, no signing keys
    only: [
      "lib",
      "lib/protocol",
      "lib/api/schemas",
      "lib/api/operations",
      "lib/api",
      "lib/api/http",
      "lib/log",
      "lib/services/accounts",
      "lib/services/keys",
      "lib/services/directory",
      "lib/services/agents",
      "lib/services/policies",
      "lib/services/approvals",
      "lib/services/attestations",
      "lib/services/packs",
      "lib/services/webhooks",
      "lib/services/notifications",
      "lib/services/portal",
      "lib/server",
      "lib/server/pages",
      "components",
    ],
  },
];

const root = process.cwd();
const isTest = (file: string) => /\.test\.tsx?$/.test(file);
const roomOf = (file: string) =>
  rooms
    .filter((room) => file.startsWith(`${room.path}/`))
    .toSorted((a, b) => b.path.length - a.path.length)[0];

/** Every module that a source names, whatever the form: import, export, dynamic, type. */
function listImports(file: string, source: string): string[] {
  const { program, errors } = parseSync(file, source);
  if (errors.length > 0) throw new Error(`${file}: ${errors[0]?.message}`);
  const found: string[] = [];
  const add = (node: { source?: { type: string; value?: unknown } | null }) => {
    if (typeof node.source?.value === "string") found.push(node.source.value);
  };
  new Visitor({
    ImportDeclaration: add,
    ExportNamedDeclaration: add,
    ExportAllDeclaration: add,
    ImportExpression: add,
    TSImportType: add,
  }).visit(program);
  return found;
}

/** Modules that a file loads at once: neither types nor dynamic imports. */
const listValueImports = (file: string): string[] =>
  parseSync(file, readFileSync(path.join(root, file), "utf8"))
    .module.staticImports.filter(
      ({ entries }) => entries.length === 0 || entries.some(({ isType }) => !isType),
    )
    .map(({ moduleRequest }) => moduleRequest.value);

/** Modules that a file names, types included, but for those that it loads when it needs them. */
function listStaticImports(file: string): string[] {
  const { staticImports, staticExports } = parseSync(
    file,
    readFileSync(path.join(root, file), "utf8"),
  ).module;
  const requests = [...staticImports, ...staticExports.flatMap(({ entries }) => entries)];
  return requests.flatMap(({ moduleRequest }) => moduleRequest?.value ?? []);
}

/** The path in the repository that an import names; undefined for a package. */
function targetOf(file: string, specifier: string): string | undefined {
  if (specifier.startsWith(".")) return path.posix.join(path.posix.dirname(file), specifier);
  if (specifier.startsWith("#platform/")) return specifier.replace("#", "lib/");
  return specifier.startsWith("#") ? specifier.slice(1) : undefined;
}

function isAllowed(from: Room, to: Room | undefined): boolean {
  if (to === undefined) return false;
  if (to === from || to.path === "lib/platform") return to === from || rooms.indexOf(from) > 0;
  return from.only ? from.only.includes(to.path) : rooms.indexOf(to) < rooms.indexOf(from);
}

function listViolations(file: string, source: string): string[] {
  const from = roomOf(file);
  if (!from || isTest(file)) return [];
  return listImports(file, source).filter((specifier) => {
    const target = targetOf(file, specifier);
    if (target === undefined || /\.(css|md)$/.test(target)) return false;
    return specifier.includes("../") || !isAllowed(from, roomOf(target));
  });
}

const forms: Record<string, (from: string) => string> = {
  named: (from) => `import { a } from "${from}";\nexport const b = a;\n`,
  "type-only": (from) => `import type { A } from "${from}";\nexport type B = A;\n`,
  "import type": (from) => `export type B = import("${from}").A;\n`,
  "side effect": (from) => `import "${from}";\n`,
  "re-export": (from) => `export { a } from "${from}";\n`,
  "star re-export": (from) => `export * from "${from}";\n`,
  dynamic: (from) => `export const load = () => import("${from}");\n`,
};

describe("the order of rooms", () => {
  const files = spawnSync("git", ["ls-files", "-co", "--exclude-standard", "lib", "components", "app"], {
    encoding: "utf8",
  })
    .stdout.split("\n")
    .filter((file) => /\.tsx?$/.test(file) && !file.endsWith(".d.ts"));

  it("holds for every file", () => {
    expect(files.length).toBeGreaterThan(600);
    const violations = files.flatMap((file) => {
      let source: string;
      try {
        source = readFileSync(path.join(root, file), "utf8");
      } catch {
        return []; // deleted, and not yet committed
      }
      return listViolations(file, source).map((specifier) => `${file} imports ${specifier}`);
    });
    expect(violations).toEqual([]);
  });

  it("has no circle of imports, of types neither; a file may load one that imports it only when it needs it", () => {
    const left = new Map<string, string[]>();
    for (const file of files.filter((one) => !isTest(one) && existsSync(path.join(root, one)))) {
      const imported = listStaticImports(file).map((specifier) => targetOf(file, specifier));
      left.set(
        file,
        imported.flatMap((target) => [`${target}.ts`, `${target}.tsx`]),
      );
    }
    // Leaves what is in a circle, or imports one.
    for (let before = 0; before !== left.size; ) {
      before = left.size;
      for (const [file, imported] of left) if (!imported.some((one) => left.has(one))) left.delete(file);
    }
    expect([...left.keys()]).toEqual([]);
  });

  it("names every room of lib, and none that is gone", () => {
    const homeless = files.filter((file) => /^lib\/.+\//.test(file) && roomOf(file)?.path === "lib");
    expect(homeless).toEqual([]);
    expect(rooms.filter((room) => !files.some((file) => roomOf(file) === room))).toEqual([]);
  });

  /** Files that load with these, and what packages each of them names. */
  function reach(entries: string[]): { reached: Set<string>; packages: string[] } {
    const reached = new Set(entries);
    const packages: string[] = [];
    for (const file of reached) {
      for (const specifier of listValueImports(file)) {
        const target = targetOf(file, specifier);
        const found = [`${target}.ts`, `${target}.tsx`].find((one) => files.includes(one));
        if (found !== undefined) reached.add(found);
        else if (target === undefined) packages.push(`${file} imports ${specifier}`);
      }
    }
    return { reached, packages };
  }

  it("builds no page or route with what builds the app: each would bring all of it along", () => {
    const entries = [...files, "proxy.ts"].filter(
      (file) => /^(?:app\/|proxy\.ts)/.test(file) && !isTest(file),
    );
    const { reached } = reach(entries.filter((file) => existsSync(path.join(root, file))));
    expect(reached.size).toBeGreaterThan(500);
    expect([...reached].filter((file) => file === "lib/server/app.ts")).toEqual([]);
  });

  it("starts the server without Next's request modules, which only Next may load", () => {
    const { reached, packages } = reach(["lib/server/pages/open-pages.ts"]);
    expect(reached.size).toBeGreaterThan(50);
    expect(packages.filter((line) => /imports (?:next\/|next-auth|react$)/.test(line))).toEqual([]);
  });

  it("starts the server without the curves of proofs, which its threads load", () => {
    const { reached, packages } = reach(["lib/server/processes/run-process.ts"]);
    expect([...reached]).toContain("lib/protocol/presentation/presentation.ts");
    expect(packages.filter((line) => /bbs-signatures|bn254|bls12-381/.test(line))).toEqual([]);
  });

  it("gives Next's settings relative imports alone: Next resolves no #lib/ in them, and builds nothing", () => {
    const { reached } = reach(["next.config.ts"]);
    expect([...reached]).toContain("lib/api/schemas/page-headers.ts");
    expect([...reached].flatMap(listValueImports).filter((one) => one.startsWith("#"))).toEqual([]);
  });

  it.each(Object.entries(forms))("refuses a planted import of a later room: %s", (_name, write) => {
    for (const [at, room] of rooms.entries()) {
      const file = `${room.path}/planted.ts`;
      const later = rooms[at + 1];
      const forbidden = later ? [`#${later.path}/planted`, `./../../${later.path}/planted`] : [];
      const outside =
        room.only &&
        rooms
          .slice(0, at)
          .find(({ path: earlier }) => !room.only?.includes(earlier) && earlier !== "lib/platform");
      for (const specifier of [
        ...forbidden,
        ...(outside ? [`#${outside.path}/planted`] : []),
        "./inner/../../other",
      ]) {
        expect(listViolations(file, write(specifier)), `${file}: ${specifier}`).toEqual([specifier]);
      }
      const earlier = room.only?.[0] ?? rooms[at - 1]?.path;
      for (const specifier of ["./sibling", ...(earlier ? [`#${earlier}/planted`] : [])]) {
        expect(listViolations(file, write(specifier)), `${file}: ${specifier}`).toEqual([]);
      }
    }
  });
});
