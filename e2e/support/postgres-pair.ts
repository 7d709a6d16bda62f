/**
 * A PostgreSQL of its own that can be copied, killed and promoted: a primary and its streaming standbys, made with the
 * programs of the tests' server and as its user.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { chownSync, existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import postgres from "postgres";
import { findPort } from "./ports";

interface Programs {
  folder: string;
  /** User to run as: the server refuses root. */
  user: { uid: number; gid: number };
}

/** Null if the tests' server is on another machine. */
export async function findPrograms(): Promise<Programs | null> {
  const url = process.env["TEST_DATABASE_URL"];
  if (url === undefined) return null;
  const admin = postgres(url, { max: 1, onnotice: () => {} });
  const [row] = await admin<{ data: string; folder: string }[]>`
    SELECT current_setting('data_directory') AS data, setting AS folder FROM pg_config WHERE name = 'BINDIR'`;
  await admin.end();
  if (!row || !existsSync(path.join(row.folder, "pg_basebackup")) || !existsSync(row.data)) return null;
  const { uid, gid } = statSync(row.data);
  return { folder: row.folder, user: { uid, gid } };
}

export interface Node {
  url: string;
  /** Resolves when it answers. */
  start(): Promise<void>;
  /** Crashes it: nothing more is written, and no connection is closed in an orderly way. */
  kill(): Promise<void>;
  promote(): Promise<void>;
  /** Makes a standby: another server with everything that this one has and streams from now on. */
  copy(name: string, settings?: readonly string[]): Promise<Node>;
}

/** Durability is off: these tests are about what another server has, not about the disk. */
const always = [
  "fsync=off",
  "full_page_writes=off",
  "listen_addresses=127.0.0.1",
  "unix_socket_directories=",
];

/** The first server, not started, and what stops all of them. */
export async function makePrimary({ folder: bin, user }: Programs, settings: readonly string[]) {
  const folder = mkdtempSync(path.join(tmpdir(), "countersign-pair-"));
  chownSync(folder, user.uid, user.gid);
  const password = randomBytes(16).toString("hex");
  const running = new Set<ChildProcess>();
  const run = (program: string, args: string[]) =>
    execFileSync(path.join(bin, program), args, {
      ...user,
      cwd: folder,
      env: { ...process.env, PGPASSWORD: password },
      stdio: ["ignore", "ignore", "pipe"],
    });

  async function waitUntilReady(server: ChildProcess, url: string): Promise<void> {
    for (;;) {
      if (server.exitCode !== null) throw new Error("a PostgreSQL of the tests did not start");
      const client = postgres(url, { max: 1, onnotice: () => {}, connect_timeout: 5 });
      const isUp = await client`SELECT 1`.then(
        () => true,
        () => false,
      );
      await client.end({ timeout: 1 });
      if (isUp) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  function describe(name: string, port: number, own: readonly string[]): Node {
    const data = path.join(folder, name);
    const url = `postgres://postgres:${password}@127.0.0.1:${port}/postgres`;
    let server: ChildProcess | null = null;
    return {
      url,
      start: async () => {
        const set = [...always, ...own].flatMap((setting) => ["-c", setting]);
        const args = ["-D", data, "-p", String(port), ...set];
        const child = spawn(path.join(bin, "postgres"), args, { ...user, cwd: folder, stdio: "ignore" });
        server = child;
        running.add(child);
        child.once("exit", () => running.delete(child));
        await waitUntilReady(child, url);
      },
      kill: async () => {
        const child = server;
        if (child === null || child.exitCode !== null) return;
        child.kill("SIGQUIT");
        await once(child, "exit");
      },
      promote: async () => {
        run("pg_ctl", ["promote", "-w", "-D", data]);
      },
      copy: async (copyName, copySettings = []) => {
        const target = path.join(folder, copyName);
        const from = ["-h", "127.0.0.1", "-p", String(port), "-U", "postgres"];
        run("pg_basebackup", [...from, "-D", target, "-R", "-X", "stream", "-c", "fast", "--no-sync"]);
        return describe(copyName, await findPort(), copySettings);
      },
    };
  }

  const passwordFile = path.join(folder, "password");
  writeFileSync(passwordFile, password, { mode: 0o600 });
  chownSync(passwordFile, user.uid, user.gid);
  const data = path.join(folder, "first");
  const encoding = ["-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions"];
  run("initdb", [
    "-D",
    data,
    "-U",
    "postgres",
    "-A",
    "scram-sha-256",
    `--pwfile=${passwordFile}`,
    ...encoding,
  ]);
  return {
    primary: describe("first", await findPort(), settings),
    close: async () => {
      const ended = [...running].map((child) => once(child, "exit"));
      for (const child of running) child.kill("SIGQUIT");
      await Promise.all(ended);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
