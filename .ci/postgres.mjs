/**
 * A PostgreSQL server for one run of the tests or the benchmark: binaries found or, as root on Debian, installed; a
 * cluster in a temporary folder, on a free port of 127.0.0.1; stopped and removed at the end.
 */
import { execFileSync, spawn, spawnSync } from "node:child_process";
import { randomBytes, randomInt } from "node:crypto";
import { once } from "node:events";
import {
  chownSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { installPackage } from "./debian.mjs";

const debianFolder = "/usr/lib/postgresql";
const clusterSettings = "/etc/postgresql-common/createcluster.conf";

/** The folder of the server's programs, if there is one. */
export function findBinaries() {
  const versions = existsSync(debianFolder) ? readdirSync(debianFolder) : [];
  versions.sort((a, b) => Number(b) - Number(a));
  const folders = [
    ...versions.map((version) => path.join(debianFolder, version, "bin")),
    ...(process.env.PATH ?? "").split(path.delimiter),
  ];
  return folders.find((folder) =>
    ["initdb", "postgres"].every((name) => existsSync(path.join(folder, name))),
  );
}

/** Installs the server without the system cluster that Debian would make and start: the tests bring their own. */
function installServer() {
  if (!installPackage("postgresql-common")) return;
  const before = readFileSync(clusterSettings, "utf8");
  writeFileSync(clusterSettings, `${before}\ncreate_main_cluster = false\n`);
  try {
    installPackage("postgresql");
  } finally {
    writeFileSync(clusterSettings, before);
  }
}

/** The server refuses to run as root: as root, finds an unprivileged user for it. */
function findUser() {
  if (process.getuid?.() !== 0) return {};
  for (const name of ["postgres", "nobody"]) {
    const ids = ["-u", "-g"].map((flag) => spawnSync("id", [flag, name], { encoding: "utf8" }));
    const [uid, gid] = ids.map((id) => (id.status === 0 ? Number(id.stdout) : Number.NaN));
    if (uid && gid) return { uid, gid };
  }
  throw new Error("PostgreSQL does not run as root, and there is no user postgres or nobody to run it as");
}

/** Below those that the system gives to each connection: a server that was killed finds its port free when it starts again. */
export async function findFreePort() {
  for (;;) {
    const port = 31_000 + randomInt(1_700);
    const server = net.createServer().listen(port, "127.0.0.1");
    try {
      await once(server, "listening");
    } catch {
      continue;
    }
    server.close();
    await once(server, "close");
    return port;
  }
}

function waitUntilReady(server) {
  return new Promise((resolve, reject) => {
    let log = "";
    server.stderr.setEncoding("utf8").on("data", (chunk) => {
      log = (log + chunk).slice(-20_000);
      if (log.includes("database system is ready to accept connections")) resolve();
    });
    server.on("error", reject);
    server.on("exit", (code) => reject(new Error(`PostgreSQL stopped with code ${code}:\n${log}`)));
  });
}

function initialise(binaries, folder, password, user) {
  const passwordFile = path.join(folder, "password");
  writeFileSync(passwordFile, password, { mode: 0o600 });
  if (user.uid) for (const file of [folder, passwordFile]) chownSync(file, user.uid, user.gid);
  execFileSync(
    path.join(binaries, "initdb"),
    [
      "-D",
      path.join(folder, "data"),
      "-U",
      "postgres",
      "-A",
      "scram-sha-256",
      `--pwfile=${passwordFile}`,
    ].concat(["-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions"]),
    { ...user, cwd: folder, stdio: ["ignore", "ignore", "pipe"] },
  );
}

function spawnServer({ binaries, folder, port, user, settings }) {
  const all = ["listen_addresses=127.0.0.1", "unix_socket_directories=", ...settings];
  return spawn(
    path.join(binaries, "postgres"),
    ["-D", path.join(folder, "data"), "-p", String(port), ...all.flatMap((setting) => ["-c", setting])],
    { ...user, cwd: folder, stdio: ["ignore", "ignore", "pipe"] },
  );
}

/** The server's processes; of the first's children, which are its own. Linux only. */
const listChildren = (pid) =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ").filter(Boolean).map(Number);

function isRunning(pid) {
  try {
    return readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.[0] !== "Z";
  } catch {
    return false;
  }
}

/**
 * SIGKILL to all of its processes at once. Resolves when none is left that holds its memory, and Node has taken note of
 * the first one's end: until then its number is in use, and the next server would take it for running.
 */
async function killServer(server) {
  const exited = server.exitCode === null && server.signalCode === null && once(server, "exit");
  const pids = [server.pid, ...listChildren(server.pid)];
  for (const pid of pids) {
    try {
      process.kill(pid, "SIGKILL");
    } catch (error) {
      if (error.code !== "ESRCH") throw error;
    }
  }
  await exited;
  while (pids.some(isRunning)) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** Nothing waits for the disk: no test database outlives a crash. */
export const withoutFsync = ["fsync=off", "synchronous_commit=off", "full_page_writes=off"];

/**
 * Starts PostgreSQL for tests and returns `{url, stop}`; `url` is the superuser's, with which each test makes its own database.
 * TEST_DATABASE_URL names a running server to use instead.
 */
export async function startPostgres() {
  if (process.env.TEST_DATABASE_URL) return { url: process.env.TEST_DATABASE_URL, stop: async () => {} };
  return startCluster([...withoutFsync, "max_connections=200"]);
}

/**
 * `settings`: lines of postgresql.conf. Gives what startPostgres does, and for tests of crashes: where its programs and
 * its data are, its process's id, `kill` (as a crash would end it), and `start`, which starts it again.
 */
export async function startCluster(settings) {
  if (!findBinaries()) installServer();
  const binaries = findBinaries();
  if (!binaries) {
    throw new Error(
      "PostgreSQL is needed and is not installed: run `apt-get install postgresql` as root, or set TEST_DATABASE_URL (npm test) or BENCH_DATABASE_URL (npm run bench) to a superuser's address",
    );
  }
  const folder = mkdtempSync(path.join(os.tmpdir(), "countersign-postgres-"));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  try {
    return await runCluster({ binaries, folder, user: findUser(), settings }, remove);
  } catch (error) {
    remove();
    throw error;
  }
}

async function runCluster({ binaries, folder, user, settings }, remove) {
  // A password, not trust: a superuser of the cluster can run commands as its system user.
  const password = randomBytes(16).toString("hex");
  initialise(binaries, folder, password, user);
  const port = await findFreePort();
  let server;
  const start = async () => {
    server = spawnServer({ binaries, folder, port, user, settings });
    await waitUntilReady(server);
  };
  // The last resort, when this process ends without stop(): SIGQUIT ends the server at once.
  const end = () => {
    server?.kill("SIGQUIT");
    remove();
  };
  process.on("exit", end);
  await start();
  return {
    url: `postgres://postgres:${password}@127.0.0.1:${port}/postgres`,
    binaries,
    folder: path.join(folder, "data"),
    pid: () => server.pid,
    start,
    kill: () => killServer(server),
    stop: async () => {
      const exited = new Promise((resolve) => server.on("exit", resolve));
      server.kill("SIGINT");
      if (server.exitCode === null && server.signalCode === null) await exited;
      process.off("exit", end);
      remove();
    },
  };
}
