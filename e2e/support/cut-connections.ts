/** A wire to PostgreSQL that tests can cut: at once, or when the database says that it has done what it was asked. */
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export interface Wire {
  /** The database's address through the wire. */
  url: string;
  cut(): void;
  /** Connections stay, and nothing comes through, until it is mended. */
  stall(): void;
  mend(): void;
  /** Loses the answer to the next statement with this text in it, and its connection; resolves when that has happened. */
  loseAnswerTo(text: string): Promise<void>;
  close(): Promise<void>;
}

export async function layWire(databaseUrl: string): Promise<Wire> {
  const target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  let isCut = false;
  let isStalled = false;
  let awaited: { text: string; done: () => void } | null = null;
  let asking: Socket | null = null;

  /** Whether this answer of the database was to be lost; both ends are cut then. */
  function isLost(answer: Buffer, near: Socket, far: Socket): boolean {
    // CommandComplete of the statement, which is its own transaction; then it is committed.
    if (awaited === null || asking !== near || !answer.includes("SELECT 1\0")) return false;
    const { done } = awaited;
    awaited = null;
    near.destroy();
    far.destroy();
    done();
    return true;
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
      if (awaited !== null && chunk.includes(awaited.text)) asking = near;
      far.write(chunk);
    });
    far.on("data", (chunk) => {
      if (!isLost(chunk, near, far)) near.write(chunk);
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
    stall: () => {
      isStalled = true;
      for (const socket of sockets) socket.pause();
    },
    mend: () => {
      isCut = false;
      isStalled = false;
      for (const socket of sockets) socket.resume();
    },
    loseAnswerTo: (text) =>
      new Promise((done) => {
        awaited = { text, done };
      }),
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
}
