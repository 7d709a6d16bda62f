/**
 * dist/countersign.tgz as people use it: installed from the service into a project of their own, compiled strictly, run in
 * Node, and bundled for a browser.
 */
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import vm from "node:vm";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { NPM_PACKAGE, PRODUCT_VERSION } from "#lib/protocol/statement/product";
import { packagePath } from "#lib/services/attestations/receipt-files";
import { openNext } from "#support/authorizations";
import { runProgram } from "#support/commands";
import { type Listening, listenFor } from "#support/listen";
import { setupTestApp } from "#support/setup-app";

/** Program of an agent's author. Every mistake in it that types should find is expected to be one. */
const program = `
import {
  ApiError,
  type Attestation,
  createCountersign,
  hashInputs,
  NotApprovedError,
  signAgentRequest,
  UnreadableError,
} from "countersign/client";

export async function main(baseUrl: string, apiKey: string): Promise<string[]> {
  const countersign = createCountersign({ baseUrl, apiKey });
  const inputs = { to: "Example Ltd", amount: { value: 100 } };
  const request = { agent_slug: "packed-bot", action: "Paid", inputs_hash: hashInputs(inputs) };
  const made: Attestation = await countersign.attest(
    await signAgentRequest(request, btoa(String.fromCharCode(...new Uint8Array(32).fill(7)))),
  );
  const report = await countersign.verify(made.attestation_id);
  const refused = await countersign.attest({ ...request, action: "" }).catch((error: unknown) => error);
  const unreadable = await countersign.verify({ hello: 1 }).catch((error: unknown) => error);
  return [
    report.verdict,
    String(report.pinned),
    refused instanceof ApiError ? refused.code : "?",
    unreadable instanceof UnreadableError ? "unreadable" : "?",
  ];
}

export async function pay(countersign: ReturnType<typeof createCountersign>): Promise<number> {
  try {
    const { result } = await countersign.gate(
      { agent_slug: "a", action: "Pay", runId: "r", callId: "c" },
      { amount: 1 },
      async ({ amount }) => amount * 2,
    );
    return result;
  } catch (error) {
    if (error instanceof NotApprovedError && error.status === "denied") return 0;
    throw error;
  }
}

// @ts-expect-error: no such field
void ((client: ReturnType<typeof createCountersign>) => client.attest({ agent_slug: "a", acton: "b" }));
// @ts-expect-error: any is not what a verdict is
export const isNumber = async (made: Attestation): Promise<number> => made.agent_authenticated;
`;

/** The programs of the guide, as it prints them. */
async function readGuide(base: string): Promise<string[]> {
  const text = await readFile("components/guides/content/client.md", "utf8");
  const fences = text.replaceAll("{base}", base).matchAll(/^```ts\n([\s\S]*?)^```$/gm);
  return [...fences].map(([, code = ""]) => code);
}

/** Part of Node's types that the programs use. */
const nodeTypes = `
declare const process: { env: Record<string, string | undefined> };
declare module "node:fs/promises" {
  export function readFile(path: string, encoding: "utf8"): Promise<string>;
}`;

