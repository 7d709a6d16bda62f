/**
 * The first of several processes: it starts the others, replaces one that ends, and stops them. It answers nothing
 * itself; connections are shared out between the API's processes by node:cluster.
 */
import cluster, { type Worker } from "node:cluster";
import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { graceMs, untilStop } from "#lib/api/http/listen";
import type { Env } from "#lib/env";
import { logger } from "#lib/logger";
import { type Member, serveMetrics } from "#lib/server/telemetry/open";
import { openCalls } from "./ipc";

/*
 * Connections that no process of a server will take. node:cluster passes a connection on to a worker and waits for a word
 * that it was accepted. If the worker is killed in between, no process would ever close it. If the worker takes no more,
 * because it stops, cluster keeps the connection for another one, also when all stop. In both cases its client would
 * wait. Node.js has no public way to know, so this follows cluster's own messages (lib/internal/cluster in Node.js 20 to
 * 24).
 */

interface Closable {
  close(): void;
}

const isClosable = (handle: unknown): handle is Closable =>
  typeof (handle as Partial<Closable> | undefined)?.close === "function";

interface Channel {
  send?(message: unknown, handle?: unknown, ...more: unknown[]): boolean;
  on(event: "internalMessage", listen: (message: { cmd?: string }) => void): void;
}

/**
 * `onLost` gets a message whose connection didn't arrive, because the other process can open no more files: that process
 * drops it and says only that one was lost. They are acknowledged in the order in which they were sent.
 */
export function watchHandles(channel: Channel, onLost: (message: unknown) => void): void {
  const sent: unknown[] = [];
  const send = channel.send?.bind(channel);
  if (send === undefined) return;
  channel.send = (message, handle, ...more) => {
    if (handle) sent.push(message);
    return send(message, handle, ...more);
  };
  channel.on("internalMessage", ({ cmd }) => {
    if (cmd !== "NODE_HANDLE_ACK" && cmd !== "NODE_HANDLE_NACK") return;
    const message = sent.shift();
    if (cmd === "NODE_HANDLE_NACK") onLost(message);
  });
}

interface Connections {
  watch(worker: Worker): void;
  /** Closes, when no worker takes a connection any more, what they have refused, and will refuse. */
  cutRefused(): void;
}

export function watchConnections(): Connections {
  const refused = new Set<Closable>();
  /** Keyed by the number of cluster's message. */
  const onTheWay = new Map<number, { handle: Closable; to: Worker }>();
  let isOver = false;

  const isSent = (handle: Closable) => [...onTheWay.values()].some((one) => one.handle === handle);

  function settle(seq: number, isAccepted: boolean): void {
    const handle = onTheWay.get(seq)?.handle;
    onTheWay.delete(seq);
    // Cluster has heard it before, and may have sent it to another worker.
    if (handle === undefined || isAccepted || isSent(handle)) return;
    if (isOver) handle.close();
    else refused.add(handle);
  }

  return {
    watch(worker) {
      const child = worker.process;
      const send = child.send.bind(child) as (...given: unknown[]) => boolean;
      child.send = ((message: { act?: string; seq?: number }, handle?: unknown, ...more: unknown[]) => {
        if (message.act === "newconn" && message.seq !== undefined && isClosable(handle)) {
          refused.delete(handle);
          onTheWay.set(message.seq, { handle, to: worker });
        }
        return send(message, handle, ...more);
      }) as typeof child.send;
      child.on("internalMessage", ({ ack, accepted }: { ack?: number; accepted?: boolean }) => {
        if (ack !== undefined) settle(ack, accepted === true);
      });
      worker.once("exit", () => {
        for (const [seq, { handle, to }] of onTheWay) {
          if (to !== worker) continue;
          onTheWay.delete(seq);
          handle.close();
        }
      });
    },
    cutRefused() {
      isOver = true;
      for (const handle of refused) handle.close();
      refused.clear();
    },
  };
}

/*
 * The processes of one server, and what they and the one that started them say to each other. A child says `loaded`,
 * `opened`, `listening`, `unbound` and `drained` when it has done what it was asked; all open before any listens, and all
 * are drained before any closes, so whom a request is handed on to is there. `unbound`: it takes no new connection. The
 * pages' process, a third of the memory, is started when a child says that it `needs pages`.
 */

export type Role = "writer" | "reader" | "pages";

export type Done = "loaded" | "opened" | "listening" | "unbound" | "drained" | "needs pages";

export interface WorkerSpec {
  role: Role;
  name: string;
}

export interface Setup {
  folder: string;
  peerSecret: string;
}

export type Order =
  | { todo: "open"; setup: Setup; name: string }
  | { todo: "listen" | "leave" | "drain" | "close" };

/**
 * Paths of sockets: where the writer answers calls, where it and the pages' process take whole requests, and where each tells
 * its metrics.
 */
export const socketsIn = (folder: string) => ({
  calls: path.join(folder, "calls"),
  writer: path.join(folder, "writer"),
  pages: path.join(folder, "pages"),
  metrics: (name: string) => path.join(folder, `metrics-${name}`),
});

