/**
 * Several connections of a driver to a server that has one session (PGlite). Each gets the session with its first
 * message and keeps it until the server is ready for another query outside of a transaction (PostgreSQL's manual,
 * 54.2: ReadyForQuery); the others wait. What belongs to a session is everybody's: settings, LISTEN, and prepared
 * statements, which have names that the driver draws at random.
 */
import { EventEmitter } from "node:events";
import type postgres from "postgres";
import { isUnreachable, OVERDUE } from "./failures";

/** Takes whole messages of a client and answers with whole messages of the server. */
export type Exchange = (messages: Uint8Array) => Promise<Uint8Array>;

const letter = (name: string) => name.charCodeAt(0);
const query = letter("Q");
const sync = letter("S");
const terminate = letter("X");
const readyForQuery = letter("Z");
const notification = letter("A");
const idle = letter("I");

/** Sync and the simple query ROLLBACK, for a connection that went away in the midst of something. */
const giveUp = Buffer.from("S\x00\x00\x00\x04Q\x00\x00\x00\x0dROLLBACK\x00", "latin1");

function forEachMessage(bytes: Buffer, visit: (type: number, start: number, end: number) => void): void {
  for (let start = 0, end: number; start < bytes.length; start = end) {
    end = start + 1 + bytes.readUInt32BE(start + 1);
    visit(bytes[start] as number, start, end);
  }
}

class SessionSocket extends EventEmitter {
  readyState: "open" | "closed" = "open";
  unsent: Buffer[] = [];
  /** The last message ends a query, so the server will be ready when it has answered. */
  endsQuery = true;
  isInTransaction = false;

  readonly #changed: (socket: SessionSocket) => void;

  constructor(changed: (socket: SessionSocket) => void) {
    super();
    this.#changed = changed;
  }

  get keepsSession(): boolean {
    return this.isInTransaction || !this.endsQuery;
  }

  write(bytes: Buffer): boolean {
    if (bytes[0] === terminate) this.destroy();
    else this.unsent.push(bytes);
    this.#changed(this);
    return true;
  }

  end(bytes: Buffer): void {
    this.write(bytes);
  }

  destroy(error?: Error): void {
    if (this.readyState === "closed") return;
    this.readyState = "closed";
    this.unsent = [];
    this.#changed(this);
    if (error) this.emit("error", error);
    this.emit("close", error !== undefined);
  }
}

export interface SharedSession {
  connect(): EventEmitter;
}

export function shareSession(exchange: Exchange): SharedSession {
  const sockets = new Set<SessionSocket>();
  const line: SessionSocket[] = [];
  let isBusy = false;

  function deliver(socket: SessionSocket, answer: Buffer): void {
    forEachMessage(answer, (type, start, end) => {
      if (type === readyForQuery) socket.isInTransaction = answer[start + 5] !== idle;
      if (type !== notification) return;
      const copy = answer.subarray(start, end);
      for (const other of sockets) if (other !== socket) other.emit("data", copy);
    });
    socket.emit("data", answer);
  }

  async function send(socket: SessionSocket): Promise<void> {
    const messages = socket.unsent.length === 1 ? (socket.unsent[0] as Buffer) : Buffer.concat(socket.unsent);
    socket.unsent = [];
    // The first message of a connection has no type.
    if (messages[0] !== 0)
      forEachMessage(messages, (type) => {
        socket.endsQuery = type === sync || type === query;
      });
    const answer = await exchange(messages);
    deliver(socket, Buffer.from(answer.buffer, answer.byteOffset, answer.length));
  }

  /** Serves the first in the line until none is left, or one keeps the session and has nothing to send yet. */
  async function serveInTurn(): Promise<void> {
    for (let first = line[0]; first !== undefined; first = line[0]) {
      if (first.readyState === "closed") {
        if (first.keepsSession) await exchange(giveUp);
        sockets.delete(first);
        line.shift();
      } else if (first.unsent.length > 0) {
        await send(first);
        if (!first.keepsSession) line.push(line.shift() as SessionSocket);
      } else if (first.keepsSession) {
        return;
      } else {
        line.shift();
      }
    }
  }

  async function serve(): Promise<void> {
    isBusy = true;
    try {
      await serveInTurn();
    } catch (cause) {
      const error = new Error("the embedded database has ended", { cause });
      for (const socket of sockets) socket.destroy(Object.assign(error, { code: "CONNECTION_CLOSED" }));
      sockets.clear();
      line.length = 0;
    } finally {
      isBusy = false;
    }
  }

  function changed(socket: SessionSocket): void {
    if (!line.includes(socket)) line.push(socket);
    if (!isBusy) void serve();
  }

  return {
    connect: () => {
      const socket = new SessionSocket(changed);
      sockets.add(socket);
      return socket;
    },
  };
}

