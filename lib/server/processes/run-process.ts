/** A process of a server, from its start to its end: one of several (supervisor.ts), or the only one. */

import { once } from "node:events";
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from "node:http";
import { Session } from "node:inspector/promises";
import { connect } from "node:net";
import { performance } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import type { Draining } from "#lib/api/http/context";
import { stopServers, untilStop } from "#lib/api/http/listen";
import { logConsole } from "#lib/api/http/request-log";
import { type Env, readEnv } from "#lib/env";
import { AppError } from "#lib/errors";
import { logger } from "#lib/logger";
import { openApp } from "#lib/server/app";
import { isStandInPath } from "#lib/server/emulators";
import { createRequestListener } from "#lib/server/next/listener";
import { acceptForwardedRequest, handleApiRequest, sendResponse } from "#lib/server/next/node-http";
import { explainRefusal } from "#lib/server/next/page-limits";
import { normalizePath, refuse, runsInWriter } from "#lib/server/operations";
import type { App } from "#lib/server/singleton";
import { openTelemetry, serveMetrics } from "#lib/server/telemetry/open";
import { createAnswers, listenAt, openCalls, serveCalls } from "./ipc";
import { createReverseProxy, type Handovers, openHandovers } from "./reverse-proxy";
import { type Done, type Handover, type Order, type Role, type Setup, socketsIn } from "./supervisor";

const retryLater = { headers: { "retry-after": "2" } };

/** Some ten times the start of the pages' process on a machine where others need the processors too. */
const longestStartMs = 30_000;

/** True when something listens there; false if nothing does for too long, or nothing will. */
async function waitUntilListening(socketPath: string, draining: Draining): Promise<boolean> {
  const endMs = performance.now() + longestStartMs;
  while (performance.now() < endMs && !draining.hasBegun) {
    // First, because a process that is killed may listen a moment longer than its connections last.
    await sleep(50);
    const socket = connect(socketPath);
    const isThere = await once(socket, "connect").then(
      () => true,
      () => false,
    );
    socket.destroy();
    if (isThere) return true;
  }
  return false;
}

/** Asking twice is then the same as asking once (RFC 9110 section 9.2.2), and nothing of it was used up. */
const canBeRepeated = ({ method, headers }: IncomingMessage) =>
  (method === "GET" || method === "HEAD") &&
  headers["content-length"] === undefined &&
  headers["transfer-encoding"] === undefined;

/** While there is no process for pages, asks for one and waits for it. */
function forwardPages(
  { peerSecret }: App,
  socketPath: string,
  need: () => void,
  draining: Draining,
): RequestListener {
  const proxy = createReverseProxy(socketPath, peerSecret);
  const error = new AppError("service_unavailable", "pages are back in a moment", retryLater);
  let starting: Promise<boolean> | null = null;
  const start = () => {
    need();
    starting ??= waitUntilListening(socketPath, draining).finally(() => {
      starting = null;
    });
    return starting;
  };
  return (incoming, outgoing) => {
    const refusePage = () => void sendResponse(explainRefusal(error), outgoing);
    proxy(incoming, outgoing, (wasSent) => {
      if (wasSent && !canBeRepeated(incoming)) refusePage();
      else void start().then((isThere) => (isThere ? proxy(incoming, outgoing, refusePage) : refusePage()));
    });
  };
}

async function refuseUnknown(outgoing: ServerResponse): Promise<void> {
  const detail = "a process of this server ended, so this may or may not have been recorded";
  await sendResponse(await refuse(new AppError("service_unavailable", detail, retryLater)), outgoing);
}

/**
 * Requests that append to the log go to the writer if there is one, because processes that move the log's head in turns
 * slow each other down; the stand-in's always, because its state is in that process's memory.
 */
function belongsToWriter({ method, url = "/" }: IncomingMessage): "always" | "if there is one" | "no" {
  const path = normalizePath(url.split("?")[0] ?? "/");
  if (isStandInPath(path)) return "always";
  return runsInWriter(method, path) ? "if there is one" : "no";
}

/** While there is no writer, what belongs to it is done here: slower, but done. */
function handWritingOn({ peerSecret }: App, socketPath: string, handovers: Handovers): RequestListener {
  const proxy = createReverseProxy(socketPath, peerSecret);
  return (incoming, outgoing) => {
    const answerHere = () => void handleApiRequest(incoming, outgoing);
    const belonging = belongsToWriter(incoming);
    handovers.count(incoming, outgoing, belonging !== "no");
    if (belonging === "no") answerHere();
    else
      proxy(incoming, outgoing, (wasSent) => {
        if (wasSent || belonging === "always") void refuseUnknown(outgoing);
        else answerHere();
      });
  };
}

/** Connections that a reader handed over go back to one when they bring other requests. */
const answerInWriter =
  (handovers: Handovers): RequestListener =>
  (incoming, outgoing) => {
    if (handovers.wasTaken(incoming.socket))
      handovers.count(incoming, outgoing, belongsToWriter(incoming) === "no");
    void handleApiRequest(incoming, outgoing);
  };

