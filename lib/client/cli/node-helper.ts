/**
 * `countersign hook serve`: the resident helper. It listens on a socket that only its user can open, and on a port of this
 * machine if an agent's hook is of type `http`; it does what the hook's program would do, without a start for each call. It
 * reads the key for each call, and ends when it has been idle for a while.
 */

// biome-ignore lint/style/noRestrictedImports: a command line's own server, which no page or agent loads
import { spawn } from "node:child_process";
// biome-ignore lint/style/noRestrictedImports: as above
import { timingSafeEqual } from "node:crypto";
// biome-ignore lint/style/noRestrictedImports: as above
import { chmod, mkdir, rename, rm, stat } from "node:fs/promises";
// biome-ignore lint/style/noRestrictedImports: as above
import http from "node:http";
// biome-ignore lint/style/noRestrictedImports: as above
import https from "node:https";
// biome-ignore lint/style/noRestrictedImports: as above
import { connect, createServer, type Socket } from "node:net";
// biome-ignore lint/style/noRestrictedImports: as above
import path from "node:path";
import { CountersignError } from "#lib/client/api/errors";
import { readCount } from "#lib/client/cli/attest";
import { agents, listEvents } from "#lib/client/hook/agents";
import { isJsonObject } from "#lib/protocol/encoding/canonical-json";
import { UsageError } from "#lib/protocol/text/command-words";
import { hookSpec } from "./hook";
import type { ClientIo, Command } from "./io";
import { runSpec } from "./spec";

const usualIdleSeconds = 15 * 60;
const maxEventBytes = 16 * 1024 * 1024;
/** Records that could not be sent are tried again while the helper lives. */
const retryMs = 31_000;
const sendMs = 60_000;
const watchMs = 5_000;

/** An event with its hook's arguments, as relay.ts sends it. */
interface Ask {
  argv: string[];
  cwd: string;
  /** The file that the agent runs. */
  program: string;
  version: string;
  pid: number;
  env: Record<string, string>;
  way: Record<string, string>;
  length: number;
}

interface Asked {
  argv: readonly string[];
  stdin: Uint8Array;
  cwd: string;
  program: string | undefined;
  /** The hook's process; undefined if it has none. */
  pid: number | undefined;
  env: Record<string, string>;
  signal: AbortSignal;
  print(text: string): void;
  tell(text: string): void;
}

/** Runs one hook as its own process would: with its folder, its environment and its end. */
function answer(io: ClientIo, inBackground: ClientIo["inBackground"], asked: Asked): Promise<number> {
  const { cwd, env, stdin, program, pid, signal, print, tell } = asked;
  const at = (file: string) => path.resolve(cwd, file);
  const projects = ["CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR"].flatMap((name) => env[name] || []);
  return runSpec(
    {
      ...io,
      apiKey: undefined,
      serviceUrl: env["COUNTERSIGN_URL"],
      readStdin: async () => stdin,
      readFile: (file) => io.readFile(at(file)),
      isFile: (file) => io.isFile(at(file)),
      print,
      tell,
      inBackground,
      machine: {
        ...io.machine,
        programPath: program ?? io.machine.programPath,
        workingFolders: [cwd, ...projects],
        readVariable: (name) => env[name],
        absolute: at,
        listenForEnd: () => signal,
        openTerminal: async () => (pid === undefined ? null : io.machine.openTerminal(pid)),
      },
    },
    hookSpec,
    asked.argv,
  );
}

/** Work under a name runs once at a time, and again if it was asked for meanwhile. */
function createBackground(): NonNullable<ClientIo["inBackground"]> {
  const waiting = new Map<string, boolean>();
  return function run(name, work) {
    if (waiting.has(name)) return void waiting.set(name, true);
    waiting.set(name, false);
    const again = () => run(name, work);
    void work(AbortSignal.timeout(sendMs))
      .then((done) => isJsonObject(done as never) && (done as { problem?: unknown }).problem !== null)
      .catch(() => true)
      .then((isFailed) => {
        const isWanted = waiting.get(name) === true;
        waiting.delete(name);
        if (isFailed) setTimeout(again, retryMs).unref();
        else if (isWanted) again();
      });
  };
}

/** Ends when nothing has been under way for a while. */
function createIdle(ms: number) {
  const ended = new AbortController();
  // The listening socket keeps the process.
  const wait = () => setTimeout(() => ended.abort(), ms).unref();
  let [active, timer] = [0, wait()];
  return {
    ended,
    during: async <Result>(work: Promise<Result>): Promise<Result> => {
      active += 1;
      clearTimeout(timer);
      return work.finally(() => {
        active -= 1;
        if (active === 0) timer = wait();
      });
    },
  };
}

const readVersion = async (file: string) => {
  const { mtimeMs, size, ino } = await stat(file);
  return `${mtimeMs} ${size} ${ino}`;
};
const wayVariables = /^(?:https?_proxy|all_proxy|no_proxy|NODE_EXTRA_CA_CERTS|NODE_TLS_.*)$/i;
const isSame = (a: Record<string, string>, b: Record<string, string | undefined>) =>
  JSON.stringify(Object.entries(a).sort()) === JSON.stringify(Object.entries(b).sort());