describe("the package", () => {
  const { test, key } = setupTestApp();
  let server: Listening;
  let base: string;
  let folder: string;
  let address: string;
  let guide: string[];
  const inFolder = (name: string) => path.join(folder, name);

  beforeAll(async () => {
    server = await listenFor(test);
    ({ base } = server);
    folder = await mkdtemp(path.join(tmpdir(), "countersign-package-"));
    await writeFile(inFolder("package.json"), JSON.stringify({ name: "scratch", type: "module" }));
    await writeFile(inFolder("program.ts"), program);
    await writeFile(inFolder("node.d.ts"), nodeTypes);
    guide = await readGuide(base);
    for (const [at, code] of guide.entries())
      for (const ending of ["ts", "mjs"]) await writeFile(inFolder(`guide-${at}.${ending}`), code);
    const env = { PATH: process.env["PATH"], HOME: folder };
    address = base + (await packagePath(NPM_PACKAGE));
    expect(address).toMatch(/\/packages\/[0-9a-f]{16}\/countersign\.tgz$/);
    const installed = await runProgram("npm", ["install", "--no-audit", address], {
      cwd: folder,
      env,
    });
    expect(installed.out).toContain("added 1 package");
  });
  afterAll(async () => {
    await server.close();
    await rm(folder, { recursive: true });
  });

  it("brings no other package, and runs no script", async () => {
    expect(await readdir(inFolder("node_modules"))).toEqual([".bin", ".package-lock.json", "countersign"]);
    const manifest = JSON.parse(await readFile(inFolder("node_modules/countersign/package.json"), "utf8"));
    const { version } = JSON.parse(await readFile("package.json", "utf8"));
    expect([manifest.version, PRODUCT_VERSION]).toEqual([version, version]);
    for (const name of ["scripts", "dependencies", "peerDependencies", "optionalDependencies"])
      expect(manifest).not.toHaveProperty(name);
  });

  it("is installed again from a lockfile after an upgrade has changed it", async () => {
    const upgraded = await mkdtemp(path.join(tmpdir(), "countersign-upgraded-"));
    await mkdir(path.join(upgraded, "dist"));
    await cp("dist/countersign.mjs", path.join(upgraded, "dist/countersign.tgz"));
    const project = path.join(upgraded, "project");
    await mkdir(project);
    for (const name of ["package.json", "package-lock.json"])
      await cp(inFolder(name), path.join(project, name));
    const cwd = vi.spyOn(process, "cwd").mockReturnValue(upgraded);
    try {
      expect(base + (await packagePath(NPM_PACKAGE))).not.toBe(address);
      const env = { PATH: process.env["PATH"], HOME: project };
      const installed = await runProgram("npm", ["ci", "--no-audit"], { cwd: project, env });
      expect(installed).toEqual({ code: 0, out: expect.stringContaining("added 1 package") });
      const answer = await fetch(address);
      expect([answer.status, answer.headers.get("cache-control")]).toEqual([
        200,
        "public, max-age=31536000, immutable",
      ]);
      const newest = await fetch(`${base}/countersign.tgz`);
      expect(newest.headers.get("npm-notice")).toContain(await packagePath(NPM_PACKAGE));
      const unknown = await fetch(address.replace(/[0-9a-f]{16}/, "0".repeat(16)));
      expect([unknown.status, await unknown.json()]).toMatchObject([404, { code: "not_found" }]);
    } finally {
      cwd.mockRestore();
      await rm(upgraded, { recursive: true });
    }
  });

  it.each(["nodenext", "bundler"])(
    "compiles strictly, with every declaration checked (%s)",
    async (resolution) => {
      const compilerOptions = {
        strict: true,
        exactOptionalPropertyTypes: true,
        skipLibCheck: false,
        noUncheckedIndexedAccess: true,
        target: "es2022",
        lib: ["es2022", "dom", "dom.iterable"],
        module: resolution === "nodenext" ? "nodenext" : "esnext",
        moduleResolution: resolution,
        types: [],
        outDir: "out",
      };
      const files = ["node.d.ts", "program.ts", ...guide.map((_, at) => `guide-${at}.ts`)];
      await writeFile(inFolder("tsconfig.json"), JSON.stringify({ compilerOptions, files }));
      const compiler = path.resolve("node_modules/typescript/bin/tsc");
      const compiled = await runProgram(process.execPath, [compiler, "-p", "."], { cwd: folder, env: {} });
      expect(compiled).toEqual({ code: 0, out: "" });
    },
  );

  it("runs in Node", async () => {
    const script = `import { main } from "./out/program.js"; console.log(JSON.stringify(await main(...process.argv.slice(1))));`;
    const ran = await runProgram(process.execPath, ["--input-type=module", "-e", script, base, key], {
      cwd: folder,
      env: {},
    });
    expect(ran).toEqual({ code: 0, out: '["valid","false","validation_error","unreadable"]\n' });
  });

  it("runs as the guide prints it", async () => {
    const start = (at: number) =>
      runProgram(process.execPath, [`guide-${at}.mjs`], {
        cwd: folder,
        env: { COUNTERSIGN_API_KEY: key, AGENT: "invoice-agent-7" },
      });
    const attested = await start(0);
    expect(attested.out).toMatch(/^http:\/\/localhost:3000\/verify\/invoice-agent-7\/\S+\n$/);
    const paying = start(1);
    expect((await (await openNext(test, key)).approve("ada")).status).toBe(200);
    const paid = (await paying).out.split("\n");
    expect(paid).toEqual([expect.stringContaining("/approve/"), expect.stringMatching(/^10000 http/), ""]);
    const alone = start(2);
    expect((await (await openNext(test, key)).approve("ada")).status).toBe(200);
    expect((await alone).out).toMatch(/\/approve\/\S+\nAct here: this run has the approval.\n$/);
    const receipt = await test.call("GET", `/v1/verify/${attested.out.trim().split("/").at(-1)}`);
    await writeFile(inFolder("receipt.json"), JSON.stringify(receipt.body));
    await writeFile(inFolder("keys.json"), JSON.stringify((await test.call("GET", "/v1/pubkey")).body));
    expect(await start(3)).toEqual({ code: 0, out: "valid true []\n" });
    expect(guide).toHaveLength(4);
    // The second run ends with a sentence too, whatever stops it.
    const body = { reason: "second run" };
    expect((await test.call("POST", "/v1/identity/invoice-agent-7/freeze", { key, body })).status).toBe(200);
    expect(await start(1)).toEqual({ code: 0, out: expect.stringMatching(/(?:^|\n)Not paid: .*\.\n$/) });
  });

  it("runs where there is nothing but what browsers and edge runtimes have", async () => {
    const { outputFiles } = await build({
      entryPoints: [inFolder("program.ts")],
      bundle: true,
      format: "iife",
      globalName: "program",
      platform: "browser",
      write: false,
    });
    const web = {
      AbortSignal,
      AbortController,
      atob,
      btoa,
      clearTimeout,
      crypto,
      fetch,
      Headers,
      Response,
      setTimeout,
    };
    const sandbox = vm.createContext({ ...web, TextDecoder, TextEncoder, URL });
    vm.runInContext(outputFiles[0]?.text ?? "", sandbox);
    sandbox["given"] = [base, key];
    const done: string[] = await vm.runInContext("program.main(...given)", sandbox);
    expect([...done]).toEqual(["valid", "false", "validation_error", "unreadable"]);
  });

  it("puts at most 16 KB into a page that has not verified anything yet", async () => {
    const { metafile, outputFiles } = await build({
      stdin: { contents: `export * from "countersign/client";`, resolveDir: folder },
      bundle: true,
      minify: true,
      splitting: true,
      format: "esm",
      platform: "browser",
      outdir: inFolder("page"),
      entryNames: "page",
      write: false,
      metafile: true,
    });
    const outputs = Object.entries(metafile.outputs);
    const outputOf = (name: string) => outputs.find(([file]) => path.resolve(file) === path.resolve(name));
    const loaded = new Set([outputOf(inFolder("page/page.js"))?.[0] ?? ""]);
    for (const file of loaded)
      for (const { path: imported, kind } of metafile.outputs[file]?.imports ?? [])
        if (kind === "import-statement") loaded.add(imported);
    const text = (file: string) => outputFiles.find((one) => one.path === path.resolve(file))?.contents ?? [];
    const bytes = [...loaded].reduce((sum, file) => sum + gzipSync(Uint8Array.from(text(file))).length, 0);
    expect(bytes).toBeGreaterThan(5_000);
    expect(bytes).toBeLessThanOrEqual(16 * 1024);
    expect(outputs.length, "the verifier is loaded when it is needed").toBeGreaterThan(loaded.size);
  });
});
