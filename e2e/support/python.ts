/**
 * Python environment for tests of clients/python, with what is pinned in clients/python/tests/requirements, kept in
 * node_modules from run to run; and a service whose humans a Python test can control.
 */
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "vitest";
import { askQuestion } from "#lib/services/approvals/decision/questions";
import { startTestApp } from "#support/app";
import {
  approveUnproven,
  endApproval,
  expireRequest,
  fromPage,
  openNext,
  openRequest,
} from "#support/authorizations";
import { runProgram } from "#support/commands";
import { anyKind } from "#support/databases";
import { listen, listenFor } from "#support/listen";

export const pythonFolder = path.resolve("clients/python");

/** Set by `npm run test:python`, which .ci/run calls after `npm test`. */
export const isPythonWanted = process.env["TEST_PYTHON"] === "all";

/**
 * Environment of Python programs that import the package. Imports are compiled once for all of them, outside the source folder.
 */
export const pythonEnv = {
  PYTHONPATH: pythonFolder,
  PYTHONPYCACHEPREFIX: path.resolve("node_modules/.cache/countersign-python-bytecode"),
};

/** The path of the environment's Python, or why there is none. */
export type FoundPython = { path: string; missing?: never } | { path?: never; missing: string };

const usual = {
  env: { PATH: process.env["PATH"], HOME: process.env["HOME"], PIP_DISABLE_PIP_VERSION_CHECK: "1" },
  cache: path.resolve("node_modules/.cache/countersign-python"),
};

/** `names`: of files in clients/python/tests/requirements. Made once, also by several at once. */
export const findPython = async (...names: string[]): Promise<FoundPython> =>
  isPythonWanted ? findPythonIn(usual, ...names) : { missing: "npm run test:python runs them" };

/**
 * Has Python's verifier judge what lib/verifier has judged: how many cases there were of each kind. Fails where the two differ.
 */
