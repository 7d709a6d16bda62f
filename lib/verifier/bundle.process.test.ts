/**
 * Limits what is bundled into the program that outsiders run and into the browser: the verifier's own folders and their
 * libraries, nothing of the service. A leak would make the file larger than anyone reads, and say things that only we
 * know.
 */
import { build, type Metafile } from "esbuild";
import { describe, expect, it } from "vitest";

const allowedFolders = /^lib\/(?:verifier|protocol|platform)\//;
const allowedPackages = [
  "@noble/hashes",
  "@noble/post-quantum",
  "@noble/curves",
  "@noble/ed25519",
  "canonicalize",
  "@digitalbazaar/bbs-signatures",
];

async function bundle(entry: string, platform: "node" | "browser"): Promise<Metafile> {
  const { metafile } = await build({
    entryPoints: [entry],
    bundle: true,
    write: false,
    metafile: true,
    splitting: true,
    format: "esm",
    platform,
    target: "es2022",
    outdir: "out",
    logLevel: "silent",
  });
  return metafile;
}

/** `lib/…` as it is; of a package its name (of a nested one the outer, whose dependency it is). */
function originOf(file: string): string {
  return /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1] ?? file;
}

function listBuiltins({ inputs }: Metafile): Record<string, string[]> {
  const pairs = Object.entries(inputs).map(([file, { imports }]): [string, string[]] => [
    file,
    imports.filter(({ external }) => external).map(({ path }) => path),
  ]);
  return Object.fromEntries(pairs.filter(([, builtins]) => builtins.length > 0));
}

const totalBytes = ({ outputs }: Metafile) =>
  Object.values(outputs).reduce((sum, { bytes }) => sum + bytes, 0);

/** The outputs that load with the page: the entry's and what it imports statically. */
function listEager({ outputs }: Metafile, entry: string): string[] {
  const [first] = Object.entries(outputs).find(([, { entryPoint }]) => entryPoint === entry) ?? [];
  if (first === undefined) throw new Error(`no output of ${entry}`);
  const found = new Set([first]);
  for (const name of found) {
    for (const { path, kind } of outputs[name]?.imports ?? [])
      if (kind === "import-statement") found.add(path);
  }
  return [...found];
}

describe.each([
  ["lib/verifier/cli/command.ts", "node"],
  ["lib/verifier/browser.ts", "browser"],
] as const)("the bundle of %s", (entry, platform) => {
  it("holds the verifier, the protocol and their libraries, and nothing else", async () => {
    const metafile = await bundle(entry, platform);
    const files = Object.keys(metafile.inputs);
    expect(files.length).toBeGreaterThan(30);
    const strangers = files.filter(
      (file) => !allowedFolders.test(file) && !allowedPackages.includes(originOf(file)),
    );
    expect(strangers).toEqual([]);
    const total = totalBytes(metafile);
    console.log(`${entry}: ${Math.round(total / 1000)} kB, not minified`);
    expect(total).toBeLessThan(997_000);
  });
});

describe("node builtins", () => {
  it("are used by node-io.ts, command.ts and the platform alone, and by the BBS package for its randomness", async () => {
    const builtins = listBuiltins(await bundle("lib/verifier/cli/command.ts", "node"));
    const own = Object.entries(builtins).filter(([file]) => file.startsWith("lib/"));
    expect(own.sort()).toEqual([
      ["lib/platform/node-bytes.ts", ["node:crypto"]],
      ["lib/platform/node-ed25519.ts", ["node:crypto"]],
      ["lib/platform/node-wasm.ts", ["node:v8"]],
      ["lib/verifier/cli/command.ts", ["node:os", "node:worker_threads"]],
      [
        "lib/verifier/cli/node-io.ts",
        [
          ...["node:fs", "node:fs/promises", "node:path", "node:url", "node:v8", "node:vm"],
          ...["node:worker_threads", "node:zlib"],
        ],
      ],
    ]);
    const others = Object.keys(builtins).filter((file) => !file.startsWith("lib/"));
    expect(others.map(originOf).filter((name) => !allowedPackages.includes(name))).toEqual([]);
    expect(listBuiltins(await bundle("lib/verifier/browser.ts", "browser"))).toEqual({});
  });
});

describe("the pairing checks", () => {
  it("are not loaded with the page", async () => {
    const entry = "lib/verifier/browser.ts";
    const { outputs } = await bundle(entry, "browser");
    const eager = listEager({ inputs: {}, outputs }, entry);
    const files = eager.flatMap((name) => Object.keys(outputs[name]?.inputs ?? {}));
    expect(files).toContain("lib/verifier/checks/verify-statement.ts");
    expect(files.filter((file) => /bls12-381|bn254|bbs-signatures|groth16/.test(file))).toEqual([]);
    const bytes = eager.reduce((sum, name) => sum + (outputs[name]?.bytes ?? 0), 0);
    console.log(`loaded with the page: ${Math.round(bytes / 1000)} kB, not minified`);
    expect(bytes).toBeLessThan(250_000);
  });
});
