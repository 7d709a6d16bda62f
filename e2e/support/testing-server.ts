/**
 * The service's operations without Next: what tests of crashes start and kill. Its argument is the service's settings,
 * as JSON.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { parseEnv } from "#lib/env";
import { buildApp } from "#lib/server/app";
import { handleApiRequest } from "#lib/server/next/node-http";
import { keepApp } from "#lib/server/singleton";

keepApp(Promise.resolve(await buildApp(parseEnv(JSON.parse(process.argv[2] ?? "{}")))));
const server = createServer((incoming, outgoing) => void handleApiRequest(incoming, outgoing));
// A busy test comes back to its connections later than the usual five seconds.
server.keepAliveTimeout = 120_000;
await once(server.listen(0, "127.0.0.1"), "listening");
process.stdout.write(`ready ${(server.address() as AddressInfo).port}\n`);
