/** PgBouncer in transaction mode before a database of the tests. `TEST_PGBOUNCER` (set by .ci/test.mjs) is the program. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { findPort } from "./ports";

export const pgbouncer = process.env["TEST_PGBOUNCER"];

async function waitForPort(port: number): Promise<void> {
  for (let tries = 0; tries < 100; tries += 1) {
    const socket = connect(port, "127.0.0.1");
    const isOpen = await Promise.race([once(socket, "connect"), once(socket, "error")]).then(
      ([error]) => error === undefined,
      () => false,
    );
    socket.destroy();
    if (isOpen) return;
    await sleep(50);
  }
  throw new Error("PgBouncer did not start");
}

/** With its default settings, but for the mode and who may come in. */
export async function startPooler(databaseUrl: string): Promise<{ url: string; stop(): Promise<void> }> {
  const target = new URL(databaseUrl);
  const port = await findPort();
  const folder = await mkdtemp(path.join(tmpdir(), "countersign-pooler-"));
  const file = path.join(folder, "pgbouncer.ini");
  const server = `host=${target.hostname} port=${target.port} user=${target.username} password=${target.password}`;
  const settings = [
    "[databases]",
    `* = ${server}`,
    "[pgbouncer]",
    "listen_addr = 127.0.0.1",
    `listen_port = ${port}`,
    "unix_socket_dir =",
    "auth_type = any",
    "pool_mode = transaction",
  ];
  await writeFile(file, settings.join("\n"), { mode: 0o644 });
  // It refuses to run as root.
  const user = process.getuid?.() === 0 ? ["-u", "nobody"] : [];
  const child = spawn(pgbouncer ?? "pgbouncer", ["-q", ...user, file], { stdio: "ignore" });
  await waitForPort(port);
  const url = new URL(databaseUrl);
  url.port = String(port);
  url.password = "";
  return {
    url: url.href,
    stop: async () => {
      child.kill("SIGKILL");
      await once(child, "exit");
      await rm(folder, { recursive: true, force: true });
    },
  };
}
