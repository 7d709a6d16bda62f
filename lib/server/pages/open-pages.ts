/** Next inside the production server: everything that the table of operations doesn't answer. Loading it takes a second and 100 MB. */
import { readFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from "node:http";
import next from "next";
import { runWithForm } from "#lib/api/http/plain-page";
import { listStaticFiles } from "#lib/api/http/static-assets";
import { logger } from "#lib/logger";
import { vouchForPeer } from "#lib/server/next/node-http";
import { createPageCache } from "#lib/server/next/page-cache";
import { receiveBody } from "#lib/server/next/page-limits";
import { readClientAddress, serveInTurn, serveMalformed, serveRefusal } from "#lib/server/next/page-requests";
import { createRenderQueue } from "#lib/server/next/render-limiter";
import { getApp } from "#lib/server/singleton";
import { explainFailure, isDocument } from "./page-failure";
import { findLandingExample, readAgentForPage, verifyForPage } from "./public-pages";

const attestationPath = /^\/verify\/[\w.-]+\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;
const agentPath = /^\/agent\/([\w.-]+)$/;
const landingPath = /^\/$/;
const guidePath = /^\/docs(?:\/(?:api\/)?[a-z-]+)?$/;

/**
 * The settings as `next build` stored them, where Next's own standalone server puts them. From next.config.ts Next would
 * load its compiler again, 31 MB that stay.
 */
async function setBuiltSettings(): Promise<void> {
  const built = JSON.parse(await readFile(".next/required-server-files.json", "utf8")) as { config: unknown };
  // biome-ignore lint/style/noProcessEnv: Next reads it there
  process.env["__NEXT_PRIVATE_STANDALONE_CONFIG"] = JSON.stringify(built.config);
}

async function openNext(port: number) {
  await setBuiltSettings();
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

export async function openPages(): Promise<RequestListener> {
  const { env, peerSecret, context, handedOver, pageAnswers } = await getApp();
  const handlePage = await openNext(env.PORT);
  const files = await listStaticFiles(".next/static");
  const pageCache = createPageCache({
    host: new URL(env.baseUrl).host,
    handedOver,
    views: [
      {
        pattern: attestationPath,
        load: (id, incoming) => verifyForPage(context, id, readClientAddress(incoming, peerSecret, env)),
      },
      { pattern: agentPath, load: (slug) => readAgentForPage(context, slug) },
      { pattern: guidePath },
      { pattern: landingPath, load: () => findLandingExample(context, env.EXAMPLE_ATTESTATION) },
    ],
    nowMs: () => performance.now(),
  });
  const gate = createRenderQueue();
  const servePage = async (incoming: IncomingMessage, outgoing: ServerResponse) => {
    if (await serveMalformed(incoming, outgoing, files)) return;
    vouchForPeer(incoming, peerSecret);
    if (await serveRefusal(incoming, outgoing, peerSecret)) return;
    const whole = await receiveBody(incoming, outgoing);
    if (whole === null) return;
    const answer = { isMalformed: false, isNotFound: false };
    explainFailure(incoming, outgoing, context, answer);
    if (await pageCache.serve(incoming, outgoing)) return;
    const render = () => handlePage(whole, outgoing);
    const page = isDocument(incoming) ? () => pageAnswers.run(answer, render) : render;
    const handle = incoming.method === "POST" ? () => runWithForm(answer, page) : page;
    if (files.has(incoming.url?.split("?")[0] ?? "")) await handle();
    else await serveInTurn(gate, incoming, outgoing, handle);
  };
  return (incoming, outgoing) => {
    servePage(incoming, outgoing).catch((error: unknown) => {
      // A client that goes away in the middle is no error.
      const isClientGone = incoming.socket.destroyed;
      logger[isClientGone ? "debug" : "error"]({ err: error }, "a page failed");
      outgoing.destroy();
    });
  };
}
