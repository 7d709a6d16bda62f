/**
 * Packages for agents: dist/client (the client, for Node with what proxies need, and the verifier as files of its own
 * that it loads if they are needed), dist/countersign.mjs (the command line as one file that needs nothing but Node),
 * and both with types as an npm package without dependencies, dist/countersign.tgz. What it needs of @noble is bundled:
 * an install then brings one package that was tested as a whole, and a few kilobytes of it reach a browser.
 */
import { copyFileSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { build } from "esbuild";
import { root, runStep } from "./step.mjs";
import { oneFile } from "./verifier.mjs";

const inRoot = (file) => path.join(root, file);
const types = inRoot("dist/client/types");

/** The client's static part must not share a chunk with the verifier, or a page would load what only the verifier needs. */
const verifierApart = {
  name: "verifier-apart",
  setup({ onResolve }) {
    onResolve({ filter: /^#lib\/client\/api\/verify$/ }, () => ({ path: "./verify.mjs", external: true }));
  },
};

/** Adapters of lib/client/frameworks, each a file of its own that imports nothing at run time. */
const frameworks = ["ai-sdk", "langgraph", "openai-agents"];

const portable = {
  absWorkingDir: root,
  outdir: inRoot("dist/client"),
  outExtension: { ".js": ".mjs" },
  bundle: true,
  format: "esm",
  platform: "browser",
  target: "es2022",
  logLevel: "warning",
};

async function bundleClient() {
  await Promise.all([
    build({ ...portable, entryPoints: { client: inRoot("lib/client/index.ts") }, plugins: [verifierApart] }),
    build({
      ...oneFile(root),
      outdir: portable.outdir,
      target: portable.target,
      entryPoints: { "client.node": inRoot("lib/client/index.ts") },
      plugins: [verifierApart],
    }),
    build({ ...portable, entryPoints: frameworks.map((name) => inRoot(`lib/client/frameworks/${name}.ts`)) }),
    build({
      ...portable,
      entryPoints: { verify: inRoot("lib/client/api/verify.ts") },
      splitting: true,
      chunkNames: "verify-[hash]",
    }),
  ]);
}

/** Specifiers of a declaration file that are ours, `#lib/…` and `./…`. */
const specifier = /(?<=\bfrom\s*"|\bimport\(")(#lib\/|\.\/)([^"]+)(?=")/g;

const declarationOf = (file, prefix, name) =>
  prefix === "#lib/" ? path.join(types, `${name}.d.ts`) : path.join(path.dirname(file), `${name}.d.ts`);

/**
 * Resolves `#lib` imports to relative paths, from file to file: only this repository knows `#lib`. Unreachable files are
 * dropped.
 */
function relinkDeclarations(entries) {
  const kept = new Set(entries);
  for (const file of kept) {
    const text = readFileSync(file, "utf8").replaceAll(specifier, (_, prefix, name) => {
      const target = declarationOf(file, prefix, name);
      kept.add(target);
      const relative = path.relative(path.dirname(file), target).replaceAll(path.sep, "/");
      return `${relative.startsWith(".") ? "" : "./"}${relative.replace(/\.d\.ts$/, ".js")}`;
    });
    writeFileSync(file, text);
  }
  for (const name of readdirSync(types, { recursive: true, encoding: "utf8" })) {
    const file = path.join(types, name);
    if (file.endsWith(".d.ts") && !kept.has(file)) rmSync(file);
  }
}

function writeDeclarations() {
  runStep("types", process.execPath, ["node_modules/typescript/bin/tsc", "-p", ".ci/client-types.json"]);
  relinkDeclarations(
    ["index", ...frameworks.map((name) => `frameworks/${name}`)].map((name) =>
      path.join(types, `client/${name}.d.ts`),
    ),
  );
}

/** Fields of package.json that the package keeps; the others are for the service. */
const manifestNames = [
  "name",
  "version",
  "private",
  "description",
  "license",
  "type",
  "exports",
  "bin",
  "files",
];

/** Options of an npm that runs this script (`--dry-run`) are not meant for the one that it runs. */
const withoutNpm = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !name.toLowerCase().startsWith("npm_")),
);

function pack() {
  const folder = inRoot("dist/npm");
  const own = JSON.parse(readFileSync(inRoot("package.json"), "utf8"));
  const { name, version, files } = own;
  // Runs on older versions than the service does.
  const engines = { node: ">=20" };
  const manifest = { ...Object.fromEntries(manifestNames.map((field) => [field, own[field]])), engines };
  mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(folder, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  for (const file of files) cpSync(inRoot(file), path.join(folder, file), { recursive: true });
  copyFileSync(inRoot("LICENSE"), path.join(folder, "LICENSE"));
  const args = ["pack", folder, "--pack-destination", inRoot("dist"), "--ignore-scripts"];
  runStep("package", "npm", args, { env: withoutNpm });
  copyFileSync(inRoot(`dist/${name}-${version}.tgz`), inRoot("dist/countersign.tgz"));
  rmSync(inRoot(`dist/${name}-${version}.tgz`));
  rmSync(folder, { recursive: true });
}

const hookFiles = ["countersign-hook.cjs", "countersign-hook.mjs"];

/**
 * The hook's programs: what each call of a tool starts, as CommonJS, which Node loads faster, and what does the work. Small
 * ones, because agents wait for them.
 */
export async function bundleHook() {
  const hook = { ...oneFile(root), outdir: inRoot("dist") };
  await Promise.all([
    build({
      ...hook,
      outExtension: { ".js": ".cjs" },
      format: "cjs",
      banner: {},
      minifyWhitespace: true,
      entryPoints: { "countersign-hook": inRoot("lib/client/cli/relay.ts") },
    }),
    build({
      ...hook,
      minify: true,
      keepNames: true,
      entryPoints: { "countersign-hook": inRoot("lib/client/cli/hook-program.ts") },
    }),
  ]);
}

/** dist/countersign.mjs, with the hook's programs as texts, which `hook install` writes. */
export async function bundleCommand() {
  const programs = hookFiles.map((name) => [name, readFileSync(inRoot(`dist/${name}`), "utf8")]);
  await build({
    ...oneFile(root),
    entryPoints: { countersign: inRoot("lib/client/cli/command.ts") },
    define: { HOOK_PROGRAMS: JSON.stringify(Object.fromEntries(programs)) },
  });
}

/** Needs dist/countersign.mjs. */
export async function packClient() {
  await bundleClient();
  writeDeclarations();
  pack();
}
