/** Binds the addresses of the settings, and lets go of them. */
import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { Env } from "#lib/env";

/** Several addresses of one name (`localhost`): a machine without IPv6 has one of them only. */
const absent = new Set(["EADDRNOTAVAIL", "EAFNOSUPPORT"]);

/** Proxies and balancers keep a connection for a minute: one that ends sooner takes a request with it that was on its way. */
const keepAliveMs = 75_000;

/** Milliseconds that a stop waits for answers under way before it cuts their connections. */
export const graceMs = 10_000;

/** Takes no new connection, and resolves when the requests under way are answered or cut. */
export async function stopServers(servers: readonly Server[]): Promise<void> {
  const closed = servers.map((server) => new Promise<void>((resolve) => server.close(() => resolve())));
  // Connections that become idle later are closed too: a client may keep its connection after the last answer.
  const closeIdle = () => {
    for (const server of servers) server.closeIdleConnections();
  };
  closeIdle();
  const idle = setInterval(closeIdle, 100);
  const cut = setTimeout(() => {
    for (const server of servers) server.closeAllConnections();
  }, graceMs);
  await Promise.all(closed);
  clearInterval(idle);
  clearTimeout(cut);
}

async function listen(server: Server, port: number, address: string | undefined): Promise<string | null> {
  try {
    server.listen(port, address);
    await once(server, "listening");
    return null;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? "";
  }
}

/** Words for the operator about errors of startServers. */
export function describeBinding({ PORT, HOST }: Pick<Env, "PORT" | "HOST">) {
  return (error: NodeJS.ErrnoException): never => {
    if (error.code === "EADDRINUSE")
      throw new Error(`Countersign cannot start: PORT ${PORT} is in use by another program.`);
    if (error.code === "EACCES")
      throw new Error(
        `Countersign cannot start: this user may not listen on PORT ${PORT}. Set a PORT from 1024 on, and put a proxy in front.`,
      );
    if (error.code === "EADDRNOTAVAIL")
      throw new Error(`Countersign cannot start: HOST ${HOST} is not an address of this machine.`);
    throw error;
  };
}

/** Node would write a pipelined request's 100 Continue between the headers and the bytes of its answer: it waits for its turn. */
const continueInTurn =
  (handle: RequestListener): RequestListener =>
  (incoming, outgoing) => {
    const begin = () => {
      outgoing.writeContinue();
      handle(incoming, outgoing);
    };
    if (outgoing.socket) begin();
    else outgoing.once("socket", begin);
  };

/**
 * Starts one server for each address; `addresses: null` binds all of the machine's. Rejects with an error that has the `code`
 * of node:net if an address is taken, or if none of them is the machine's.
 */
export async function startServers(
  handle: RequestListener,
  port: number,
  addresses: readonly string[] | null,
): Promise<Server[]> {
  const servers: Server[] = [];
  let failure: string | null = null;
  for (const address of addresses ?? [undefined]) {
    // A connection that another process hands over has answered, but Node waits for its first headers.
    const server = createServer({ keepAliveTimeout: keepAliveMs, headersTimeout: keepAliveMs }, handle);
    server.on("checkContinue", continueInTurn(handle));
    const code = await listen(server, port, address);
    if (code === null) servers.push(server);
    else if (!absent.has(code) || servers.length === 0) failure = code;
    // A later address may be there where an earlier one is not; one that is taken can't be shared.
    if (code !== null && !absent.has(code)) break;
  }
  if (servers.length > 0 && (failure === null || absent.has(failure))) return servers;
  for (const server of servers) server.close();
  throw Object.assign(new Error(`cannot listen on port ${port}: ${failure}`), { code: failure });
}

const nextSignal = () =>
  new Promise<void>((resolve) => {
    const done = () => {
      for (const signal of ["SIGTERM", "SIGINT"]) process.off(signal, done);
      resolve();
    };
    for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, done);
  });

/** `leave` is called at the first signal. The stop follows after the delay, or at the next signal. */
export async function untilStop(delaySeconds: number, leave: () => void): Promise<void> {
  await nextSignal();
  leave();
  if (delaySeconds > 0) await Promise.race([sleep(delaySeconds * 1000), nextSignal()]);
}