export async function agreeWithPython(
  program: string,
  cases: readonly object[],
): Promise<Record<string, number>> {
  const folder = await mkdtemp(path.join(tmpdir(), "countersign-agree-"));
  const file = path.join(folder, "cases.jsonl");
  await writeFile(file, cases.map((one) => `${JSON.stringify(one)}\n`).join(""));
  const agree = ["tests/agree.py", file];
  const { code, out } = await runProgram(program, agree, { cwd: pythonFolder, env: pythonEnv });
  await rm(folder, { recursive: true });
  const lines = out.trim().split("\n");
  const counted = lines.pop() ?? "";
  expect(lines, "disagreements").toEqual([]);
  expect([code, counted]).toEqual([0, expect.stringMatching(/^\{/)]);
  return JSON.parse(counted);
}

const required = new Map<string, Promise<FoundPython>>();

/** Made once for all tests of a file. */
export async function requirePython(...names: string[]): Promise<string> {
  const key = names.join();
  const making = required.get(key) ?? findPython(...names);
  required.set(key, making);
  const found = await making;
  if (found.missing) throw new Error(found.missing);
  return found.path ?? "";
}

/** `cache`: the folder that keeps the environments. */
export async function findPythonIn(
  { env, cache }: { env: Record<string, string | undefined>; cache: string },
  ...names: string[]
): Promise<FoundPython> {
  const files = names.map((name) => path.join(pythonFolder, "tests/requirements", `${name}.txt`));
  const texts = await Promise.all(files.map((file) => readFile(file)));
  const script = "import sys, venv, ensurepip; print(sys.version); sys.exit(sys.version_info < (3, 10))";
  const asked = await runProgram("python3", ["-c", script], { env }).catch(() => null);
  if (asked?.code !== 0) return { missing: "no Python 3.10 or newer with venv" };
  const hash = createHash("sha256").update(asked.out).update(Buffer.concat(texts)).digest("hex").slice(0, 16);
  const kept = path.join(cache, hash);
  const python = path.join(kept, "bin/python");
  if (!existsSync(python)) {
    await mkdir(cache, { recursive: true });
    const fresh = await mkdtemp(path.join(cache, "new-"));
    const failed = await install({ env, cache }, fresh, names, files);
    // Another run may have created it first.
    if (failed === null) await rename(fresh, kept).catch(() => undefined);
    await rm(fresh, { recursive: true, force: true });
    if (failed !== null) return { missing: failed };
  }
  return { path: python };
}

const flags = ["install", "-q", "--require-hashes", "--no-deps", "--only-binary", ":all:"];

interface Outside {
  env: Record<string, string | undefined>;
  cache: string;
}

/** Null if it is done, else why not. uv installs in a tenth of pip's time; pip installs uv, and the rest if uv can't. */
async function install(outside: Outside, folder: string, names: string[], files: string[]) {
  const { env } = outside;
  const wanted = files.flatMap((file) => ["-r", file]);
  if (!names.includes("uv")) {
    const tools = await findPythonIn(outside, "uv");
    if (tools.missing) return tools.missing;
    if (await installByUv(path.join(path.dirname(tools.path ?? ""), "uv"), env, folder, wanted)) return null;
  }
  const made = await runProgram("python3", ["-m", "venv", "--clear", folder], { env });
  if (made.code !== 0) return `no virtual environment: ${made.out}`;
  const installed = await runProgram(path.join(folder, "bin/python"), ["-m", "pip", ...flags, ...wanted], {
    env,
  });
  return installed.code === 0
    ? null
    : `pip could not install (is the registry out of reach?): ${installed.out.slice(-2_000)}`;
}

async function installByUv(uv: string, env: Outside["env"], folder: string, wanted: string[]) {
  const made = await runProgram("python3", ["-m", "venv", "--without-pip", folder], { env });
  if (made.code !== 0) return false;
  const args = ["pip", ...flags, "--system-certs", "--python", path.join(folder, "bin/python"), ...wanted];
  return (await runProgram(uv, args, { env })).code === 0;
}

export interface PythonService {
  base: string;
  key: string;
  /** Variables for Python programs: where the service and its humans are, and the package itself. */
  env: Record<string, string>;
  close(): Promise<void>;
}

async function readJson(incoming: IncomingMessage): Promise<Record<string, string>> {
  let text = "";
  for await (const chunk of incoming) text += chunk;
  return JSON.parse(text) as Record<string, string>;
}

export async function startPythonService(): Promise<PythonService> {
  const test = await startTestApp(anyKind, {
    LIMIT_AUTHORIZE_PER_MINUTE: "1000",
    LIMIT_ATTEST_PER_MINUTE: "1000",
  });
  const service = await listenFor(test);
  const { key } = await test.createKey();
  const asked = (body: Record<string, string>) =>
    openRequest(test, body as { request_id: string; approval_url: string; confirmation_code: string });
  // Programs take seconds to start, several at once: asked more often, the service's limit would answer.
  const next = (slug: string | undefined) => openNext(test, key, slug, 1_000);
  const actions: Record<string, (body: Record<string, string>) => Promise<unknown>> = {
    approve: ({ request_id = "" }) => approveUnproven(test, request_id),
    deny: async (body) => void (await asked(body).deny("no")),
    // Changes are JSON. Approves what it makes.
    amend: async ({ approval_url = "", changes = "{}" }) => {
      const token = approval_url.split("/").at(-1) ?? "";
      const body = { changes: JSON.parse(changes) as object };
      const amended = await test.call("POST", `/approve/${token}/amend`, { headers: fromPage, body });
      if (amended.status !== 200) throw new Error(JSON.stringify(amended.body));
      await approveUnproven(test, amended.body.request_id);
    },
    ask: async ({ request_id = "", question = "" }) =>
      askQuestion(test.app.context, request_id, { question }, "192.0.2.1"),
    end: ({ request_id = "" }) => endApproval(test, request_id),
    expire: ({ request_id = "" }) => expireRequest(test, request_id),
    "approve-next": async ({ agent_slug }) => approveUnproven(test, (await next(agent_slug)).requestId),
    "deny-next": async ({ agent_slug }) => void (await (await next(agent_slug)).deny("no")),
    key: async (body) => test.createKey("dev@example.com", body["scopes"] as never),
  };
  const control = await listen(async (incoming, outgoing) => {
    test.use();
    const body = await readJson(incoming);
    try {
      const answer = await actions[(incoming.url ?? "").slice(1)]?.(body);
      outgoing.end(JSON.stringify(answer ?? {}));
    } catch (error) {
      outgoing.writeHead(500).end(String(error));
    }
  });
  return {
    base: service.base,
    key,
    env: {
      PATH: process.env["PATH"] ?? "",
      ...pythonEnv,
      COUNTERSIGN_BASE_URL: service.base,
      COUNTERSIGN_API_KEY: key,
      COUNTERSIGN_CONTROL_URL: control.base,
    },
    close: async () => {
      await control.close();
      await service.close();
      await test.close();
    },
  };
}

/** Throws what pytest printed if a test of the file failed, or if it has none. */
export async function runPytest(python: string, file: string, more: Record<string, string>): Promise<void> {
  const args = ["-m", "pytest", "-q", "-p", "no:cacheprovider", `tests/${file}`];
  const { code, out } = await runProgram(python, args, { cwd: pythonFolder, env: more });
  if (code !== 0) throw new Error(out);
}
