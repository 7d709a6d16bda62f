/** A stand-in for drand's API whose answers tests choose. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

export interface TestBeacon {
  url: string;
  /** Paths that were asked for. */
  asked: string[];
  /** `null`: it accepts the request and never answers. */
  answer(body: string | null): void;
  close(): Promise<void>;
}

export async function startTestBeacon(): Promise<TestBeacon> {
  let answer: string | null = "{}";
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? "");
    if (answer !== null) response.end(answer);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    answer: (body) => {
      answer = body;
    },
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
