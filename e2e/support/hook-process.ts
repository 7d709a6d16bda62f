/** For tests only: the hook with an event on standard input, in this process, or as coding agents run it: a process. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { ClientIo } from "#lib/client/cli/io";
import { nodeMachine } from "#lib/client/cli/node-machine";
import { openReceiver } from "#lib/client/cli/node-receiver";
import { runCommand } from "#lib/client/cli/run-command";
import { nodeIo } from "#lib/verifier/cli/node-io";
import { startTestApp, type TestAnswer, type TestApp } from "./app";
import { anyKind } from "./databases";
import { type Listening, listenFor } from "./listen";

export const hookProgram = path.resolve("dist/countersign.mjs");

export interface Ended {
  code: number | null;
  out: string;
  err: string;
}

interface Around {
  /** The agent's working folder. */
  cwd: string;
  env: Record<string, string>;
  program?: string;
  onStart?: (child: ChildProcess) => void;
}

export const runHookProcess = (
  argv: readonly string[],
  stdin: string,
  { cwd, env, program = hookProgram, onStart }: Around,
) =>
  new Promise<Ended>((resolve) => {
    const words = program === hookProgram ? ["hook", ...argv] : argv;
    const child = spawn(process.execPath, [program, ...words], {
      env: { NODE_ENV: "test", ...env },
      cwd,
    });
    onStart?.(child);
    const ended = { out: "", err: "" };
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      ended.out += chunk;
    });
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
      ended.err += chunk;
    });
    child.on("close", (code) => resolve({ code, ...ended }));
    child.stdin.end(stdin);
  });

/** Stands for the process's environment and for what it reaches. */
export interface HookIo {
  env: Record<string, string>;
  fetch?: typeof globalThis.fetch;
  /** Gets what is written to the agent's terminal. */
  terminal?: string[];
  /** Clocks, unless the real ones are used. */
  runtime?: Parameters<typeof runCommand>[1]["runtime"];
}

/** The command line of the client in this process, with the machine's files where `io` has no others. */
export async function runClientHere(argv: readonly string[], io: Partial<ClientIo>): Promise<Ended> {
  const ended = { out: "", err: "" };
  const code = await runCommand([...argv], {
    ...nodeIo,
    openReceiver,
    machine: nodeMachine(undefined),
    apiKey: undefined,
    serviceUrl: undefined,
    runtime: undefined,
    print: (text) => {
      ended.out += text;
    },
    tell: (text) => {
      ended.err += text;
    },
    inBackground: undefined,
    openMcp: () => Promise.reject(new Error("not here")),
    hookPrograms: {},
    serve: () => Promise.reject(new Error("not here")),
    ...io,
  });
  return { code, ...ended };
}

/** Runs the hook in this process, for tests that need no other. */
export const runHookHere = (
  argv: readonly string[],
  stdin: string,
  { env, fetch = globalThis.fetch, terminal = [], runtime }: HookIo,
): Promise<Ended> =>
  runClientHere(["hook", ...argv], {
    machine: {
      ...nodeMachine(undefined),
      home: env["HOME"] ?? "",
      readVariable: (name) => env[name],
      listenForEnd: () => new AbortController().signal,
      openTerminal: async () => ({ path: "/dev/pts/0", write: async (text) => void terminal.push(text) }),
    },
    apiKey: env["COUNTERSIGN_API_KEY"] || undefined,
    serviceUrl: env["COUNTERSIGN_URL"],
    fetch,
    readStdin: async () => new Uint8Array(Buffer.from(stdin, "latin1")),
    runtime,
  });

/** An event of Claude Code. */
const claudeEvent = (
  hook_event_name: string,
  call: { cwd: string; tool_use_id: string; tool_input: object },
  more: object = {},
) =>
  JSON.stringify({
    session_id: "session-1",
    transcript_path: "/tmp/transcript.jsonl",
    permission_mode: "default",
    hook_event_name,
    tool_name: "Bash",
    ...call,
    ...more,
  });

export interface HookTest {
  test: TestApp;
  service: Listening;
  key: string;
  /** The agent's working folder. The program is elsewhere. */
  folder: string;
  /** Home of the hook's user. */
  home: string;
  /** Runs in this process. */
  run(argv: readonly string[], stdin: string, env?: Record<string, string>): Promise<Ended>;
  /** Runs in a process of its own. */
  start(
    argv: readonly string[],
    stdin: string,
    env?: Record<string, string>,
    onStart?: Around["onStart"],
  ): Promise<Ended>;
  list(what: "authorizations" | "attestations", agent: string): Promise<TestAnswer["body"]>;
  close(): Promise<void>;
}

/** A service that hooks reach, with a key of the scope that is meant for them. */
export async function startHookTest(): Promise<HookTest> {
  const test = await startTestApp(anyKind, {
    LIMIT_AUTHORIZE_PER_MINUTE: "1000",
    LIMIT_KEYED_PER_MINUTE: "100000",
  });
  const service = await listenFor(test);
  const { key } = await test.createKey();
  const { key: hookKey } = await test.createKey("dev@example.com", ["hook"]);
  const folder = await mkdtemp(path.join(tmpdir(), "countersign-hook-"));
  const home = await mkdtemp(path.join(tmpdir(), "countersign-home-"));
  const around = { COUNTERSIGN_URL: service.base, COUNTERSIGN_API_KEY: hookKey, HOME: home };
  return {
    test,
    service,
    key,
    folder,
    home,
    run: (argv, stdin, env = {}) => runHookHere(argv, stdin, { env: { ...around, ...env } }),
    start: (argv, stdin, env = {}, onStart = () => undefined) =>
      runHookProcess(argv, stdin, { cwd: folder, env: { ...around, ...env }, onStart }),
    list: async (what, agent) =>
      (await test.call("GET", `/v1/${what}?agent_slug=${agent}`, { key })).body[what],
    close: async () => {
      await service.close();
      await test.close();
      await rm(folder, { recursive: true });
      await rm(home, { recursive: true });
    },
  };
}

let calls = 0;

/** A call of its own, by an agent of its own: the hook's arguments, and its events before and after. */
export function newCall(folder: string, command = "git push") {
  calls += 1;
  const agent = `coder-${calls}`;
  const call = { cwd: folder, tool_use_id: `toolu_${calls}` };
  const eventWith = (name: string, more: object, tool_input: object = { command }) =>
    claudeEvent(name, { ...call, tool_input }, more);
  const event = (name: string, tool_input?: object) => {
    // Output of a tool is read leniently.
    const results = name === "PostToolUse" ? { tool_response: { stdout: "ok\ud83d", id: 0 } } : {};
    return eventWith(name, results, tool_input).replace('"id":0', '"id":12345678901234567890,"id":1e999');
  };
  return { agent, argv: ["--agent", agent], before: event("PreToolUse"), event, eventWith };
}

export const answerOf = ({ out }: Ended) => JSON.parse(out);
