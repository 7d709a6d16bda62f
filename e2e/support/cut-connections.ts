/** A wire to PostgreSQL that tests can cut: at once, or around one statement. */
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/**
 * Before the database gets the statement; before it gets the COMMIT behind it, if the statement is in a transaction; when
 * it says that it has committed, and nobody has heard that yet.
 */
export type Moment = "asked" | "committing" | "committed";

interface Awaited {
  moment: Moment;
  text: string;
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
  mend(): void;
  /** Cuts the connection that asks the next statement with this text in it; resolves when that has happened. */
  cutAt(moment: Moment, text: string, meanwhile?: () => void): Promise<void>;
  close(): Promise<void>;
}

/** ReadyForQuery with the status "idle". */
const readyOutsideTransaction = Buffer.from("Z\0\0\0\x05I");

export async function layWire(databaseUrl: string): Promise<Wire> {
  let target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  let isCut = false;
  let isStalled = false;
  let awaited: Awaited | null = null;
  let asking: Socket | null = null;
  let isDone = false;

  /** Whether this was the moment; both ends are cut then. */
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
    // CommandComplete of a statement that answers with one row.
    isDone ||= answer.includes("SELECT 1\0");
    const isCommitted = isDone && answer.includes(readyOutsideTransaction);
    return isCommitted && (isCutAt("committed", near, far) || isCutAt("committing", near, far));
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
        near.destroy();
        far.destroy();
      });
    }
    if (isStalled) near.pause();
    near.on("data", (chunk) => {
      if (awaited !== null && chunk.includes(awaited.text)) {
        asking = near;
        isDone = false;
      }
      const isCommit = isDone && /commit/i.test(chunk.toString("latin1"));
      if (!isCutAt("asked", near, far) && !(isCommit && isCutAt("committing", near, far))) far.write(chunk);
    });
    far.on("data", (chunk) => {
      if (!isAnswerCut(chunk, near, far)) near.write(chunk);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = new URL(databaseUrl);
  url.hostname = "127.0.0.1";
  url.port = String((server.address() as AddressInfo).port);
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
    stall: () => {
      isStalled = true;
      for (const socket of sockets) socket.pause();
    },
    mend: () => {
      isCut = false;
      isStalled = false;
      for (const socket of sockets) socket.resume();
    },
    cutAt: (moment, text, meanwhile = () => {}) =>
      new Promise((resolve) => {
        asking = null;
        isDone = false;
        const cut = () => {
          meanwhile();
          resolve();
        };
        awaited = { moment, text, cut };
      }),
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
}
