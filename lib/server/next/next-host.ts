/**
 * Runs the production server's steps before Next, for where Next is the server itself (`next start`, `next dev`): Next
 * gives no client's address, so no client could be told apart from this machine, and Next would answer malformed paths
 * and methods that no page has in its own way. Next has no place for these steps, so Node's servers of its process run
 * them.
 */
import "#lib/platform/node-wasm";
import { type IncomingMessage, Server, type ServerResponse } from "node:http";
import { openApp } from "#lib/server/app";
import { handleApiRequest, isDispatched, vouchForPeer } from "./node-http";
import { isDecodable, serveMalformed } from "./page-requests";

async function answerHere(incoming: IncomingMessage, outgoing: ServerResponse): Promise<boolean> {
  const { url = "/", headers } = incoming;
  if (!isDispatched(url, headers.accept)) return serveMalformed(incoming, outgoing);
  if (isDecodable(url.split("?")[0] ?? "")) return false;
  await handleApiRequest(incoming, outgoing);
  return true;
}

/** Guards every server in this process from now on. */
export async function guardNextHost(): Promise<void> {
  const { peerSecret } = await openApp();
  const emit = Server.prototype.emit;
  Server.prototype.emit = function emitGuarded(this: Server, name: string | symbol, ...given: unknown[]) {
    const pass = () => Reflect.apply(emit, this, [name, ...given]) as boolean;
    if (name !== "request") return pass();
    const [incoming, outgoing] = given as [IncomingMessage, ServerResponse];
    vouchForPeer(incoming, peerSecret);
    answerHere(incoming, outgoing)
      .then((isAnswered) => isAnswered || pass())
      .catch(() => outgoing.destroy());
    return true;
  };
}
