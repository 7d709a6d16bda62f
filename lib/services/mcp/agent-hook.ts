/**
 * POST /v1/hook: a coding agent's hook of type `http` comes to the service itself, with no program of ours between. It is what
 * `countersign hook` does, over the operations as the caller may call them, by a machine that keeps nothing.
 */

import { type Call, readBytes } from "#lib/api/http/pipeline";
import type { HttpRequest } from "#lib/api/http/problem";
import { toResponse } from "#lib/api/http/problem";
import { rememberPeer } from "#lib/api/http/rate-limit";
import type { HookQuery } from "#lib/api/schemas/mcp";
import { hookSpec } from "#lib/client/cli/hook";
import type { ClientIo, Machine } from "#lib/client/cli/io";
import { runSpec } from "#lib/client/cli/spec";
import { agents, listEvents } from "#lib/client/hook/agents";
import { readDialectName } from "#lib/client/hook/dialects";
import { utf8Encode } from "#lib/protocol/encoding/bytes";
import type { Context } from "#lib/services/approvals/context";
import type { AnswerAsked } from "./tools";

/** An event comes with its tool's output. */
const maxEventBytes = 1024 * 1024;
/** Proxies cut an answer that says nothing for a minute; JSON may begin with spaces. */
const breathMs = 15_000;

type HookCall = Call<null, HookQuery, Context, "key">;

const toOption = ([name, value]: [string, string | undefined]) =>
  value === undefined ? [] : [`--${name.replaceAll("_", "-")}=${value}`];

/** Patterns stand between commas, which may be in brackets too. */
const splitPatterns = (text = "") => text.split(/,(?![^(]*\))/).filter((pattern) => pattern !== "");

function toArguments({ ask, record, before, is_public, ...options }: HookQuery): string[] {
  return [
    ...Object.entries(options).flatMap(toOption),
    ...splitPatterns(ask).map((pattern) => `--ask=${pattern}`),
    ...(record === "*" ? ["--record"] : splitPatterns(record).map((pattern) => `--record=${pattern}`)),
    ...(before === "true" ? ["--before"] : []),
    ...(is_public === undefined ? [] : [is_public === "true" ? "--public" : "--private"]),
  ];
}

const refuse = () => Promise.reject(new Error("the service has no files for a hook"));

const nowhere = (gone: AbortSignal) =>
  ({
    programPath: undefined,
    home: "",
    workingFolders: [],
    readVariable: () => undefined,
    absolute: (path: string) => path,
    isInside: async () => false,
    writeFile: refuse,
    listFiles: async () => [],
    listNames: async () => [],
    readOwner: async () => null,
    remove: async () => undefined,
    openTerminal: async () => null,
    listenForEnd: () => gone,
  }) satisfies Partial<Machine> as unknown as Machine;

/** Requests of the hook, answered by this process. */
const fetchHere =
  (answer: AnswerAsked, ip: string): typeof fetch =>
  async (url, { method = "GET", headers, body, signal } = {}) => {
    const asked: HttpRequest = {
      method,
      url: String(url),
      headers: new Headers(headers),
      body: body === undefined || body === null ? null : new Blob([body as string]).stream(),
    };
    rememberPeer(asked, ip.replace(/\/64$/, ""));
    const over = new Promise<never>((_, reject) => {
      signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
    });
    signal?.throwIfAborted();
    return toResponse(await Promise.race([answer(asked), over]));
  };

async function runHook(
  { query, request, ip }: HookCall,
  answer: AnswerAsked,
  stdin: Uint8Array,
  gone: AbortSignal,
): Promise<{ code: number; out: string; err: string }> {
  const said = { out: "", err: "" };
  const io = {
    fetch: fetchHere(answer, ip),
    readFile: refuse,
    isFile: async () => false,
    writeFile: refuse,
    readStdin: async () => stdin,
    print: (text: string) => {
      said.out += text;
    },
    tell: (text: string) => {
      said.err += text;
    },
    apiKey: /^Bearer +(\S+)/i.exec(request.headers.get("authorization") ?? "")?.[1],
    serviceUrl: "http://localhost",
    runtime: undefined,
    machine: nowhere(gone),
    hookPrograms: {},
    inBackground: undefined,
    keepsNothing: true,
  } satisfies Partial<ClientIo> as unknown as ClientIo;
  return { code: await runSpec(io, hookSpec, toArguments(query)), ...said };
}

/** A status blocks nothing: the answer has to say no itself. */
function writeAnswer(
  { dialect, event }: HookQuery,
  stdin: Uint8Array,
  ended: Awaited<ReturnType<typeof runHook>>,
): string {
  if (ended.code === 0) return ended.out.trim() || "{}";
  const reason = ended.err.trim() || "countersign: this hook failed.";
  const agent = agents[readKnownDialect(dialect)];
  const [, ...later] = listEvents(agent);
  const isOver = later.includes(event ?? readName(stdin, agent.members.event));
  const failure = isOver ? agent.note?.(reason) : agent.answer({ permission: "deny", reason });
  return JSON.stringify(failure ?? {});
}

function readKnownDialect(name: string | undefined) {
  try {
    return readDialectName(name);
  } catch {
    return "claude";
  }
}

function readName(stdin: Uint8Array, member: string | null): string {
  try {
    return String(JSON.parse(new TextDecoder().decode(stdin))[member ?? ""]);
  } catch {
    return "";
  }
}

export async function answerHook(call: HookCall, answer: AnswerAsked): Promise<Response> {
  const stdin = await readBytes(call.request, maxEventBytes);
  const gone = new AbortController();
  let breath: NodeJS.Timeout;
  const fail = (error: unknown) => {
    call.context.logger.error({ err: error }, "an event of an agent's hook failed");
    return { code: 1, out: "", err: "" };
  };
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      breath = setInterval(() => controller.enqueue(utf8Encode(" ")), breathMs);
      void runHook(call, answer, stdin, gone.signal)
        .catch(fail)
        .then((ended) => {
          clearInterval(breath);
          if (gone.signal.aborted) return;
          controller.enqueue(utf8Encode(writeAnswer(call.query, stdin, ended)));
          controller.close();
        })
        // Half an answer blocks a call, as the agent's settings say.
        .catch((error: unknown) => controller.error(error));
    },
    // Keeps people from approving a call that can't run any more.
    cancel() {
      clearInterval(breath);
      gone.abort(new Error("Ended before a human decided."));
    },
  });
  return new Response(body, { headers: { "content-type": "application/json", "cache-control": "no-store" } });
}
