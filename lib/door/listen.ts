/** Binds the addresses of the settings. */
import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";

/** Several addresses of one name (`localhost`): a machine without IPv6 has one of them only. */
const absent = new Set(["EADDRNOTAVAIL", "EAFNOSUPPORT"]);

async function listen(server: Server, port: number, address: string | undefined): Promise<string | null> {
  try {
    server.listen(port, address);
    await once(server, "listening");
    return null;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? "";
  }
}

/**
 * One server for each address; `addresses: null` binds all of the machine's. Rejects with an error that has the
 * `code` of node:net if an address is taken, or if none of them is the machine's.
 */
export async function startServers(
  handle: RequestListener,
  port: number,
  addresses: readonly string[] | null,
): Promise<Server[]> {
  const servers: Server[] = [];
  let failure: string | null = null;
  for (const address of addresses ?? [undefined]) {
    const server = createServer(handle);
    const code = await listen(server, port, address);
    if (code === null) servers.push(server);
    else if (!absent.has(code) || servers.length === 0) failure = code;
    // A later address may be there where an earlier one is not; one that is taken is nobody's to share.
    if (code !== null && !absent.has(code)) break;
  }
  if (servers.length > 0 && (failure === null || absent.has(failure))) return servers;
  for (const server of servers) server.close();
  throw Object.assign(new Error(`cannot listen on port ${port}: ${failure}`), { code: failure });
}
