/** A built server in a process of its own, for tests over HTTP. */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { findPort } from "#support/ports";
import { shortLife } from "#support/processes";

export interface ServerProcess {
  base: string;
  port: number;
  child: ChildProcess;
  output: () => string;
  /** Resolves when the process has ended. */
  exited: Promise<void>;
  stop(signal?: NodeJS.Signals): Promise<void>;
}

/** The two ways in: the production server, and Next alone. */
export type Door = "server" | "next";

/** Resolves when it answers, or has ended. `launcher`: a program that becomes the server, before its own words. */
export async function startServer(
  door: Door,
  dataDir: string,
  settings: Record<string, string> = {},
  launcher: readonly string[] = [],
): Promise<ServerProcess> {
  for (const built of ["dist/server.mjs", ".next/BUILD_ID"])
    if (!existsSync(built)) throw new Error(`there is no ${built} to test: run npm run build first`);
  const port = Number(settings["PORT"] ?? (await findPort()));
  const base = `http://localhost:${port}`;
  const args =
    door === "server"
      ? [...shortLife, "dist/server.mjs"]
      : ["node_modules/next/dist/bin/next", "start", "-p", String(port)];
  const env = {
    ...process.env,
    NODE_ENV: "production",
    LOG_LEVEL: "info",
    PORT: String(port),
    DATA_DIR: dataDir,
    ...settings,
  } as const;
  const [program = "", ...words] = [...launcher, process.execPath, ...args];
  const child = spawn(program, words, { env, stdio: ["ignore", "pipe", "pipe"] });
  let text = "";
  for (const stream of [child.stdout, child.stderr])
    stream?.on("data", (chunk: Buffer) => {
      text += chunk.toString();
    });
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  // A start takes two seconds, and half a minute on a machine that does ten other things.
  for (let i = 0; i < 1200 && child.exitCode === null && child.signalCode === null; i += 1) {
    const isUp = await fetch(`${base}/v1/health`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isUp) break;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return {
    base,
    port,
    child,
    output: () => text,
    exited,
    stop: async (signal = "SIGTERM") => {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal);
      await exited;
    },
  };
}

// biome-ignore lint/suspicious/noExplicitAny: tests read answers freely
export type HttpAnswer = { status: number; headers: Headers; body: any };

export async function callServer(
  base: string,
  method: string,
  path: string,
  options: { key?: string; body?: unknown; rawBody?: string; headers?: Record<string, string> } = {},
): Promise<HttpAnswer> {
  const body = options.rawBody ?? (options.body === undefined ? undefined : JSON.stringify(options.body));
  const response = await fetch(`${base}${path}`, {
    method,
    redirect: "manual",
    headers: { ...options.headers, ...(options.key && { authorization: `Bearer ${options.key}` }) },
    ...(body !== undefined && { body }),
  });
  const text = await response.text();
  const isJson = /json/.test(response.headers.get("content-type") ?? "") && text !== "";
  return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
}

/** Obtains a key by email; the code is read from the development mailbox. */
export async function obtainKey(base: string, email = "dev@example.com"): Promise<string> {
  await callServer(base, "POST", "/v1/keys/request", { body: { email } });
  // Next sends /dev/mailbox to its page.
  const { messages } = (await callServer(base, "GET", "/dev/mailbox/messages")).body;
  const code = messages.find(({ to }: { to: string }) => to === email).subject.slice(0, 6);
  const made = await callServer(base, "POST", "/v1/keys/verify", { body: { email, code } });
  return made.body.api_key;
}