/** A connection in libuv. */
export interface Handle {
  readonly writeQueueSize: number;
  readStart(): void;
  readStop(): void;
  close(): void;
}

/** Message about a connection: from who offers it, to who may take it, and back. Each hop has numbers of its own. */
export type Handover =
  | { handover: "offer" | "take"; id: number }
  | { handover: "settle"; id: number; isTaken: boolean };

export const readHandover = (message: unknown): Handover | null =>
  typeof message === "object" && message !== null && "handover" in message ? (message as Handover) : null;

interface Child {
  place: WorkerSpec;
  worker: Worker;
  startedMs: number;
  isListening: boolean;
  tell(order: Order): void;
  hear(what: Done): Promise<void>;
  /** Resolves when it has ended, to its exit code; null: by a signal. */
  exited: Promise<number | null>;
}

class ChildEnded extends Error {
  readonly code: number | null;
  constructor(role: Role, code: number | null) {
    super(
      `the ${role} process has ended${code === null ? ": it was killed, perhaps for want of memory" : ""}`,
    );
    this.code = code;
  }
}

/**
 * New objects of a process that answers requests fill V8's own 16 MiB every few milliseconds, and each time all requests under
 * way are copied. With twice as much a process answers a tenth more.
 */
const roomForRequests = "--max-semi-space-size=32";

function startChild(place: WorkerSpec): Child {
  const { role } = place;
  const heap = role === "pages" ? [] : [roomForRequests];
  cluster.setupPrimary({ args: [role], execArgv: [...process.execArgv, ...heap] });
  const worker = cluster.fork();
  const said = new Set<string>();
  const exited = new Promise<number | null>((resolve) => {
    worker.once("exit", (code: number | null) => resolve(code));
  });
  worker.on("message", (what: string | Handover) => void (typeof what === "string" && said.add(what)));
  worker.on("error", (error) => logger.debug({ err: error }, "a process could not be told"));
  return {
    place,
    worker,
    exited,
    startedMs: performance.now(),
    isListening: false,
    tell: (order) => void (worker.isConnected() && worker.send(order)),
    hear: (what) =>
      new Promise((resolve, reject) => {
        const check = () => void (said.has(what) && resolve());
        worker.on("message", check);
        check();
        void exited.then((code) => reject(new ChildEnded(role, code)));
      }),
  };
}

/**
 * Passes connections between the writer and the readers, with what becomes of them. One whose taker ends before it says
 * that it has taken it goes back to where it was.
 */
function relayHandovers(children: ReadonlySet<Child>): (child: Child) => void {
  const passing = new Map<number, { from: Child; idThere: number; to: Child; handle: Handle }>();
  let lastId = 0;
  const send = ({ worker }: Child, message: Handover, handle?: Handle) =>
    void (worker.isConnected() && worker.send(message, handle as never));

  function pass(from: Child, idThere: number, handle: Handle): void {
    const role = from.place.role === "writer" ? "reader" : "writer";
    const able = [...children].filter(
      ({ place, isListening, worker }) => place.role === role && isListening && worker.isConnected(),
    );
    const to = able[Math.floor(Math.random() * able.length)];
    passing.set(++lastId, { from, idThere, to: to ?? from, handle });
    if (to === undefined) settle(lastId, false);
    else send(to, { handover: "take", id: lastId }, handle);
  }

  function settle(id: number, isTaken: boolean): void {
    const { from, idThere, handle } = passing.get(id) ?? {};
    passing.delete(id);
    handle?.close();
    if (from && idThere !== undefined) send(from, { handover: "settle", id: idThere, isTaken });
  }

  return (child) => {
    watchHandles(child.worker.process as Channel, (message) => {
      const lost = readHandover(message);
      if (lost) settle(lost.id, false);
      // Cluster waits for a word about each new connection before it sends the next one.
      else
        child.worker.process.emit("internalMessage", {
          cmd: "NODE_CLUSTER",
          ack: (message as { seq: number }).seq,
          accepted: true,
        });
    });
    child.worker.on("message", (message: unknown, handle: unknown) => {
      const handover = readHandover(message);
      if (handover?.handover === "offer") pass(child, handover.id, handle as Handle);
      else if (handover?.handover === "settle") settle(handover.id, handover.isTaken);
    });
    // "exit" may come before its last messages, and "disconnect" doesn't while a connection is on its way to it.
    child.worker.process.once("close", () => {
      for (const [id, { to }] of passing) if (to === child) settle(id, false);
    });
  };
}

/** A child that lived as long as this did not fail at its start. */
const provenMs = 60_000;
const longestPauseMs = 30_000;

export const pauseMs = (failures: number) =>
  failures < 2 ? 0 : Math.min(longestPauseMs, 500 * 2 ** (failures - 2));

interface Workers {
  start(): Promise<void>;
  leave(): void;
  stop(): Promise<boolean>;
  kill(): void;
}