/** Listens for relay.ts. A helper of another program, or another way to the service, ends and leaves the call to its asker. */
async function listenForRelays(io: ClientIo, handle: (asked: Asked) => Promise<number>, end: () => void) {
  const program = path.join(path.dirname(io.machine.programPath ?? ""), "countersign-hook.mjs");
  const version = await readVersion(program);
  // biome-ignore lint/style/noProcessEnv: a program of its own, without the service's settings
  const way = Object.fromEntries(Object.entries(process.env).filter(([name]) => wayVariables.test(name)));
  const take = async (socket: Socket) => {
    const gone = new AbortController();
    socket.on("error", () => undefined);
    socket.on("close", () => gone.abort(new CountersignError("Ended before a human decided.")));
    const tell = (frame: object) => void (socket.writable && socket.write(`${JSON.stringify(frame)}\n`));
    const asked = await readAsk(socket);
    if (asked === null || asked.ask.version !== version || !isSame(asked.ask.way, way)) {
      socket.destroy();
      // Replaced by an installation: the next call starts the new one.
      if (asked !== null && asked.ask.version !== version) end();
      return;
    }
    tell({ taken: true });
    const code = await handle({
      ...asked.ask,
      stdin: asked.stdin,
      signal: gone.signal,
      print: (out) => tell({ out }),
      tell: (err) => tell({ err }),
    });
    tell({ code });
    socket.end();
  };
  const server = createServer((socket) => void take(socket).catch(() => socket.destroy()));
  const folder = path.join(io.machine.home, ".countersign/run");
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const file = path.join(folder, "hook.sock");
  if (await isAnswering(file)) throw new CountersignError("a helper is running already");
  const own = `${file}.${process.pid}`;
  await new Promise<void>((resolve, reject) => void server.once("error", reject).listen(own, resolve));
  await chmod(own, 0o600);
  await rename(own, file);
  const { ino } = await stat(file);
  // Ends when its folder or program was removed: nobody reaches it any more, or should.
  const watch = setInterval(() => {
    Promise.all([stat(file), readVersion(program)]).then(
      ([now, found]) => (now.ino !== ino || found !== version) && end(),
      end,
    );
  }, watchMs);
  return async () => {
    clearInterval(watch);
    server.close();
    const now = await stat(file).catch(() => null);
    if (now?.ino === ino) await rm(file, { force: true });
  };
}

const isAnswering = (file: string) =>
  new Promise<boolean>((resolve) => {
    const socket = connect(file, () => {
      socket.destroy();
      resolve(true);
    }).on("error", () => resolve(false));
  });

/** Null for what is no question of ours. */
async function readAsk(socket: Socket): Promise<{ ask: Ask; stdin: Uint8Array } | null> {
  const parts: Uint8Array[] = [];
  let [size, ask, begin] = [0, null as Ask | null, 0];
  return new Promise((resolve) => {
    socket.on("close", () => resolve(null));
    socket.on("data", (part) => {
      parts.push(part);
      size += part.length;
      if (size > maxEventBytes) return socket.destroy();
      const all = Buffer.concat(parts);
      if (ask === null) {
        const end = all.indexOf(0x0a);
        if (end === -1) return;
        ask = JSON.parse(all.subarray(0, end).toString("utf8")) as Ask;
        begin = end + 1;
      }
      if (all.length - begin >= ask.length) resolve({ ask, stdin: all.subarray(begin, begin + ask.length) });
    });
  });
}

/* Hooks of type `http`. */

async function readBody(incoming: http.IncomingMessage): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of incoming as AsyncIterable<Uint8Array>) {
    size += part.length;
    if (size > maxEventBytes) throw new RangeError("the event is too large");
    parts.push(part);
  }
  return Buffer.concat(parts);
}

const isEqual = (a: string, b: string) =>
  a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));

interface HttpHook {
  port: number;
  token: string;
  argv: readonly string[];
}

/** A page can reach a port of this machine: it has no token, another Host or an Origin. */
function isAgents({ headers, method }: http.IncomingMessage, { port, token }: HttpHook): boolean {
  const isHere = [`127.0.0.1:${port}`, `localhost:${port}`].includes(headers.host ?? "");
  const isProgram = headers.origin === undefined;
  return method === "POST" && isHere && isProgram && isEqual(headers.authorization ?? "", `Bearer ${token}`);
}

