/** Real processes of the service for tests: started in a moment, killed without warning. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";

export interface ServerProcess {
  url: string;
  /** SIGKILL; resolves when the process is gone. */
  kill(): Promise<void>;
}

/** Below node_modules, so that it finds the packages. */
export const testingServerFile = path.resolve("node_modules/.cache/countersign/testing-server.mjs");

/**
 * Flags for a process that ends after some dozens of requests: optimizing costs more than it saves, a second for the embedded
 * database's WebAssembly. Most of that never runs and is not validated either.
 */
export const shortLife = ["--liftoff-only", "--wasm-lazy-validation", "--no-opt", "--single-threaded-gc"];

const started = new Set<ChildProcess>();

/** `settings`: environment variables; nothing of this process's own environment reaches it. */
export async function startServerProcess(settings: Record<string, string>): Promise<ServerProcess> {
  const child = spawn(process.execPath, [...shortLife, testingServerFile, JSON.stringify(settings)], {
    env: { NODE_ENV: "test", LOG_LEVEL: "silent" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  started.add(child);
  const gone = once(child, "exit").then(() => started.delete(child));
  let output = "";
  child.stderr.on("data", (chunk) => {
    output += chunk;
  });
  const port = await new Promise<string>((resolve, reject) => {
    child.stdout.on("data", (chunk) => {
      output += chunk;
      const [, found] = /ready (\d+)\n/.exec(output) ?? [];
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
  LIMIT_VERIFY_PER_MINUTE: "1000000",
  LIMIT_KEYED_PER_MINUTE: "1000000",
};