/** `onPages`: the pages' process has been started, or has ended at its start. */
function createWorkers(places: readonly WorkerSpec[], setup: Setup, onPages: () => void): Workers {
  const children = new Set<Child>();
  const connections = watchConnections();
  const relay = relayHandovers(children);
  let isLeaving = false;
  let isStopping = false;
  let hasPages = false;

  function add(place: WorkerSpec): Child {
    const child = startChild(place);
    connections.watch(child.worker);
    relay(child);
    child.worker.on("message", (what: Done) => {
      if (what === "needs pages") startPages();
    });
    children.add(child);
    void child.exited.then(() => children.delete(child));
    return child;
  }

  async function open(child: Child): Promise<void> {
    await child.hear("loaded");
    child.tell({ todo: "open", setup, name: child.place.name });
    await child.hear("opened");
  }

  async function listen(child: Child): Promise<void> {
    child.tell({ todo: "listen" });
    await child.hear("listening");
    child.isListening = true;
    // Commands "leave" next, which the others got before it listened.
    if (isLeaving) child.tell({ todo: "leave" });
  }

  const openAndListen = (child: Child) =>
    open(child)
      .then(() => listen(child))
      .catch(ignoreEnd);

  function startPages(): void {
    if (hasPages || isStopping) return;
    hasPages = true;
    const child = add(pagesPlace);
    void keep(child, 0);
    void openAndListen(child).then(onPages);
  }

  /** Restarts the child each time it ends, for as long as the server runs. */
  async function keep(child: Child, failures: number): Promise<void> {
    const code = await child.exited;
    if (isStopping) return;
    const wasProven = performance.now() - child.startedMs >= provenMs;
    const ends = wasProven ? 1 : failures + 1;
    logger.error({ role: child.place.role, code, ends }, "a process has ended and is replaced");
    await sleep(pauseMs(ends));
    if (isStopping) return;
    const next = add(child.place);
    void keep(next, ends);
    await openAndListen(next);
  }

  function kill(): void {
    for (const { worker } of children) worker.process.kill("SIGKILL");
  }

  return {
    kill,
    async start() {
      const [writer, ...others] = places.map(add);
      if (writer === undefined) return;
      // The first makes keys and tables if there are none, and says what is wrong once for all of them.
      await open(writer);
      await Promise.all(others.map(open));
      await listen(writer);
      await Promise.all(others.map(listen));
      for (const child of [writer, ...others]) void keep(child, 0);
    },
    leave() {
      isLeaving = true;
      for (const child of children) if (child.isListening) child.tell({ todo: "leave" });
    },
    async stop() {
      isStopping = true;
      const all = [...children];
      const ready = all.filter(({ isListening }) => isListening);
      for (const child of all) if (!child.isListening) child.worker.process.kill("SIGKILL");
      const limit = setTimeout(kill, 2 * graceMs);
      for (const child of ready) child.tell({ todo: "drain" });
      void Promise.allSettled(ready.map((child) => child.hear("unbound"))).then(connections.cutRefused);
      await Promise.allSettled(ready.map((child) => child.hear("drained")));
      for (const child of ready) child.tell({ todo: "close" });
      const codes = await Promise.all(ready.map(({ exited }) => exited));
      clearTimeout(limit);
      return codes.every((code) => code === 0);
    },
  };
}

function ignoreEnd(error: unknown): asserts error is ChildEnded {
  if (!(error instanceof ChildEnded)) throw error;
}

const pagesPlace: WorkerSpec = { role: "pages", name: "pages" };

function listPlaces(processCount: number): WorkerSpec[] {
  const reader = (_: unknown, i: number): WorkerSpec => ({ role: "reader", name: `reader-${i + 1}` });
  const readers = Array.from({ length: processCount - 1 }, reader);
  return [{ role: "writer", name: "writer" }, ...readers];
}

/** A replacement listens on the same socket. */
async function openMember(folder: string, { name }: WorkerSpec): Promise<Member> {
  const calls = await openCalls(socketsIn(folder).metrics(name));
  return { name, read: () => calls.call("metrics", null) as Promise<string> | null };
}

export async function startServerCluster(env: Env): Promise<void> {
  const folder = await mkdtemp(path.join(tmpdir(), "countersign-family-"));
  const places = listPlaces(env.processCount);
  const peerSecret = randomBytes(16).toString("hex");
  const members: Member[] = [];
  const addMember = async (place: WorkerSpec) => {
    if (env.METRICS_PORT !== undefined) members.push(await openMember(folder, place));
  };
  // Absence before that is no failure, which monitoring would report.
  const family = createWorkers(places, { folder, peerSecret }, () => void addMember(pagesPlace));
  const leave = async (code: number): Promise<never> => {
    await rm(folder, { recursive: true, force: true });
    process.exit(code);
  };
  void untilStop(env.STOP_DELAY_SECONDS, family.leave)
    .then(family.stop)
    .then((isClean) => leave(isClean ? 0 : 1));
  try {
    await family.start();
    await Promise.all(places.map(addMember));
    await serveMetrics(env, members);
  } catch (error) {
    family.kill();
    ignoreEnd(error);
    // Any other has said why it ended.
    if (error.code === null) logger.error(error.message);
    await leave(1);
  }
}