async function listenForHttp(hook: HttpHook, handle: (asked: Asked) => Promise<number>) {
  const { claude } = agents;
  const take = async (incoming: http.IncomingMessage, outgoing: http.ServerResponse) => {
    if (!isAgents(incoming, hook)) return outgoing.writeHead(403).end();
    const gone = new AbortController();
    outgoing.on("close", () => gone.abort(new CountersignError("Ended before a human decided.")));
    const stdin = await readBody(incoming);
    const event = readLoosely(stdin);
    let [out, err] = ["", ""];
    const code = await handle({
      argv: hook.argv,
      stdin,
      cwd: typeof event["cwd"] === "string" ? event["cwd"] : "/",
      program: undefined,
      pid: undefined,
      env: {},
      signal: gone.signal,
      print: (text) => {
        out += text;
      },
      tell: (text) => {
        err += text;
      },
    });
    // A status code blocks nothing: the answer has to say no itself.
    const isOver = listEvents(claude).slice(1).includes(String(event["hook_event_name"]));
    const reason = err.trim() || "countersign: this hook failed.";
    const failure = isOver ? claude.note?.(reason) : claude.answer({ permission: "deny", reason });
    outgoing.writeHead(200, { "content-type": "application/json" });
    outgoing.end(code === 0 ? out || "{}" : JSON.stringify(failure));
  };
  const server = http.createServer((incoming, outgoing) => {
    take(incoming, outgoing).catch(() => outgoing.destroy());
  });
  server.requestTimeout = 0;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(hook.port, "127.0.0.1", resolve);
  }).catch((error: NodeJS.ErrnoException) => {
    throw new CountersignError(
      `port ${hook.port} can't be used (${error.code}). If another program has it, it gets the agent's events: end that, or choose another --port`,
    );
  });
  return async () => {
    server.closeAllConnections();
    server.close();
  };
}

function readLoosely(stdin: Uint8Array): Record<string, unknown> {
  try {
    const event = JSON.parse(Buffer.from(stdin).toString("utf8")) as unknown;
    return isJsonObject(event as never) ? (event as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

const tokenVariable = "COUNTERSIGN_HOOK_TOKEN";

/** Serves until idle, stopped, or the agent that it starts has ended. */
export async function serve(command: Command): Promise<void> {
  const { io, words } = command;
  const port = readCount(command, "port");
  const idle = createIdle((readCount(command, "idle") ?? usualIdleSeconds) * 1_000);
  const isForHttp = port !== undefined;
  if (words.length > 0 && !isForHttp) throw new UsageError("hook serve: a command needs --port");
  process.umask(0o077);
  const inBackground = createBackground();
  const handle = (asked: Asked) => idle.during(answer(io, inBackground, asked));
  const end = () => idle.ended.abort();
  const token = io.machine.randomHex(32);
  const close = isForHttp
    ? await listenForHttp({ port, token, argv: listOptions(command) }, handle)
    : await listenForRelays(io, handle, end);
  const ended = [idle.ended.signal, io.machine.listenForEnd()];
  if (words.length > 0) return void process.exit(await idle.during(runAgent(words, token)).finally(close));
  if (isForHttp) await publishToken(command, port, token);
  const signal = AbortSignal.any(isForHttp ? ended.slice(1) : ended);
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve());
  });
  await close();
}

/** Publishes the token for a service that the user's session starts: the agent's environment takes it from there. */
async function publishToken({ io }: Command, port: number, token: string): Promise<void> {
  const file = `${io.machine.home}/.countersign/run/token-${port}`;
  await io.machine.writeFile(file, `${token}\n`, { file: 0o600, folder: 0o700 });
  io.tell(`Listening on 127.0.0.1:${port}. Start the agent with ${tokenVariable}="$(cat ${file})"\n`);
}

/** Starts the agent, whose environment alone has the token. */
function runAgent([program = "", ...args]: readonly string[], token: string): Promise<number> {
  return new Promise((resolve, reject) => {
    // biome-ignore lint/style/noProcessEnv: a program of its own, without the service's settings
    const env = { ...process.env, [tokenVariable]: token };
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
      process.on(signal, () => child.kill(signal));
    const child = spawn(program, args, { stdio: "inherit", env });
    child.on("error", (error) => reject(new UsageError(`${program}: ${error.message}`)));
    child.on("exit", (code) => resolve(code ?? 1));
  });
}

/** The hook's options as they were given, without the helper's. */
function listOptions({ line }: Command): string[] {
  const valued = Object.entries(line.values).flatMap(([name, values]) =>
    name === "port" || name === "idle" ? [] : values.map((value) => `--${name}=${value}`),
  );
  return [...valued, ...[...line.flags].filter((flag) => flag !== "json").map((flag) => `--${flag}`)];
}

/**
 * `fetch` on Node's older client: loading Node's own takes half as long as a start of Node, and a request of it the time of
 * almost two. Connections stay open all the same.
 */
export function fetchLightly(url: string, init: RequestInit = {}): Promise<Response> {
  const { method = "GET", headers, body, signal } = init;
  const start = url.startsWith("https:") ? https.request : http.request;
  return new Promise((resolve, reject) => {
    const sent = start(
      url,
      {
        method,
        headers: { "user-agent": "node", ...(headers as Record<string, string>) },
        signal: signal ?? undefined,
      },
      (answered) => {
        const { statusCode: status = 0 } = answered;
        const parts = answered[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
        const response = {
          status,
          ok: status >= 200 && status < 300,
          headers: { get: (name: string) => answered.headers[name]?.toString() ?? null },
          body: {
            getReader: () => ({
              read: () => parts.next(),
              cancel: async () => void answered.destroy(),
            }),
          },
        };
        resolve(response as unknown as Response);
      },
    );
    sent.on("error", (cause) => reject(new TypeError("fetch failed", { cause })));
    sent.end(body as string | undefined);
  });
}
