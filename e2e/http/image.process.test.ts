/**
 * Runs the result of Dockerfile's last stage as it says: the copied files without any others, its command, its
 * environment, its health check. No container engine is needed.
 */
import { execFile, spawn } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { SMTPServer } from "smtp-server";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { parse } from "yaml";
import { listProduction } from "#ci/production";
import { createTestDatabase } from "#support/databases";
import { finalStage, imageEnvironment, restsOf, stages } from "#support/dockerfile";
import { findPort } from "#support/ports";

const app = mkdtempSync(path.join(tmpdir(), "countersign-image-"));
beforeAll(copyFiles);
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

/** Fills in defaults like Docker Compose, with nothing in `.env` and the environment. */
const fillIn = (text: string) => text.replaceAll(/\$\{\w+:-([^}]*)\}/g, "$1");

/** compose.yaml without a .env, with a database and a mail server of the test's in the places of its own. */
async function composeEnvironment(database: string, mailPort: number): Promise<Record<string, string>> {
  const { services } = parse(readFileSync("compose.yaml", "utf8"));
  const entries = Object.entries<string>(services.countersign.environment);
  const settings = Object.fromEntries(entries.map(([name, value]) => [name, fillIn(value)]));
  const [port, host] = ["1025", "//mail:"].map((part) => settings["SMTP_URL"]?.includes(part));
  expect([port, host, settings["HOST"]]).toEqual([true, true, "0.0.0.0"]);
  return { ...settings, DATABASE_URL: database, SMTP_URL: `smtp://127.0.0.1:${mailPort}`, PROCESSES: "1" };
}

function startImage(settings: Record<string, string>) {
  const env = { PATH: process.env["PATH"], ...imageEnvironment, ...settings } as never;
  const [command = "", ...words] = wordsOf("CMD");
  const child = spawn(command, words, { cwd: app, env, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (output += text));
  const exited = new Promise((resolve) => child.once("exit", resolve));
  const isHealthy = () => {
    const [check = "", ...checkWords] = wordsOf("HEALTHCHECK");
    return promisify(execFile)(check, checkWords, { cwd: app, env }).then(
      () => true,
      () => false,
    );
  };
  const isUp = () =>
    vi.waitFor(async () => expect(await isHealthy(), output).toBe(true), { timeout: 120_000, interval: 500 });
  const stop = async () => {
    child.kill("SIGTERM");
    expect(await exited, output).toBe(0);
  };
  return { isHealthy, isUp, stop };
}

it("starts from the copied files alone, answers, passes its health check, and stops on SIGTERM", async () => {
  const settings = { PORT: String(await findPort()), DATA_DIR: path.join(app, "data") };
  const image = startImage(settings);
  expect(await image.isHealthy()).toBe(false);
  await image.isUp();
  for (const page of ["/", "/docs", "/verify.mjs", "/requirements.csv"]) {
    const answer = await fetch(`http://localhost:${settings.PORT}${page}`);
    expect([page, answer.status, answer.headers.get("x-content-type-options")]).toEqual([
      page,
      200,
      "nosniff",
    ]);
  }
  await image.stop();
});

it("starts as compose.yaml has it without a .env, and sends the mail that lets somebody in", async () => {
  const mails: string[] = [];
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS"],
    onData: (stream, _session, done) =>
      void text(stream).then((mail) => {
        mails.push(mail);
        done();
      }),
  });
  const mailPort = await findPort();
  await new Promise<void>((ready) => server.listen(mailPort, "127.0.0.1", ready));
  const { url, drop } = await createTestDatabase();
  const port = await findPort();
  const settings = await composeEnvironment(url, mailPort);
  const image = startImage({ ...settings, PORT: String(port), DATA_DIR: path.join(app, "compose-data") });
  await image.isUp();
  const asked = await fetch(`http://localhost:${port}/v1/keys/request`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ email: "ada@example.com", name: "first" }),
  });
  expect([asked.status, mails.length, mails[0]]).toEqual([
    200,
    1,
    expect.stringMatching(/^From: .*countersign@localhost/m),
  ]);
  await image.stop();
  await drop();
  await new Promise<void>((closed) => server.close(closed));
});

it("starts with the .env that init writes into its folder", async () => {
  const port = await findPort();
  const init = ["dist/cli/init.mjs", "--address", `http://localhost:${port}`];
  writeFileSync(path.join(app, ".env"), `PORT=${port}\nDATA_DIR=${path.join(app, "init-data")}\n`);
  await promisify(execFile)(process.execPath, init, {
    cwd: app,
    env: { PATH: process.env["PATH"] } as never,
  });
  const { PORT: _port, DATA_DIR: _folder, ...others } = imageEnvironment;
  const child = spawn(process.execPath, ["dist/server.mjs"], {
    cwd: app,
    env: { PATH: process.env["PATH"], ...others } as never,
    stdio: "ignore",
  });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  await vi.waitFor(async () => expect((await fetch(`http://localhost:${port}/v1/health`)).status).toBe(200), {
    timeout: 120_000,
    interval: 500,
  });
  child.kill("SIGTERM");
  expect(await ended).toBe(0);
});
