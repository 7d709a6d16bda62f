/**
 * The production server: /v1 and the log go straight to the operations' handlers, everything else to Next, on
 * one port (a handler costs a tenth of what it costs inside Next). Next's scripts and style sheets come from memory.
 */

import { rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import next from "next";
import { getApp } from "#lib/app/app";
import { createKeptPages } from "#lib/app/kept-pages";
import { createPageGate } from "#lib/app/page-gate";
import {
  isDispatched,
  refuseConnect,
  sendAnswer,
  serveDirectly,
  serveInTurn,
  serveMalformed,
  serveRefusal,
  vouchForPeer,
} from "#lib/app/serve";
import { createAdmit } from "#lib/door/admit";
import { logConsole } from "#lib/door/console-lines";
import { startServers } from "#lib/door/listen";
import { listStaticFiles, loadStaticAssets } from "#lib/door/static-assets";
import type { Env } from "#lib/env";
import { logger } from "#lib/logger";

/** How long a stop waits for answers under way before it cuts their connections. */
const graceMs = 10_000;

async function preparePages(port: number) {
  logConsole(logger);
  // What an earlier version's picture optimizer kept of records that may be erased by now.
  await rm(".next/cache/images", { recursive: true, force: true });
  const pages = next({
    dev: false,
    dir: process.cwd(),
    port,
    hostname: "localhost",
    // Next listens to `upgrade` on this server, which never hears of one. On ours it would take every request that
    // offers another protocol (curl --http2) away from the routes; without a listener Node ignores the offer.
    httpServer: createServer(),
  });
  await pages.prepare();
  return pages.getRequestHandler();
}

async function start(): Promise<void> {
  const { env, peerSecret, close } = await getApp();
  const handlePage = await preparePages(env.PORT);
  const serveAsset = await loadStaticAssets(".next/static");
  const files = await listStaticFiles(".next/static");
  const keptPages = createKeptPages(new URL(env.baseUrl).host);
  const gate = createPageGate();
  const servePage = async (incoming: IncomingMessage, outgoing: ServerResponse) => {
    if (await serveMalformed(incoming, outgoing, files)) return;
    vouchForPeer(incoming, peerSecret);
    if (await serveRefusal(incoming, outgoing, peerSecret)) return;
    if (keptPages.serve(incoming, outgoing)) return;
    if (files.has(incoming.url?.split("?")[0] ?? "")) await handlePage(incoming, outgoing);
    else await serveInTurn(gate, incoming, outgoing, handlePage);
  };
  const admit = createAdmit(env);
  const handle = (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const foreign = admit(incoming);
    if (foreign !== null) {
      void sendAnswer(foreign, outgoing);
      return;
    }
    if (serveAsset(incoming, outgoing)) return;
    if (isDispatched(incoming.url ?? "/", incoming.headers.accept)) {
      void serveDirectly(incoming, outgoing);
      return;
    }
    servePage(incoming, outgoing).catch((error: unknown) => {
      // A client that goes away in the middle is nobody's error.
      const isClientGone = incoming.socket.destroyed;
      logger[isClientGone ? "debug" : "error"]({ err: error }, "a page failed");
      outgoing.destroy();
    });
  };
  const servers = await startServers(handle, env.PORT, env.bindAddresses).catch(describeBinding(env));
  for (const server of servers)
    server.on("connect", (incoming, socket) => void refuseConnect(incoming, socket));
  stopOnSignal(servers, close);
  announce(env);
}

function describeBinding({ PORT, HOST }: Env) {
  return (error: NodeJS.ErrnoException): never => {
    if (error.code === "EADDRINUSE")
      throw new Error(`Countersign cannot start: PORT ${PORT} is in use by another program.`);
    if (error.code === "EADDRNOTAVAIL")
      throw new Error(`Countersign cannot start: HOST ${HOST} is not an address of this machine.`);
    throw error;
  };
}

function stopOnSignal(servers: Server[], close: () => Promise<void>): void {
  const stop = () => {
    const closed = servers.map((server) => new Promise<void>((resolve) => server.close(() => resolve())));
    Promise.all(closed)
      .then(close)
      .then(
        () => process.exit(0),
        (error: unknown) => {
          logger.error({ err: error }, "the shutdown failed");
          process.exit(1);
        },
      );
    for (const server of servers) server.closeIdleConnections();
    setTimeout(() => {
      for (const server of servers) server.closeAllConnections();
    }, graceMs).unref();
  };
  process.once("SIGTERM", stop);
  process.once("SIGINT", stop);
}

function announce(env: Env): void {
  logger.info(`Countersign is listening on ${env.baseUrl}`);
  if (env.DATABASE_URL === undefined) {
    logger.info(
      `The embedded database is in ${env.DATA_DIR}. It survives a crash of the process, but not of the machine. Set DATABASE_URL for evidence that matters.`,
    );
  }
  if (env.worldId === "local")
    logger.info("World ID: local stand-in. Approvals made here are permanently marked TEST.");
  if (env.mail === "mailbox") logger.info(`Mail isn't sent. Read it at ${env.baseUrl}/dev/mailbox`);
}

function fail(error: unknown): void {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  if (error instanceof Error && !error.message.startsWith("Countersign"))
    logger.error({ err: error }, "the start failed");
  process.exit(1);
}

start().catch(fail);
