/**
 * Calls from one process of this server to another, over a Unix socket in a folder that is its user's alone. On the
 * wire each message is its length and what V8 makes of it, so bytes and dates arrive as such.
 */
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { connect, createServer, type Server, type Socket } from "node:net";
import { deserialize, serialize } from "node:v8";
import { AppError, type ErrorName } from "#lib/errors";
import type { Share } from "#lib/jobs/fair-queue";
import type { ZkPool } from "#lib/jobs/zk-worker-pool";
import type { Context } from "#lib/services/approvals/context";

/** Answers the call of this name; never rejects. */
export type Answering = (name: string, argument: unknown) => Promise<unknown>;

export interface Calls {
  /** Null: the other process isn't there. Rejects with CallLost if the other process ends before it answers. */
  call(name: string, argument: unknown): Promise<unknown> | null;
  close(): void;
}

/** Connection lost: the other process may or may not have done the work. */
class CallLost extends Error {}

interface Message {
  id: number;
  /** Operation of a call; undefined in an answer. */
  name?: string;
  value: unknown;
}

const lengthBytes = 4;
const reconnectMs = 100;

function readMessages(socket: Socket, onMessage: (message: Message) => void): void {
  let held: Buffer = Buffer.alloc(0);
  socket.on("data", (chunk: Buffer) => {
    held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
    let start = 0;
    while (held.length >= start + lengthBytes) {
      const end = start + lengthBytes + held.readUInt32LE(start);
      if (held.length < end) break;
      onMessage(deserialize(held.subarray(start + lengthBytes, end)) as Message);
      start = end;
    }
    held = held.subarray(start);
  });
}

const outboxes = new WeakMap<Socket, Buffer[]>();

function flush(socket: Socket, parts: Buffer[]): void {
  outboxes.delete(socket);
  if (socket.writable) socket.write(Buffer.concat(parts));
}

/** Messages of the same turn of the event loop leave in one write. */
function send(socket: Socket, message: Message): void {
  const body = serialize(message);
  const length = Buffer.alloc(lengthBytes);
  length.writeUInt32LE(body.length);
  const waiting = outboxes.get(socket);
  if (waiting !== undefined) {
    waiting.push(length, body);
    return;
  }
  const parts = [length, body];
  outboxes.set(socket, parts);
  setImmediate(flush, socket, parts);
}

/** Replaces the socket that a killed process has left behind. */
export async function listenAt(server: Server, path: string): Promise<void> {
  await rm(path, { force: true });
  // A process of a cluster would else leave listening to the first one.
  server.listen({ path, exclusive: true });
  await once(server, "listening");
}

export async function serveCalls(path: string, answer: Answering): Promise<() => void> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => sockets.delete(socket));
    readMessages(socket, ({ id, name = "", value: argument }) => {
      void answer(name, argument).then((value) => {
        if (socket.writable) send(socket, { id, value });
      });
    });
  });
  await listenAt(server, path);
  return () => {
    server.close();
    for (const socket of sockets) socket.destroy();
  };
}

interface Waiting {
  resolve: (value: unknown) => void;
  reject: (error: Error) => void;
}

/** Resolves when it has tried to connect once; it tries again for as long as it is open. */
export async function openCalls(path: string): Promise<Calls> {
  const waiting = new Map<number, Waiting>();
  let socket: Socket | null = null;
  let isClosed = false;
  let lastId = 0;

  function settle({ id, value }: Message): void {
    waiting.get(id)?.resolve(value);
    waiting.delete(id);
  }

  function lose(): void {
    socket = null;
    for (const { reject } of waiting.values()) reject(new CallLost("the other process has ended"));
    waiting.clear();
    if (!isClosed) setTimeout(() => void open(), reconnectMs).unref();
  }

  async function open(): Promise<void> {
    const opening = connect(path);
    const isOpen = await new Promise<boolean>((resolve) => {
      opening.once("connect", () => resolve(true));
      opening.once("close", () => resolve(false));
      opening.on("error", () => opening.destroy());
    });
    if (!isOpen || opening.destroyed || isClosed) {
      opening.destroy();
      return lose();
    }
    socket = opening;
    opening.once("close", lose);
    readMessages(opening, settle);
  }

  await open();
  return {
    call: (name, value) => {
      if (socket === null || !socket.writable) return null;
      const id = ++lastId;
      const to = socket;
      return new Promise((resolve, reject) => {
        waiting.set(id, { resolve, reject });
        send(to, { id, name, value });
      });
    },
    close: () => {
      isClosed = true;
      socket?.destroy();
    },
  };
}

/*
 * Costly proofs run in the writer, which alone has threads for them, because their limits are in memory. Without a
 * writer each process runs its own.
 */

/** An error on its way to another process. */
type Failure =
  | { kind: "app"; name: ErrorName; detail: string; options: Pick<AppError, "errors" | "headers"> }
  | { kind: "other"; message: string };

type Outcome = { value: unknown; failure: null } | { failure: Failure };

interface Job {
  name: string;
  input: unknown;
  share: Share;
  isRemembered: boolean;
}

function describeFailure(error: unknown): Failure {
  if (!(error instanceof AppError)) return { kind: "other", message: String(error) };
  const { errorName, detail, errors, headers } = error;
  return { kind: "app", name: errorName, detail, options: { errors, headers } };
}

function restoreError(failure: Failure): Error {
  if (failure.kind === "other") return new Error(`in the writing process: ${failure.message}`);
  const { errors, headers } = failure.options;
  return new AppError(failure.name, failure.detail, { headers, ...(errors && { errors }) });
}

type AnyRun = (name: string, input: unknown, share: Share) => Promise<unknown>;

/** Called in the writer. */
export function createAnswers({ pool }: Pick<Context, "pool">): Answering {
  return async (_, argument): Promise<Outcome> => {
    const { name, input, share, isRemembered } = argument as Job;
    const run = (isRemembered ? pool.runRemembered : pool.run) as AnyRun;
    try {
      return { value: await run(name, input, share), failure: null };
    } catch (error) {
      return { failure: describeFailure(error) };
    }
  };
}

/** Jobs change nothing, so one whose writer has ended is done here. */
export function workRemotely(own: ZkPool, writer: Calls): ZkPool {
  const choose = (isRemembered: boolean): AnyRun => {
    const runHere = (isRemembered ? own.runRemembered : own.run) as AnyRun;
    return async (name, input, share) => {
      try {
        const answering = writer.call("job", { name, input, share, isRemembered } satisfies Job);
        if (answering === null) return await runHere(name, input, share);
        const outcome = (await answering) as Outcome;
        if (outcome.failure !== null) throw restoreError(outcome.failure);
        return outcome.value;
      } catch (error) {
        if (error instanceof CallLost) return runHere(name, input, share);
        throw error;
      }
    };
  };
  return {
    ...own,
    run: choose(false) as ZkPool["run"],
    runRemembered: choose(true) as ZkPool["runRemembered"],
  };
}
