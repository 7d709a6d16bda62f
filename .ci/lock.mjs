/**
 * A lock between processes of one clone: a local socket, which the system frees when its holder dies, however it dies
 * (a pid file would outlive a kill -9, and its number may be another process's after a restart).
 */
import { createHash } from "node:crypto";
import { rmSync } from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { root } from "./step.mjs";

function lockAddress(name) {
  const id = `countersign-${name}-${createHash("sha256").update(root).digest("hex").slice(0, 16)}`;
  if (process.platform === "linux") return `\0${id}`;
  return process.platform === "win32" ? `\\\\.\\pipe\\${id}` : path.join(os.tmpdir(), id);
}

function listen(address) {
  return new Promise((resolve, reject) => {
    // A waiting process hangs on an open connection: it must not keep the holder alive.
    const server = net.createServer((socket) => socket.on("error", () => {}).unref());
    server.on("error", (error) => (error.code === "EADDRINUSE" ? resolve(undefined) : reject(error)));
    server.listen(address, () => resolve(server));
  });
}

/** Resolves when the holder has gone: true when there was one, false when only its socket file was left. */
function waitForHolder(address) {
  return new Promise((resolve) => {
    let connected = false;
    const socket = net.connect(address, () => {
      connected = true;
    });
    socket.on("error", () => {});
    socket.on("close", () => resolve(connected));
  });
}

/** Runs `work` while this process alone holds the lock `name`. */
export async function withLock(name, work) {
  const address = lockAddress(name);
  let told = false;
  for (;;) {
    const server = await listen(address);
    if (server) {
      await work();
      process.exit(0);
    }
    if (!told) console.log(`waiting for another ${name} in this folder`);
    told = true;
    if (!(await waitForHolder(address)) && path.isAbsolute(address) && process.platform !== "win32") {
      rmSync(address, { force: true });
    }
  }
}
