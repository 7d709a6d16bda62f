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
import {
  type LogEntry,
  type LogEntryKind,
  type Placed,
  reloadKeys,
  SigningKeyChanged,
  StaleInputs,
} from "#lib/log/sequencer/entry";
import type { LogSequencer } from "#lib/log/sequencer/sequencer";
import type { Context } from "#lib/services/approvals/context";
import {
  type AttestationFacts,
  type AttestationItem,
  attestationKind,
  createEntry,
  serializeEntry,
} from "#lib/services/attestations/store";

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

/** In the place of a process that was killed and has left its socket behind. */
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
 * Delegates work of this server's other processes to the writer. It alone appends to the log, because processes that
 * move the log's head in turns slow each other down; and it alone has the threads for costly proofs, whose limits are
 * in memory. It alone appends to the log, because processes that move the log's head in turns slow each other down; and
 * it alone has the threads for costly proofs, whose limits are in memory. The others put attestations together, and the
 * writer signs them in their places. Without a writer they do both: the log's sequencer is correct in any number of
 * processes.
 */

/** An error on its way to another process, as far as somebody there asks about it. */
type Failure =
  | { kind: "signing key changed" | "outdated" }
  | { kind: "app"; name: ErrorName; detail: string; options: Pick<AppError, "errors" | "headers"> }
  | { kind: "other"; message: string };

type Outcome<Value> = { value: Value; failure: null } | { failure: Failure };
type Appended = Outcome<Omit<Placed<AttestationItem>, "item"> & Pick<AttestationItem, "agentId" | "zk">> & {
  isStale: boolean;
};

interface Job {
  name: string;
  input: unknown;
  share: Share;
  isRemembered: boolean;
}

function describeFailure(error: unknown): Failure {
  if (error instanceof SigningKeyChanged) return { kind: "signing key changed" };
  if (error instanceof StaleInputs) return { kind: "outdated" };
  if (error instanceof AppError) {
    const { errorName, detail, errors, headers } = error;
    return { kind: "app", name: errorName, detail, options: { errors, headers } };
  }
  return { kind: "other", message: String(error) };
}

function restoreError(failure: Failure): Error {
  switch (failure.kind) {
    case "signing key changed":
      return new SigningKeyChanged();
    case "outdated":
      return new StaleInputs();
    case "app": {
      const { errors, headers } = failure.options;
      return new AppError(failure.name, failure.detail, { headers, ...(errors && { errors }) });
    }
    case "other":
      return new Error(`in the writing process: ${failure.message}`);
  }
}

async function settle<Value>(work: Promise<Value>): Promise<Outcome<Value>> {
  try {
    return { value: await work, failure: null };
  } catch (error) {
    return { failure: describeFailure(error) };
  }
}

async function append(context: Context, facts: AttestationFacts): Promise<Appended> {
  let isStale = false;
  const submit = async () => {
    const item = await createEntry(context, facts);
    const { forget } = item;
    item.forget = () => {
      isStale = true;
      forget?.();
    };
    const { item: stored, ...placed } = await context.log.submit(attestationKind, item);
    return { ...placed, agentId: stored.agentId, zk: stored.zk };
  };
  const outcome = await settle(
    submit().catch(async (error: unknown) => {
      // The key of the log or of this process may be the one that has changed, which is for it alone to notice.
      if (error instanceof SigningKeyChanged) await reloadKeys(context);
      throw error;
    }),
  );
  return { ...outcome, isStale };
}

type AnyRun = (name: string, input: unknown, share: Share) => Promise<unknown>;

export function createAnswers(context: Context): Answering {
  const run = (job: Job) => {
    const work = (job.isRemembered ? context.pool.runRemembered : context.pool.run) as AnyRun;
    return settle(work(job.name, job.input, job.share));
  };
  return (name, argument) =>
    name === "append" ? append(context, argument as AttestationFacts) : run(argument as Job);
}

const notKnown = (cause: unknown) =>
  new AppError(
    "service_unavailable",
    "a process of this server ended, so this may or may not have been recorded; send it again with the same Idempotency-Key to record it once",
    { cause },
  );

async function appendThere(
  item: AttestationItem,
  answering: Promise<unknown>,
): Promise<Placed<AttestationItem>> {
  const answer = (await answering.catch((cause: unknown) => {
    throw notKnown(cause);
  })) as Appended;
  if (answer.isStale) item.forget?.();
  if (answer.failure !== null) throw restoreError(answer.failure);
  const { agentId, zk, ...placed } = answer.value;
  return { ...placed, item: { ...item, agentId, zk } };
}

/** Attestations go to the writer; other items are rare, and appended here. */
export function appendRemotely(own: LogSequencer, writer: Calls): LogSequencer {
  return {
    ...own,
    submit: <Item extends LogEntry>(kind: LogEntryKind<Item>, item: Item) => {
      // Next's bundle has a second copy of every kind.
      if (kind.kind !== attestationKind.kind) return own.submit(kind, item);
      const attestation = item as unknown as AttestationItem;
      const answering = writer.call("append", serializeEntry(attestation));
      return answering === null
        ? own.submit(kind, item)
        : (appendThere(attestation, answering) as unknown as Promise<Placed<Item>>);
    },
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
        const outcome = (await answering) as Outcome<unknown>;
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
