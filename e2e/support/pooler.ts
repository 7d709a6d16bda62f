/** PgBouncer in transaction mode before a database of the tests. `TEST_PGBOUNCER` (set by .ci/test.mjs) is the program. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, connect, createServer } from "node:net";
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

/** Starts PgBouncer with its default settings, except for the mode and who may connect. */
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
  // PgBouncer refuses to run as root.
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

const beginning = "BEGIN\0";

/** ReadyForQuery, with the status of a session outside of a transaction. */
const isReady = (bytes: Buffer) =>
  bytes.length >= 6 && bytes.at(-6) === 0x5a && bytes.readInt32BE(bytes.length - 5) === 5;

/**
 * A pooler that answers whatever is asked and commits nothing: each session is one transaction of the server's, of which the
 * client never learns.
 */
export async function startForgetfulPooler(
  databaseUrl: string,
): Promise<{ url: string; stop(): Promise<void> }> {
  const target = new URL(databaseUrl);
  const server = createServer((near) => {
    const far = connect(Number(target.port), target.hostname);
    let state: "signing in" | "beginning" | "open" = "signing in";
    near.on("data", (bytes) => far.write(bytes));
    far.on("data", (bytes) => {
      if (state === "beginning" && isReady(bytes)) {
        state = "open";
        near.write(Buffer.from("Z\0\0\0\x05I", "latin1"));
      } else if (state === "signing in" && isReady(bytes)) {
        state = "beginning";
        near.write(bytes.subarray(0, -6));
        const length = Buffer.alloc(4);
        length.writeInt32BE(4 + beginning.length);
        far.write(Buffer.concat([Buffer.from("Q"), length, Buffer.from(beginning)]));
      } else if (isReady(bytes)) {
        near.write(Buffer.concat([bytes.subarray(0, -1), Buffer.from("I")]));
      } else near.write(bytes);
    });
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const)
      one.on("error", () => other.destroy()).on("close", () => other.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = new URL(databaseUrl);
  url.hostname = "127.0.0.1";
  url.port = String((server.address() as AddressInfo).port);
  return { url: url.href, stop: () => new Promise((resolve) => server.close(() => resolve())) };
}
