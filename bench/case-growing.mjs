/**
 * Reads while the log grows by some 500 attestations a second: one verification, the feed of the agent that attests, and
 * the page of a record, each against one row by key beside as many INSERTs behind Fastify.
 */
import { plainBody } from "./case-attest.mjs";
import { attestMany, getSide, readerSlug, recordMany } from "./fill.mjs";
import { httpRequest, runLoad } from "./load.mjs";
import { printRatio, printSides, takeTurns } from "./rounds.mjs";

export const name = "growing";

/** Eight clients that pause: 500 requests a second if an answer takes 2 ms. */
const writers = { connections: 8, pauseMs: 14 };

/** `read` beside writes, and how many of these there were in a second. */
function beside(read, { port, key }, path, body) {
  const request = httpRequest(port, "POST", path, { key, body });
  return async () => {
    const over = new AbortController();
    const writing = runLoad({ ...writers, port, next: () => request, status: 201, signal: over.signal });
    const result = await read().finally(() => over.abort());
    return { ...result, writesPerSecond: (await writing).perSecond };
  };
}

/** Eight visitors of different addresses, because one address has one page under way at once. */
function readPage({ port }, id, seconds) {
  const requests = Array.from({ length: 64 }, (_, i) =>
    httpRequest(port, "GET", `/verify/${readerSlug}/${id}`, { address: `198.51.100.${i}`, isBrowser: true }),
  );
  return () =>
    runLoad({ port, connections: 8, seconds, next: (i) => requests[i % requests.length], status: 200 });
}

export async function run(servers, { seconds }) {
  const service = await servers.service();
  const fastify = await servers.fastify();
  const [id] = await attestMany(service, 100);
  const [row] = await recordMany(fastify, 1);
  const get = (server, path) => getSide(server, path, { seconds });
  const ofReader = { ...plainBody, agent_slug: readerSlug };
  const sides = await takeTurns({
    "Fastify, one row": beside(get(fastify, `/record/${row}`), fastify, "/attest", plainBody),
    "verify, one id": beside(get(service, `/v1/verify/${id}`), service, "/v1/attest", plainBody),
    "page of a record": beside(readPage(service, id, seconds), service, "/v1/attest", plainBody),
    "feed of the agent": beside(get(service, `/v1/agent/${readerSlug}`), service, "/v1/attest", ofReader),
  });
  printSides("Reads beside some 500 writes a second, 32 clients", sides);
  const [theirs, ...ours] = Object.entries(sides);
  console.log(
    `  writes a second: ${Object.values(sides)
      .map(({ writesPerSecond }) => writesPerSecond.toFixed(0))
      .join(", ")}`,
  );
  for (const [what, { perSecond }] of ours)
    printRatio(`${what}, beside writes, against Fastify`, perSecond / theirs[1].perSecond);
}
