/** For tests: a receiver of webhooks on this machine, which answers as a test wishes. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface Received {
  path: string;
  headers: Record<string, string>;
  body: string;
}

interface Answer {
  status: number;
  headers?: Record<string, string>;
  body?: string;
}

export interface Receiver {
  url: string;
  received: Received[];
  /** Null: it never answers. */
  answer: (message: Received) => Answer | null | Promise<Answer>;
  /** Resolves when so many have come in all. */
  expect(count: number): Promise<Received[]>;
  close(): Promise<void>;
}

export async function startReceiver(answer: Receiver["answer"] = () => ({ status: 204 })): Promise<Receiver> {
  const waiting = new Set<() => void>();
  const server = createServer(async (incoming, outgoing) => {
    let body = "";
    for await (const chunk of incoming) body += String(chunk);
    const headers = Object.fromEntries(
      Object.entries(incoming.headers).map(([name, value]) => [name, String(value)]),
    );
    const message = { path: incoming.url ?? "", headers, body };
    receiver.received.push(message);
    const given = await receiver.answer(message);
    if (given !== null) outgoing.writeHead(given.status, given.headers ?? {}).end(given.body);
    for (const look of waiting) look();
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const receiver: Receiver = {
    url: `http://127.0.0.1:${port}/hook`,
    received: [],
    answer,
    expect: (count) =>
      new Promise((resolve) => {
        const look = () => {
          if (receiver.received.length < count) return;
          waiting.delete(look);
          resolve(receiver.received);
        };
        waiting.add(look);
        look();
      }),
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
  return receiver;
}
