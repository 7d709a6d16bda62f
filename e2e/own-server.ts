/** A server of a spec's own, on its own port and folder: it can be stopped, its data changed, and started again. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { promisify } from "node:util";
import { expect } from "@playwright/test";
import { makeDataDir } from "./support/databases";
import { findPort } from "./support/ports";
import { shortLife } from "./support/processes";

export interface OwnServer {
  readonly base: string;
  /** Its DATA_DIR. */
  readonly folder: string;
  /** `settings`: until it is stopped. */
  start(settings?: Record<string, string>): Promise<void>;
  stop(): Promise<void>;
  /** `npm run keys -- …` on its data, while it is stopped. */
  runKeys(...args: string[]): Promise<void>;
  /** Stops it and deletes its data. */
  remove(): Promise<void>;
}

export async function makeOwnServer(): Promise<OwnServer> {
  const port = await findPort();
  const base = `http://localhost:${port}`;
  const folder = await makeDataDir();
  const env = {
    ...process.env,
    PORT: String(port),
    PUBLIC_BASE_URL: base,
    DATA_DIR: folder,
    NODE_ENV: "production" as const,
  };
  let server: ChildProcess | null = null;
  const ask = () =>
    fetch(`${base}/v1/health`).then(
      ({ status }) => status,
      () => 0,
    );
  async function stop(): Promise<void> {
    if (server === null || server.exitCode !== null) return;
    server.kill("SIGTERM");
    await once(server, "exit");
  }
  return {
    base,
    folder,
    stop,
    async start(settings = {}) {
      const args = [...shortLife, "dist/server.mjs"];
      server = spawn(process.execPath, args, { stdio: "ignore", env: { ...env, ...settings } });
      await expect.poll(ask, { timeout: 60_000, intervals: [100] }).toBe(200);
    },
    async runKeys(...args) {
      await promisify(execFile)(process.execPath, [...shortLife, "dist/cli/keys.mjs", ...args], { env });
    },
    async remove() {
      await stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
