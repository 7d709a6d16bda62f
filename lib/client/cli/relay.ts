/**
 * The hook as an agent starts it, before and after each call: hands the event to the resident helper, which answers in a
 * few milliseconds. Without one it starts it, and does the work itself this time. Bundled into dist/countersign-hook.cjs:
 * whatever this file loads, every call of a tool waits for.
 */
// biome-ignore lint/style/noRestrictedImports: a program of its own
import { lstatSync, readFileSync, statSync, writeSync } from "node:fs";
// biome-ignore lint/style/noRestrictedImports: as above
import { connect, type Socket } from "node:net";
// biome-ignore lint/style/noRestrictedImports: as above
import { homedir } from "node:os";

/** Variables that a hook reads. */
const handedOn = /^(?:CLAUDE_|GEMINI_|COUNTERSIGN_URL$)/;
/** A helper that was started with others of these would reach the service by another way, or believe another authority. */
const wayVariables = /^(?:https?_proxy|all_proxy|no_proxy|NODE_EXTRA_CA_CERTS|NODE_TLS_.*)$/i;
const blocked = 2;
/** A helper that is well takes a call at once. */
const takingMs = 5_000;
const usualTimeoutSeconds = 570;
/** Agents run a call whose hook is late: this comes after the hook's own end, and before an agent's (settings.ts). */
const spareMs = 15_000;

interface HookProgram {
  run(argv: readonly string[], stdin: Uint8Array | null, program: string): Promise<number>;
}

const program = `${__dirname}/countersign-hook.mjs`;
const argv = process.argv.slice(2);

function writeAll(to: 1 | 2, text: string): void {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; )
    try {
      at += writeSync(to, bytes, at);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EAGAIN") process.exit(blocked);
    }
}

async function readStdin(): Promise<Buffer> {
  try {
    return readFileSync(0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EAGAIN") throw error;
    const parts: Buffer[] = [];
    for await (const part of process.stdin) parts.push(part as Buffer);
    return Buffer.concat(parts);
  }
}

const pick = (names: RegExp) =>
  // biome-ignore lint/style/noProcessEnv: a program of its own, without the service's settings
  Object.fromEntries(Object.entries(process.env).filter(([name]) => names.test(name)));

/** The helper's socket; null if there is none, or another user's. */
function findHelper(): string | null {
  const path = `${homedir()}/.countersign/run/hook.sock`;
  try {
    const found = lstatSync(path);
    return found.isSocket() && found.uid === process.getuid?.() ? path : null;
  } catch {
    return null;
  }
}

const readVersion = (file: string) => {
  const { mtimeMs, size, ino } = statSync(file);
  return `${mtimeMs} ${size} ${ino}`;
};

function readTimeoutMs(): number {
  const [, seconds = usualTimeoutSeconds] = /\n--timeout[=\n](\d+)/.exec(`\n${argv.join("\n")}`) ?? [];
  return Number(seconds) * 1_000;
}

/** The exit code; null if the helper did not begin with it. One that hangs is as good as gone. */
function askHelper(path: string, stdin: Buffer): Promise<number | null> {
  return new Promise((resolve) => {
    let [text, isTaken] = ["", false];
    let code: number | null = null;
    const leave = () => socket.destroy();
    let timer = setTimeout(leave, takingMs);
    const socket: Socket = connect(path, () => {
      const ask = {
        argv,
        cwd: process.cwd(),
        program: __filename,
        version: readVersion(program),
        pid: process.pid,
        env: pick(handedOn),
        way: pick(wayVariables),
        length: stdin.length,
      };
      socket.write(Buffer.concat([Buffer.from(`${JSON.stringify(ask)}\n`), stdin]));
    });
    const take = (line: string) => {
      const told = JSON.parse(line) as { taken?: true; out?: string; err?: string; code?: number };
      if (told.taken) {
        isTaken = true;
        clearTimeout(timer);
        timer = setTimeout(leave, readTimeoutMs() + spareMs);
      }
      if (told.out !== undefined) writeAll(1, told.out);
      if (told.err !== undefined) writeAll(2, told.err);
      if (told.code !== undefined) code = told.code;
    };
    socket.setEncoding("utf8").on("data", (part: string) => {
      text += part;
      for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n")) {
        take(text.slice(0, end));
        text = text.slice(end + 1);
      }
    });
    socket.on("error", () => undefined);
    socket.on("close", () => {
      clearTimeout(timer);
      if (code === null && isTaken) {
        writeAll(2, "countersign: the hook's helper ended before it answered.\n");
        code = blocked;
      }
      resolve(code);
    });
  });
}

/** Starts a helper that outlives this call. */
async function startHelper(): Promise<void> {
  // biome-ignore lint/style/noRestrictedImports: as above
  const { spawn } = await import("node:child_process");
  const helper = spawn(process.execPath, [__filename, "serve"], {
    cwd: "/",
    detached: true,
    stdio: "ignore",
  });
  helper.on("error", () => undefined).unref();
}

/** The installer's command names key and service: nothing else of the environment matters to the helper. */
const mayAskHelper = () =>
  argv[0]?.startsWith("--") && ["--key-file", "--url"].every((name) => argv.includes(name));

async function main(): Promise<number> {
  let stdin: Buffer | null = null;
  if (mayAskHelper()) {
    stdin = await readStdin();
    const helper = findHelper();
    const code = helper === null ? null : await askHelper(helper, stdin);
    if (code !== null) return code;
    await startHelper();
  }
  const { run } = (await import(program)) as HookProgram;
  return run(argv, stdin, __filename);
}

/** Any other code lets the call run, also after an exception in a callback. */
function block(error: unknown): never {
  writeAll(2, `countersign: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(blocked);
}

process.on("uncaughtException", block);
main().then((code) => {
  process.exitCode = code;
}, block);
