/** The service's operations on a port of their own, without Next: what tests of crashes start and kill. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { getApp } from "#lib/app/app";
import { serveDirectly } from "#lib/app/serve";

await getApp();
const server = createServer((incoming, outgoing) => void serveDirectly(incoming, outgoing));
// A busy test comes back to its connections later than the usual five seconds.
server.keepAliveTimeout = 120_000;
server.listen(0, "127.0.0.1", () => {
  process.stdout.write(`ready ${(server.address() as AddressInfo).port}\n`);
});
