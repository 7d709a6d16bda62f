/** Real processes of the service for tests: bundled once, started in a moment, killed without warning. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import path from "node:path";
import { build, type Plugin } from "esbuild";

/** Next has no `exports` map, so Node's ESM loader needs the ending that bundlers guess. */
const nextSubpaths: Plugin = {
  name: "next-subpaths",
  setup: ({ onResolve }) =>
    onResolve({ filter: /^next\/[^.]+$/ }, (args) => ({ path: `${args.path}.js`, external: true })),
};

export interface ServerBundle {
  file: string;
  remove(): void;
}

/** In dist/, because packages are found from there. */
export async function bundleTestServer(): Promise<ServerBundle> {
  const file = path.resolve(`dist/testing-server-${process.pid}.mjs`);
  await build({
    entryPoints: ["lib/http/testing-server.ts"],
    outfile: file,
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20",
    packages: "external",
    plugins: [nextSubpaths],
    logLevel: "warning",
  });
  return { file, remove: () => rmSync(file, { force: true }) };
}

export interface ServerProcess {
  url: string;
  /** SIGKILL; resolves when the process is gone. */
  kill(): Promise<void>;
}

const started = new Set<ChildProcess>();

/** `settings`: environment variables; nothing of this process's own environment reaches it but PATH. */
export async function startServerProcess(
  { file }: ServerBundle,
  settings: Record<string, string>,
): Promise<ServerProcess> {
  const { PATH = "" } = process.env;
  const env = { PATH, NODE_ENV: "test" as const, LOG_LEVEL: "silent", ...settings };
  const child = spawn(process.execPath, [file], { env, stdio: ["ignore", "pipe", "pipe"] });
  started.add(child);
  const gone = once(child, "exit").then(() => started.delete(child));
  let output = "";
  child.stderr.on("data", (chunk) => {
    output += chunk;
  });
  const port = await new Promise<string>((resolve, reject) => {
    child.stdout.on("data", (chunk) => {
      output += chunk;
      const [, found] = /ready (\d+)/.exec(output) ?? [];
      if (found !== undefined) resolve(found);
    });
    void gone.then(() => reject(new Error(`the server did not start: ${output}`)));
  });
  return {
    url: `http://127.0.0.1:${port}`,
    kill: async () => {
      child.kill("SIGKILL");
      await gone;
    },
  };
}

export function killStartedProcesses(): void {
  for (const child of started) child.kill("SIGKILL");
}

/** A key through the public routes and the development mailbox, as a person would get one. */
export async function fetchApiKey(url: string): Promise<string> {
  const post = async (target: string, body: unknown) => {
    const headers = { "content-type": "application/json" };
    const response = await fetch(`${url}${target}`, { method: "POST", headers, body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`${target} answered ${response.status}`);
    return response.json();
  };
  const email = "load@example.com";
  await post("/v1/keys/request", { email });
  const mailbox = await fetch(`${url}/dev/mailbox`, { headers: { accept: "application/json" } });
  const { messages } = (await mailbox.json()) as { messages: { text: string }[] };
  const [code] = /\b\d{6}\b/.exec(messages[0]?.text ?? "") ?? [];
  const { api_key } = (await post("/v1/keys/verify", { email, code })) as { api_key: string };
  return api_key;
}

/** Limits that a test's load does not meet. */
export const noLimits = {
  LIMIT_ATTEST_PER_MINUTE: "1000000",
  LIMIT_ATTEST_PER_DAY: "1000000",
  LIMIT_PUBLIC_READ_PER_MINUTE: "1000000",
  LIMIT_KEYED_PER_MINUTE: "1000000",
};
