/** {@link Machine} for Node: the only file of the client that touches the machine for the hook. */
// biome-ignore lint/style/noRestrictedImports: a command line's own files, which no page or agent loads
import { randomBytes } from "node:crypto";
// biome-ignore lint/style/noRestrictedImports: as above
import fs, { constants } from "node:fs";
// biome-ignore lint/style/noRestrictedImports: as above
import files from "node:fs/promises";
// biome-ignore lint/style/noRestrictedImports: as above
import { homedir, hostname } from "node:os";
// biome-ignore lint/style/noRestrictedImports: as above
import path from "node:path";
// biome-ignore lint/style/noRestrictedImports: as above
import { fileURLToPath } from "node:url";
import { CountersignError } from "#lib/client/api/errors";
import type { Machine, Modes, ShellEnd, Terminal } from "./io";

/** Claude Code, Gemini CLI */
const projectVariables = ["CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR"];
const repositories = [".git", ".hg", ".jj", ".svn"];

const [maxTries, retryMs] = [20, 50];
const maxListed = 16 * 1024 * 1024;

/*
 * A call of a tool waits for these steps, and none of them for a thread: to wake one takes longer than they do.
 */

/** Null where it fails. */
function attempt<Result>(step: () => Result): Result | null {
  try {
    return step();
  } catch {
    return null;
  }
}

const readEntry = (file: string): fs.Stats | null => attempt(() => fs.statSync(file));
const exists = (file: string) => readEntry(file) !== null;
const listNames = (folder: string): string[] => attempt(() => fs.readdirSync(folder)) ?? [];

function realPath(file: string): string {
  const absolute = path.resolve(file);
  const found = attempt(() => fs.realpathSync.native(absolute));
  if (found !== null) return found;
  const parent = path.dirname(absolute);
  return parent === absolute ? absolute : path.join(realPath(parent), path.basename(absolute));
}

async function isInside(file: string, folder: string): Promise<boolean> {
  const way = path.relative(realPath(folder), realPath(file));
  return way !== ".." && !way.startsWith(`..${path.sep}`) && !path.isAbsolute(way);
}

async function findProject(file: string): Promise<string | null> {
  for (let folder = realPath(file); ; folder = path.dirname(folder)) {
    if (repositories.some((name) => exists(path.join(folder, name)))) return folder;
    if (folder === path.dirname(folder)) return null;
  }
}

/** Node's own `recursive` never ends where a folder can't be made, as in /proc. */
async function makeFolder(folder: string, mode: number): Promise<void> {
  if (exists(folder)) return;
  if (path.dirname(folder) !== folder) await makeFolder(path.dirname(folder), mode);
  await files.mkdir(folder, { mode }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
  });
}

async function requireWritable(file: string): Promise<void> {
  if (readEntry(file)?.isDirectory()) throw new Error("it is a folder");
  const draft = `${file}.${randomBytes(6).toString("hex")}`;
  await files.writeFile(draft, "", { flag: "wx" });
  await files.rm(draft);
}

async function replaceFile(file: string, text: string | Uint8Array, modes: Modes): Promise<void> {
  const target = realPath(file);
  await makeFolder(path.dirname(target), modes.folder);
  const fresh = `${target}.${randomBytes(6).toString("hex")}`;
  fs.writeFileSync(fresh, text, { flag: "wx", mode: modes.file });
  // Sets the mode despite the process's umask.
  fs.chmodSync(fresh, modes.file);
  fs.renameSync(fresh, target);
}

