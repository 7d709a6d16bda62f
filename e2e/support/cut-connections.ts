/** A wire to PostgreSQL, or another server, that tests can cut, slow down or stop: at once, or around one statement. */
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/**
 * Points of failure: before the database gets the statement; before it gets the COMMIT behind it, if the statement is in a
 * transaction; after it reports the commit, before anybody hears that.
 */
export type Moment = "asked" | "committing" | "committed";

interface Awaited {
  moment: Moment;
  part: string | Uint8Array;
  cut: () => void;
}

export interface Wire {
  /** The database's address through the wire. */
  url: string;
  cut(): void;
  /** Cuts all connections; those that come are led to another server. */
  leadTo(databaseUrl: string): void;
  /** Connections stay, and nothing comes through, until it is mended. */
  stall(): void;
  /** Stalls in the middle of the next answer. */
  stallMidAnswer(): void;
  /** Delays each direction until it is mended. */
  delay(ms: number): void;
  mend(): Promise<void>;
  /** Cuts the connection that asks the next statement with this in it; resolves when that has happened. */
  cutAt(moment: Moment, part: string | Uint8Array, meanwhile?: () => void): Promise<void>;
  close(): Promise<void>;
}

/** ReadyForQuery with the status "idle". */
const readyOutsideTransaction = Buffer.from("Z\0\0\0\x05I");

export async function layWire(databaseUrl: string): Promise<Wire> {
  let target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  let isCut = false;
  let isStalled = false;
  let isStallingNext = false;
  let delayMs = 0;
  const passing = new Map<Socket, Promise<void>>();
  const held: (() => void)[] = [];
  let awaited: Awaited | null = null;
  let asking: Socket | null = null;
  let isDone = false;

  /** True if this was the moment; both ends are cut then. */
  function isCutAt(moment: Moment, near: Socket, far: Socket): boolean {
    if (awaited?.moment !== moment || asking !== near) return false;
    const { cut } = awaited;
    awaited = null;
    cut();
    near.destroy();
    far.destroy();
    return true;
  }

  function isAnswerCut(answer: Buffer, near: Socket, far: Socket): boolean {
    if (asking !== near) return false;
    // CommandComplete of a statement that answers with one row, or inserts one.
    isDone ||= answer.includes("SELECT 1\0") || answer.includes("INSERT 0 1\0");
    const isCommitted = isDone && answer.includes(readyOutsideTransaction);
    return isCommitted && (isCutAt("committed", near, far) || isCutAt("committing", near, far));
  }

  function stall(): void {
    isStalled = true;
    for (const socket of sockets) socket.pause();
  }

  /** Keeps the order of arrival, even if the delay has become shorter. */
  function pass(bytes: Buffer, to: Socket): void {
    const dueMs = performance.now() + delayMs;
    const before = passing.get(to);
    if (delayMs === 0 && before === undefined) {
      to.write(bytes);
      return;
    }
    const passed = (before ?? Promise.resolve())
      .then(() => sleep(Math.max(0, dueMs - performance.now())))
      .then(() => void (to.writable && to.write(bytes)));
    passing.set(to, passed);
    void passed.then(() => passing.get(to) === passed && passing.delete(to));
  }

  function passAnswer(bytes: Buffer, near: Socket): void {
    if (!isStallingNext) {
      pass(bytes, near);
      return;
    }
    isStallingNext = false;
    const half = bytes.length >> 1;
    pass(bytes.subarray(0, half), near);
    stall();
    held.push(() => void (near.writable && near.write(bytes.subarray(half))));
  }

  const server = createServer((near) => {
    if (isCut) {
      near.destroy();
      return;
    }
    const far = connect(Number(target.port), target.hostname);
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        sockets.delete(socket);
        const end = () => {
          near.destroy();
          far.destroy();
        };
        // Bytes on their way arrive first.
        const onItsWay = passing.get(socket === near ? far : near);
        if (onItsWay === undefined) end();
        else void onItsWay.then(end);
      });
    }
    if (isStalled) near.pause();
    near.on("data", (chunk) => {
      if (awaited !== null && chunk.includes(Buffer.from(awaited.part))) {
        asking = near;
        isDone = false;
      }
      const isCommit = isDone && /commit/i.test(chunk.toString("latin1"));
      if (!isCutAt("asked", near, far) && !(isCommit && isCutAt("committing", near, far))) pass(chunk, far);
    });
    far.on("data", (chunk) => {
      if (!isAnswerCut(chunk, near, far)) passAnswer(chunk, near);
    });
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const url = new URL(databaseUrl);
  url.hostname = "127.0.0.1";
  url.port = String(port);
  return {
    url: url.href,
    cut: () => {
      isCut = true;
      for (const socket of sockets) socket.destroy();
    },
    leadTo: (otherUrl) => {
      target = new URL(otherUrl);
      for (const socket of sockets) socket.destroy();
    },
    stall,
    stallMidAnswer: () => {
      isStallingNext = true;
    },
    delay: (ms) => {
      delayMs = ms;
    },
    mend: async () => {
      isCut = false;
      isStalled = false;
      isStallingNext = false;
      delayMs = 0;
      for (const write of held.splice(0)) write();
      for (const socket of sockets) socket.resume();
    },
    cutAt: (moment, part, meanwhile = () => {}) =>
      new Promise((resolve) => {
        asking = null;
        isDone = false;
        const cut = () => {
          meanwhile();
          resolve();
        };
        awaited = { moment, part, cut };
      }),
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
}
