/**
 * Handles a request from outside: the build's files come from memory, operations go to their handlers (a handler costs
 * a tenth of what it costs inside Next), everything else is a page.
 */
import type { IncomingMessage, RequestListener, Server, ServerResponse } from "node:http";
import type { Draining } from "#lib/api/http/context";
import { createHostCheck } from "#lib/api/http/host-check";
import { describeBinding, startServers } from "#lib/api/http/listen";
import { loadStaticAssets } from "#lib/api/http/static-assets";
import type { Env } from "#lib/env";
import { measure } from "#lib/instrumentation";
import { handleApiRequest, isDispatched, sendResponse } from "./node-http";
import { refuseConnect } from "./page-requests";

interface Answering {
  pages: RequestListener;
  operations?: RequestListener;
  leaving: Draining;
}

const answerHere = (incoming: IncomingMessage, outgoing: ServerResponse) =>
  void handleApiRequest(incoming, outgoing);

/** Pages are one operation to measurements: their addresses are anybody's. */
const measured =
  (pages: RequestListener): RequestListener =>
  (incoming, outgoing) =>
    void measure("request", "page", async (note) => {
      const closed = new Promise((resolve) => outgoing.once("close", resolve));
      pages(incoming, outgoing);
      await closed;
      note({ status: outgoing.statusCode });
    });

export async function createRequestListener(
  env: Env,
  { pages, operations = answerHere, leaving }: Answering,
): Promise<() => Promise<Server[]>> {
  const serveAsset = await loadStaticAssets(".next/static");
  const admit = createHostCheck(env);
  const servePage = measured(pages);
  const handle: RequestListener = (incoming, outgoing) => {
    // Ends the connection, so that this client's next request finds another server.
    if (leaving.hasBegun) outgoing.shouldKeepAlive = false;
    const foreign = admit(incoming);
    if (foreign !== null) {
      void sendResponse(foreign, outgoing);
      return;
    }
    if (serveAsset(incoming, outgoing)) return;
    if (isDispatched(incoming.url ?? "/", incoming.headers.accept)) operations(incoming, outgoing);
    else servePage(incoming, outgoing);
  };
  return async () => {
    const servers = await startServers(handle, env.PORT, env.bindAddresses).catch(describeBinding(env));
    for (const server of servers)
      server.on("connect", (incoming, socket) => void refuseConnect(incoming, socket));
    return servers;
  };
}