/** A link fails where a file is, which a rename would replace. */
async function createWhole(file: string, text: string, modes: Modes): Promise<boolean> {
  const draft = `${file}.${randomBytes(6).toString("hex")}`;
  const write = () => files.writeFile(draft, text, { flag: "wx", mode: modes.file });
  await write().catch(async () => {
    await makeFolder(path.dirname(file), modes.folder);
    await write();
  });
  try {
    await files.link(draft, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  } finally {
    await files.rm(draft);
  }
}

async function append(file: string, text: string, modes: Modes): Promise<void> {
  await makeFolder(path.dirname(file), modes.folder);
  await files.appendFile(file, text, { mode: modes.file });
}

/** True also for another user's process. */
function isRunning(processId: number): boolean {
  try {
    process.kill(processId, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

async function listFiles(folder: string): Promise<{ name: string; ageMs: number }[]> {
  return listNames(folder).flatMap((name) => {
    const entry = readEntry(path.join(folder, name));
    return entry === null ? [] : [{ name, ageMs: Date.now() - entry.mtimeMs }];
  });
}

function listenForEnd(): AbortSignal {
  const ended = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"])
    process.on(signal, () => ended.abort(new CountersignError(`Ended by ${signal} before a human decided.`)));
  return ended.signal;
}

async function runShell(line: string, stdin: string, folder: string, ms: number): Promise<ShellEnd> {
  // biome-ignore lint/style/noRestrictedImports: as above; a call of a tool doesn't wait for it
  const { execFile } = await import("node:child_process");
  return new Promise((resolve) => {
    const child = execFile("sh", ["-c", line], { cwd: folder, timeout: ms }, (_error, out, err) =>
      resolve({ code: child.exitCode, out, err }),
    );
    child.stdin?.on("error", () => undefined).end(stdin);
  });
}

/** Finds the terminal of a process above if the hook's session has none, as some agents start it. */
async function findTerminal(processId: number): Promise<string | null> {
  // biome-ignore lint/style/noRestrictedImports: as above; only a call that waits for a human needs it
  const { execFile } = await import("node:child_process");
  const limits = { maxBuffer: maxListed, timeout: 2_000 };
  const listed = await new Promise<string>((resolve) => {
    // Called by its path: an agent may write to a folder of PATH, such as a project's node_modules/.bin.
    execFile("/bin/ps", ["-A", "-o", "pid=,ppid=,tty="], limits, (_error, out) => resolve(out));
  });
  const processes = new Map(
    listed.split("\n").map((line) => {
      const [id, parent, terminal] = line.trim().split(/\s+/);
      return [Number(id), { parent: Number(parent), terminal: terminal ?? "" }];
    }),
  );
  let found = processes.get(processId);
  // Terminals of windows: a bare console shows what it doesn't know.
  while (found !== undefined && !/^(?:pts\/\d+|ttys\d+)$/.test(found.terminal))
    found = found.parent > 1 ? processes.get(found.parent) : undefined;
  return found === undefined ? null : `/dev/${found.terminal}`;
}

/** Writes at once if there is room for it, so that it isn't between two parts of the agent's own. */
async function write(terminal: string, text: string): Promise<void> {
  const { O_WRONLY, O_NOCTTY, O_NONBLOCK } = constants;
  const opened = await files.open(terminal, O_WRONLY | O_NOCTTY | O_NONBLOCK).catch(() => null);
  if (opened === null) return;
  let rest = Buffer.from(text);
  // While the agent draws, there may be no room; a terminal that is stopped has none for long.
  for (let tries = 0; rest.length > 0 && tries < maxTries; tries += 1)
    rest = await opened.write(rest).then(
      ({ bytesWritten }) => rest.subarray(bytesWritten),
      () => new Promise((resolve) => setTimeout(() => resolve(rest), retryMs)),
    );
  await opened.close();
}

async function openTerminal(processId = process.pid): Promise<Terminal | null> {
  const path = await findTerminal(processId);
  return path === null ? null : { path, write: (text) => write(path, text) };
}

export function nodeMachine(programUrl: string | undefined): Machine {
  return {
    programPath: programUrl === undefined ? undefined : fileURLToPath(programUrl),
    nodePath: process.execPath,
    home: homedir(),
    platform: process.platform,
    // biome-ignore lint/style/noProcessEnv: a program of its own, without the service's settings
    workingFolders: [process.cwd(), ...projectVariables.flatMap((name) => process.env[name] || [])],
    // biome-ignore lint/style/noProcessEnv: as above
    readVariable: (name) => process.env[name],
    absolute: (file) => path.resolve(file),
    isInside,
    findProject,
    readMode: async (file) => {
      const entry = readEntry(file);
      return entry && entry.mode & 0o777;
    },
    writeFile: replaceFile,
    requireWritable,
    listFiles,
    listNames: async (folder) => listNames(folder),
    createWhole,
    append,
    host: hostname(),
    processId: process.pid,
    isRunning,
    readOwner: async (file) => {
      const entry = attempt(() => fs.lstatSync(file));
      return entry === null || entry.isSymbolicLink() ? null : entry.uid;
    },
    createFile: (file, text) =>
      files.writeFile(file, text, { flag: "wx", mode: 0o644 }).then(
        () => true,
        () => false,
      ),
    makeSharedFolder: async (folder) => {
      await files.mkdir(folder);
      await files.chmod(folder, 0o1777);
    },
    remove: (file) => files.rm(file, { recursive: true, force: true }),
    randomHex: (bytes) => randomBytes(bytes).toString("hex"),
    listenForEnd,
    openTerminal,
    runShell,
  };
}