async function serveHandedOn(
  { peerSecret }: App,
  socketPath: string,
  handle: RequestListener,
): Promise<Server> {
  const server = createServer((incoming: IncomingMessage, outgoing) => {
    if (acceptForwardedRequest(incoming, peerSecret)) handle(incoming, outgoing);
    else outgoing.writeHead(403).end();
  });
  // Their connections stay open, so no request meets one that is just being closed.
  server.keepAliveTimeout = 0;
  await listenAt(server, socketPath);
  return server;
}

async function openRole(
  role: Role,
  app: App,
  { folder }: Setup,
  openPages: () => Promise<RequestListener>,
): Promise<() => void> {
  const sockets = socketsIn(folder);
  if (role === "reader") return () => {};
  const handle =
    role === "pages"
      ? await openPages()
      : (...both: Parameters<RequestListener>) => void handleApiRequest(...both);
  const server = await serveHandedOn(app, role === "pages" ? sockets.pages : sockets.writer, handle);
  const endCalls = role === "writer" ? await serveCalls(sockets.calls, createAnswers(app.context)) : () => {};
  return () => {
    endCalls();
    server.close();
    server.closeAllConnections();
  };
}

const idleCheckMs = 10_000;

/**
 * Collects garbage after the start and after each time of work. V8 would keep what they took for as long as nothing new
 * needs it, 40 MB a process and more. The debugger's collection makes the young generation small again, `gc()` doesn't.
 */
function giveBackMemory(): void {
  const collect = async () => {
    const session = new Session();
    session.connect();
    await session.post("HeapProfiler.collectGarbage");
    session.disconnect();
  };
  let last = performance.eventLoopUtilization();
  let wasBusy = false;
  const check = () => {
    const { utilization } = performance.eventLoopUtilization(last);
    last = performance.eventLoopUtilization();
    const isBusy = utilization > 0.1;
    if (wasBusy && !isBusy) void collect();
    wasBusy = isBusy;
  };
  void collect();
  setInterval(check, idleCheckMs).unref();
}

function openOrders() {
  const pending: Order[] = [];
  let wake = () => {};
  process.on("message", (order: Order | Handover) => {
    if (!("todo" in order)) return;
    pending.push(order);
    wake();
  });
  return {
    done: (what: Done) => void process.send?.(what),
    next: async (): Promise<Order> => {
      while (pending.length === 0) await new Promise<void>((resolve) => (wake = resolve));
      return pending.shift() as Order;
    },
  };
}

export async function runChild(role: Role, openPages: () => Promise<RequestListener>): Promise<void> {
  // A terminal and a service manager signal all processes at once; the first one says what to do in which order.
  for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, () => {});
  logConsole(logger);
  const orders = openOrders();
  orders.done("loaded");
  const order = await orders.next();
  if (order.todo !== "open") return process.exit(0);
  const { setup, name } = order;
  const { peerSecret, folder } = setup;
  const sockets = socketsIn(folder);
  const writer = role === "writer" ? {} : { writer: await openCalls(sockets.calls) };
  const app = await openApp({ peerSecret, ...writer });
  const env = readEnv();
  const readsDatabase = role === "writer";
  const telemetry = await openTelemetry(env, app.context, { processName: name, readsDatabase });
  if (env.METRICS_PORT !== undefined) await serveCalls(sockets.metrics(name), telemetry.readMetrics);
  const closeRole = await openRole(role, app, setup, openPages);
  const draining: Draining = { hasBegun: false };
  let servers: Server[] = [];
  const handovers = openHandovers(() => servers[0] as Server);
  const listen =
    role === "pages"
      ? async () => []
      : await createRequestListener(env, {
          pages: forwardPages(app, sockets.pages, () => orders.done("needs pages"), draining),
          leaving: app.context.leaving,
          operations:
            role === "reader" ? handWritingOn(app, sockets.writer, handovers) : answerInWriter(handovers),
        });
  orders.done("opened");
  await orders.next();
  servers = await listen();
  orders.done("listening");
  giveBackMemory();
  await orders.next();
  app.leave();
  await orders.next();
  draining.hasBegun = true;
  handovers.end();
  const drained = stopServers(servers);
  orders.done("unbound");
  await drained;
  orders.done("drained");
  await orders.next();
  closeRole();
  await telemetry.close();
  await app.close();
  process.exit(0);
}

export async function startAlone(env: Env, openPages: () => Promise<RequestListener>): Promise<void> {
  logConsole(logger);
  const { close, context, leave } = await openApp();
  const processName = "server";
  const telemetry = await openTelemetry(env, context, { processName, readsDatabase: true });
  const listen = await createRequestListener(env, { pages: await openPages(), leaving: context.leaving });
  const servers = await listen();
  giveBackMemory();
  await serveMetrics(env, [{ name: processName, read: telemetry.readMetrics }]);
  void untilStop(env.STOP_DELAY_SECONDS, leave)
    .then(() => stopServers(servers))
    .then(telemetry.close)
    .then(close)
    .then(
      () => process.exit(0),
      (error: unknown) => {
        logger.error({ err: error }, "the shutdown failed");
        process.exit(1);
      },
    );
}
