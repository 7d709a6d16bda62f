/** For tests: a test app on a port of its own, for programs in other processes. */
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { handleApiRequest } from "#lib/server/next/node-http";
import type { TestApp } from "./app";

export interface Listening {
  base: string;
  close(): Promise<unknown>;
}

export async function listen(listener: RequestListener): Promise<Listening> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    base: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => new Promise((resolve) => server.close(resolve)),
  };
}

export const listenFor = (test: TestApp): Promise<Listening> =>
  listen((incoming, outgoing) => {
    test.use();
    return handleApiRequest(incoming, outgoing);
  });