/*
 * The statements and transactions of a client that wait for an answer. The driver has no limit for how long: it sends
 * statements one behind the other on a connection, and each may wait for a lock until the server ends it. So a request that
 * waits for too long gets an error, while the statement itself may still run.
 */

interface Waiting {
  sinceMs: number;
  /** A transaction that has its connection: from here on the server's own limits hold. */
  isStarted: boolean;
  isOverdue: boolean;
  /** Null once it was called, or if the wait has no limit. */
  giveUp: (() => void) | null;
}

export interface WaitingList {
  follow(client: postgres.Sql): postgres.Sql;
  /** Time at which the oldest waiting query was sent; null if none waits. */
  oldestMs(): number | null;
  giveUpSince(ms: number): void;
  wasReachableSince(ms: number): boolean;
}

const overdue = () =>
  Object.assign(new Error("the database does not answer this statement in time"), { code: OVERDUE });

export function createWaitingList(now: () => number): WaitingList {
  const waiting = new Set<Waiting>();
  let failedMs = Number.NEGATIVE_INFINITY;

  function limit<T>(one: Waiting, answer: Promise<T>): Promise<T> {
    waiting.add(one);
    return new Promise((resolve, reject) => {
      one.giveUp = () => {
        one.giveUp = null;
        one.isOverdue = true;
        failedMs = now();
        reject(overdue());
      };
      answer.then(
        (value) => {
          waiting.delete(one);
          resolve(value);
        },
        (error: unknown) => {
          waiting.delete(one);
          if (isUnreachable(error)) failedMs = now();
          reject(error);
        },
      );
    });
  }

  const begin = (): Waiting => ({ sinceMs: now(), isStarted: false, isOverdue: false, giveUp: null });

  type Send = (...settle: Parameters<Promise<unknown>["then"]>) => Promise<unknown>;

  /** The driver sends a statement when it is first awaited. */
  function answerBy<Query extends Promise<unknown>>(
    query: Query,
    ask: (send: Send) => Promise<unknown>,
  ): Query {
    const send = query.then.bind(query) as Send;
    let answer: Promise<unknown> | null = null;
    const then: Send = (...settle) => {
      answer ??= ask(send);
      return answer.then(...settle);
    };
    return Object.assign(query, { then });
  }

  const followStatement = <Query extends Promise<unknown>>(query: Query): Query =>
    answerBy(query, (send) => limit(begin(), new Promise((resolve, reject) => void send(resolve, reject))));

  /** Calls `act` once the first statement was answered: what it throws is that answer. */
  function onFirstAnswer(tx: postgres.TransactionSql, act: () => void): postgres.TransactionSql {
    let isFirst = true;
    const unsafe: typeof tx.unsafe = (...given) => {
      const query = tx.unsafe(...given);
      if (!isFirst) return query as never;
      isFirst = false;
      const noted = answerBy(query, (send) =>
        send((value) => {
          act();
          return value;
        }),
      );
      return noted as never;
    };
    return new Proxy(tx, {
      get: (target, name, receiver) => (name === "unsafe" ? unsafe : Reflect.get(target, name, receiver)),
    });
  }

  type Work = (tx: postgres.TransactionSql) => unknown;
  /** A pipelined one is sent before it has its turn. */
  function followTransaction(client: postgres.Sql, name: "begin" | "beginPipelined", given: unknown[]) {
    const one = begin();
    const work = given.pop() as Work;
    const note = () => {
      if (one.isOverdue) throw overdue();
      one.isStarted = true;
    };
    const start: Work = (tx) => {
      if (name === "beginPipelined") return work(onFirstAnswer(tx, note));
      note();
      return work(tx);
    };
    return limit(one, client[name](...(given as [string]), start));
  }

  return {
    follow: (client) =>
      new Proxy(client, {
        get(target, name, receiver) {
          if (name === "unsafe")
            return (...given: Parameters<postgres.Sql["unsafe"]>) => followStatement(target.unsafe(...given));
          if (name === "begin" || name === "beginPipelined")
            return (...given: unknown[]) => followTransaction(target, name, given);
          return Reflect.get(target, name, receiver);
        },
      }),
    oldestMs: () => {
      for (const { sinceMs } of waiting) return sinceMs;
      return null;
    },
    giveUpSince: (ms) => {
      for (const one of waiting) {
        if (one.sinceMs > ms) break;
        if (!one.isStarted) one.giveUp?.();
      }
    },
    wasReachableSince: (ms) => failedMs < ms,
  };
}
