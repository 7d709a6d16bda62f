/**
 * Runs the result of Dockerfile's last stage as it says: the copied files without any others, its command, its
 * environment, its health check. No container engine is needed.
 */
import { execFile, spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, expect, it, vi } from "vitest";
import { listProduction } from "#ci/production";
import { finalStage, imageEnvironment, restsOf, stages } from "#support/dockerfile";
import { findPort } from "#support/ports";

vi.setConfig({ testTimeout: 300_000 });

const app = mkdtempSync(path.join(tmpdir(), "countersign-image-"));
afterAll(() => rmSync(app, { recursive: true, force: true, maxRetries: 3 }));

/** Links the packages that the stage installs, but for those that it deletes again. */
function linkPackages(): void {
  const { packages } = JSON.parse(readFileSync("package-lock.json", "utf8"));
  const [install = ""] = restsOf(stages[1] ?? [], "RUN");
  const deleted = install.match(/node_modules\/\S+/g) ?? [];
  for (const place of listProduction(packages)) {
    const isTop = place.lastIndexOf("node_modules/") === 0;
    if (!isTop || !existsSync(place) || deleted.some((one) => `${place}/`.startsWith(`${one}/`))) continue;
    mkdirSync(path.dirname(path.join(app, place)), { recursive: true });
    symlinkSync(path.resolve(place), path.join(app, place));
  }
}

function copyFiles(): void {
  for (const rest of restsOf(finalStage, "COPY")) {
    const words = rest.split(" ").filter((word) => !word.startsWith("--"));
    const to = words.pop() ?? "";
    for (const from of words.map((word) => word.replace(/^\/app\//, ""))) {
      const target = path.join(app, to.endsWith("/") ? path.join(to, path.basename(from)) : to);
      if (from === "node_modules") linkPackages();
      else cpSync(from, target, { recursive: true, filter: (file) => file !== path.join(".next", "cache") });
    }
  }
}

const wordsOf = (instruction: string): string[] => {
  const [rest = ""] = restsOf(finalStage, instruction);
  return JSON.parse(rest.slice(rest.indexOf("[")));
};

it("starts from the copied files alone, answers, passes its health check, and stops on SIGTERM", async () => {
  copyFiles();
  const settings = { PORT: String(await findPort()), DATA_DIR: path.join(app, "data") };
  const env = { PATH: process.env["PATH"], ...imageEnvironment, ...settings } as never;
  const [check = "", ...checkWords] = wordsOf("HEALTHCHECK");
  const isHealthy = () =>
    promisify(execFile)(check, checkWords, { cwd: app, env }).then(
      () => true,
      () => false,
    );
  expect(await isHealthy()).toBe(false);
  const [command = "", ...words] = wordsOf("CMD");
  const child = spawn(command, words, { cwd: app, env, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (output += text));
  const exited = new Promise((resolve) => child.once("exit", resolve));
  await vi.waitFor(async () => expect(await isHealthy(), output).toBe(true), {
    timeout: 120_000,
    interval: 500,
  });
  for (const page of ["/", "/docs", "/verify.mjs"]) {
    const answer = await fetch(`http://localhost:${settings.PORT}${page}`);
    expect([page, answer.status, answer.headers.get("x-content-type-options")]).toEqual([
      page,
      200,
      "nosniff",
    ]);
  }
  child.kill("SIGTERM");
  expect(await exited, output).toBe(0);
});
