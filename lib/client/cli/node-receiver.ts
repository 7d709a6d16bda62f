/** The receiver of `countersign webhooks listen`: the only file of the client that opens a port. */
// biome-ignore lint/style/noRestrictedImports: a command line's own server, which no page or agent loads
import { createServer, type IncomingMessage } from "node:http";
import type { OpenReceiver } from "./io";

const maxBodyBytes = 64 * 1024;

async function readBody(incoming: IncomingMessage): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of incoming as AsyncIterable<Uint8Array>) {
    size += chunk.length;
    if (size > maxBodyBytes) throw new RangeError("the body is too large");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

export const openReceiver: OpenReceiver = async (take) => {
  const server = createServer((incoming, outgoing) => {
    readBody(incoming).then(
      (body) => {
        const headers = Object.fromEntries(
          Object.entries(incoming.headers).map(([name, value]) => [name, value?.toString()]),
        );
        outgoing.writeHead(take({ headers, body }) ? 204 : 401).end();
      },
      () => outgoing.destroy(),
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(0, "127.0.0.1", resolve);
  });
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}/`,
    stopped: new Promise((resolve) => {
      for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => resolve());
    }),
    close: async () => {
      server.closeAllConnections();
      server.close();
    },
  };
};
