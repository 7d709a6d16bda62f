/** For tests: the operator's commands beside a service that is stopped and started again on the same database. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { parseVerifierKey } from "#lib/protocol/tlog/checkpoint";
import { dispatch } from "#lib/server/operations";
import { startTestApp, type TestApp } from "./app";
import { type CommandRun, runProgram } from "./commands";
import { createTestDatabase, type DatabaseKind } from "./databases";
import { visitLog } from "./log";
import { shortLife } from "./processes";

const closers: (() => Promise<void> | void)[] = [];

/** Ends what a test has started; for `afterEach`. */
export async function closeHomes(): Promise<void> {
  for (const close of closers.splice(0).reverse()) await close();
}

/** A database and a folder that outlive the app, so that it can be stopped and started again. */
export async function makeHome(kind: DatabaseKind): Promise<Record<string, string>> {
  const folder = mkdtempSync(path.join(tmpdir(), "countersign-commands-"));
  closers.push(() => rmSync(folder, { recursive: true, force: true }));
  if (kind === "embedded") return { DATA_DIR: folder };
  const { url, drop } = await createTestDatabase();
  closers.push(drop);
  return { DATA_DIR: folder, DATABASE_URL: url };
}

export async function start(kind: DatabaseKind, settings: Record<string, string>): Promise<TestApp> {
  const test = await startTestApp(kind, { DATABASE_URL: "", ...settings });
  closers.push(() => test.close().catch(() => {}));
  return test;
}

export const run = (command: string, args: string[], settings: Record<string, string>, cwd = ".") =>
  runProgram(process.execPath, [...shortLife, path.resolve(`dist/cli/${command}.mjs`), ...args], {
    cwd,
    env: { PATH: process.env["PATH"], ...settings },
  });

export async function attest(test: TestApp, key: string, extra = {}) {
  const body = { agent_slug: "rotating-bot", action: "act", inputs_hash: "x", ...extra };
  return test.call("POST", "/v1/attest", { key, body });
}

export const isValid = async (test: TestApp, id: string) =>
  (await test.call("GET", `/v1/verify/${id}`)).body.valid;

/** The embedded database has one process: the service stops for the command. */
export async function runBeside(
  kind: DatabaseKind,
  test: TestApp,
  home: Record<string, string>,
  command: [string, string[]],
): Promise<CommandRun & { test: TestApp }> {
  if (kind === "embedded") await test.app.close();
  const result = await run(...command, home);
  return { ...result, test: kind === "embedded" ? await start(kind, home) : test };
}

export async function checkWholeLog(test: TestApp, prefix = "/log") {
  const { body } = await test.call("GET", "/v1/pubkey");
  const url = `http://localhost:3000${prefix}`;
  const vkey = body.logs.find((log: { url: string }) => log.url === url).vkey;
  const fetchLog = async (target: string) => {
    const response = await dispatch(new Request(`http://localhost${target}`));
    return { status: response.status, bytes: new Uint8Array(await response.arrayBuffer()) };
  };
  return visitLog(fetchLog, prefix, parseVerifierKey(vkey)).check();
}
