/**
 * The service's operations without Next: what tests of crashes start and kill. Each argument is the settings of one
 * service, as JSON; each has a database and a port of its own.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type App, buildApp } from "#lib/app/app";
import { appSlot } from "#lib/app/app-slot";
import { serveDirectly } from "#lib/app/serve";
import { parseEnv } from "#lib/env";

/** In place of the process's one app: the app whose port was asked. */
const asked = new AsyncLocalStorage<Promise<App>>();
Object.defineProperty(globalThis, appSlot, { get: () => asked.getStore() });

async function serve(settings: string): Promise<number> {
  const app = Promise.resolve(await buildApp(parseEnv(JSON.parse(settings))));
  const server = createServer((incoming, outgoing) => void asked.run(app, serveDirectly, incoming, outgoing));
  // A busy test comes back to its connections later than the usual five seconds.
  server.keepAliveTimeout = 120_000;
  await once(server.listen(0, "127.0.0.1"), "listening");
  return (server.address() as AddressInfo).port;
}

const ports: number[] = [];
// One after the other: an embedded database that opens holds the thread, and the other's connection would time out.
for (const settings of process.argv.slice(2)) ports.push(await serve(settings));
process.stdout.write(`ready ${ports.join(" ")}\n`);
