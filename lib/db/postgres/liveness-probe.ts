/**
 * Notices a database host that is gone without having closed its connections (a cut cable, a dead machine, a firewall
 * that forgot them). The kernel would send again for a quarter of an hour, and Node has no TCP_USER_TIMEOUT (RFC 5482).
 *
 * A statement that waits may wait for a lock. So the host is asked on a connection of its own, by SSLRequest, which a
 * server answers before anything else, and only if it doesn't answer are its silent connections cut: their statements
 * fail as those of any connection that breaks.
 */
import { connect, Socket } from "node:net";
import { createWaitingList, type WaitingList } from "./multiplexed-session";

export interface HostWatch {
  socket(to: { host: string[]; port: number[]; path?: string | false }): Socket;
  follow: WaitingList["follow"];
  /** Seconds until a connection is tried again after so many failures. */
  backoff(failures: number): number;
  wasReachableSince: WaitingList["wasReachableSince"];
  close(): void;
}

export interface WatchTimes {
  /** Milliseconds without a byte, while a statement waits, after which the host is probed. */
  silentMs: number;
  /** Milliseconds that the host has to answer. */
  answerMs: number;
  /** Silent for longer than any statement may take: cut, even if the host answers others. */
  longestMs: number;
  /** A caller that waits for a turn or an answer for longer gets an error. */
  overdueMs: number;
}

interface Watched {
  socket: Socket;
  host: string;
  port: number;
  bytes: number;
  heardMs: number;
}

/** PostgreSQL's SSLRequest: its length and a code. The answer is one byte. */
const sslRequest = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);

/** The kernel's errors for a host that can't be found. A host that refuses is there. */
const unreachable = new Set(["EHOSTUNREACH", "ENETUNREACH", "ETIMEDOUT"]);

/**
 * Sends a host an SSLRequest: a PostgreSQL or its pooler answers S or N; `closed` without a byte, `silent`, or the code
 * of the error.
 */
export function probeHost(
  host: string,
  port: number,
  answerMs: number,
): Promise<"postgres" | "other" | "closed" | "silent" | (string & {})> {
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    const finish = (answer: string) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(answer);
    };
    // An answer that came while this process was busy is read before it is judged.
    const timer = setTimeout(() => setImmediate(finish, "silent"), answerMs);
    socket.on("connect", () => socket.write(sslRequest));
    socket.on("data", (bytes) => finish(/^[SN]$/.test(bytes.toString("latin1")) ? "postgres" : "other"));
    socket.on("error", ({ code = "" }: NodeJS.ErrnoException) => finish(code));
    socket.on("close", () => finish("closed"));
  });
}

async function isHostThere(host: string, port: number, answerMs: number): Promise<boolean> {
  const answer = await probeHost(host, port, answerMs);
  return answer !== "silent" && !unreachable.has(answer);
}

/**
 * Milliseconds between tries of a host that was gone; other requests fail at once, so that none waits in a queue for nothing.
 */
const tryAgainMs = 1_000;
const lookMs = 500;

const now = () => performance.now();

export function watchHost(times: WatchTimes): HostWatch {
  const sockets = new Set<Watched>();
  const { follow, oldestMs, giveUpSince, wasReachableSince } = createWaitingList(now);
  let isAsking = false;
  let isGone = false;
  let triedMs = 0;
  let turn = 0;

  function listen(): void {
    for (const one of sockets) {
      const { bytesRead, destroyed } = one.socket;
      if (destroyed) sockets.delete(one);
      if (bytesRead === one.bytes) continue;
      one.bytes = bytesRead;
      one.heardMs = now();
      isGone = false;
    }
  }

  function cutSilent(sinceMs: number): void {
    listen();
    for (const one of sockets) if (one.heardMs <= sinceMs) one.socket.destroy();
  }

  async function ask({ host, port }: Watched): Promise<void> {
    isAsking = true;
    const askedMs = now();
    const isThere = await isHostThere(host, port, times.answerMs);
    isAsking = false;
    if (isThere) return;
    isGone = true;
    triedMs = now();
    cutSilent(askedMs);
  }

  function look(): void {
    listen();
    const sinceMs = oldestMs();
    if (sinceMs === null) return;
    const nowMs = now();
    giveUpSince(nowMs - times.overdueMs);
    if (nowMs - sinceMs > times.longestMs) cutSilent(nowMs - times.longestMs);
    if (nowMs - sinceMs < times.silentMs || isAsking || isGone) return;
    const silent = [...sockets].find(({ heardMs }) => nowMs - heardMs >= times.silentMs);
    if (silent !== undefined) void ask(silent);
  }
  const timer = setInterval(look, lookMs).unref();

  function open({ host, port, path }: Parameters<HostWatch["socket"]>[0]): Socket {
    if (path) return connect(path);
    const place = turn % host.length;
    turn += 1;
    const to = { host: host[place] ?? "", port: port[place] ?? 0 };
    const socket = connect({ ...to, keepAlive: true, keepAliveInitialDelay: 10_000 });
    // Can fail before the driver listens, if this process can open no more files: the driver then waits until its time is up.
    socket.on("error", () => {});
    sockets.add({ ...to, socket, bytes: 0, heardMs: now() });
    // The driver takes the name that a certificate must have from here.
    return Object.assign(socket, to);
  }

  /** Fails as one whose time to connect is up, when the driver listens to it. */
  function refuse(): Socket {
    const socket = new Socket();
    const error = Object.assign(new Error("the database's host does not answer"), {
      code: "CONNECT_TIMEOUT",
    });
    setImmediate(() => socket.destroy(error));
    return socket;
  }

  return {
    socket: (to) => {
      if (!isGone || to.host.length > 1 || now() - triedMs >= tryAgainMs) {
        triedMs = now();
        return open(to);
      }
      return refuse();
    },
    follow,
    backoff: (failures) => (isGone ? 0.1 : Math.min(0.05 * 2 ** failures, 1)),
    wasReachableSince,
    close: () => clearInterval(timer),
  };
}
