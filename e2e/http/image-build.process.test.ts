/**
 * Every stage of Dockerfile, instruction by instruction, in fresh folders: installs from the registry, builds, and starts the
 * result as its user. Takes minutes: .ci/run does it, and `TEST_IMAGE=all` here.
 */
import { execFileSync, spawn } from "node:child_process";
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, expect, it, vi } from "vitest";
import { finalStage, imageEnvironment, restsOf, stages } from "#support/dockerfile";
import { findPort } from "#support/ports";

vi.setConfig({ testTimeout: 1_500_000 });

const isWanted = process.env["TEST_IMAGE"] === "all";
if (!isWanted) console.warn("Skipped: the stages of Dockerfile. TEST_IMAGE=all runs them, for minutes.");
const root = mkdtempSync(path.join(tmpdir(), "countersign-stages-"));
afterAll(() => rmSync(root, { recursive: true, force: true, maxRetries: 3 }));

const ignored = readFileSync(".dockerignore", "utf8").split("\n").filter(Boolean);
/** Names without a slash, with a star at the end at most: all that .dockerignore has. */
const isIgnored = (name: string) =>
  !ignored.includes(`!${name}`) &&
  ignored.some((rule) => (rule.endsWith("*") ? name.startsWith(rule.slice(0, -1)) : name === rule));

const nameOf = (index: number) => / AS (\S+)/.exec(restsOf(stages[index] ?? [], "FROM")[0] ?? "")?.[1];
const homeOf = (index: number) => path.join(root, String(index));
/** A path of the image. */
const within = (index: number, place: string) => path.join(homeOf(index), place);

function copy(index: number, rest: string): void {
  const words = rest.split(" ");
  const from = /^--from=(.+)/.exec(words[0] ?? "")?.[1];
  const source = from === undefined ? -1 : stages.findIndex((_, at) => nameOf(at) === from);
  const to = words.at(-1) ?? "";
  for (const name of words.slice(from === undefined ? 0 : 1, -1)) {
    const origin = source < 0 ? path.resolve(name) : within(source, name);
    const isFolder = to.endsWith("/") || to === ".";
    const target = within(index, path.join("/app", to, isFolder && name !== "." ? path.basename(name) : ""));
    const filter = (file: string) =>
      source >= 0 || !isIgnored(path.relative(process.cwd(), file).split(path.sep)[0] ?? "");
    if (source < 0 && name !== "." && isIgnored(name)) throw new Error(`${name} is not in the context`);
    mkdirSync(path.dirname(target), { recursive: true });
    cpSync(origin, target, { recursive: true, filter, verbatimSymlinks: true });
  }
}

function run(index: number, command: string): void {
  const env = {
    PATH: process.env["PATH"],
    HOME: within(index, "home"),
    npm_config_cache: path.join(root, "npm-cache"),
    ...(index === stages.length - 1 ? imageEnvironment : {}),
  };
  const moved = command.replaceAll(/(?<=\s)\/(?=\w)/g, `${homeOf(index)}/`);
  execFileSync("sh", ["-c", moved], {
    cwd: within(index, "app"),
    env: env as never,
    stdio: ["ignore", "pipe", "pipe"],
  });
}

it.skipIf(!isWanted)(
  "every stage is made by its own instructions, and the last one starts as its user",
  async () => {
    const order = stages.map((_, index) => index);
    for (const index of order) {
      mkdirSync(within(index, "app"), { recursive: true });
      for (const [name, rest] of stages[index] ?? []) {
        if (name === "COPY") copy(index, rest);
        if (name === "RUN") run(index, rest);
      }
    }
    const last = stages.length - 1;
    chmodSync(root, 0o755);
    expect(existsSync(within(last, "app/node_modules/vitest"))).toBe(false);
    const port = await findPort();
    const [uid = 0, gid = 0] = (restsOf(finalStage, "USER")[0] ?? "").split(":").map(Number);
    const child = spawn(process.execPath, ["dist/server.mjs"], {
      cwd: within(last, "app"),
      env: {
        PATH: process.env["PATH"],
        ...imageEnvironment,
        DATA_DIR: within(last, "data"),
        PORT: String(port),
      } as never,
      stdio: ["ignore", "pipe", "pipe"],
      ...(process.getuid?.() === 0 && { uid, gid }),
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (output += text));
    const ended = new Promise((resolve) => child.once("exit", resolve));
    await vi.waitFor(
      async () => expect((await fetch(`http://localhost:${port}/`)).status, output).toBe(200),
      { timeout: 120_000, interval: 500 },
    );
    child.kill("SIGTERM");
    expect(await ended, output).toBe(0);
  },
);
