/**
 * What is read most, each against one row by key behind Fastify: a verification from the stored bytes (one id again and
 * again; ids at random), a feed of twenty, an authorization, the public keys.
 *
 *   BENCH_RECORDS   how many attestations the random ids are of (default 2000)
 */
import { withCpu } from "./cpu.mjs";
import { httpRequest, runLoad } from "./load.mjs";
import { printRatio, printSides, takeTurns } from "./rounds.mjs";

export const name = "reads";

const records = Number(process.env.BENCH_RECORDS ?? 2000);
const makers = 32;
const feedSlug = "bench-feed";

async function post(url, body, headers = {}) {
  const answer = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
  if (answer.status !== 201) throw new Error(`${url} answered ${answer.status}`);
  return answer.json();
}

async function makeMany(count, make) {
  const made = [];
  const work = async () => {
    for (let i = made.push(null) - 1; i < count; i = made.push(null) - 1) made[i] = await make(i);
  };
  await Promise.all(Array.from({ length: makers }, work));
  return made.slice(0, count);
}

/** Thirty of the feed's, the rest another agent's. */
const bodyOf = (i) => ({
  agent_slug: i < 30 ? feedSlug : "bench-reader",
  action: "Read the report",
  inputs_hash: "abc",
  metadata: { i },
});

const one = (request) => () => request;
const atRandom = (requests) => () => requests[Math.floor(Math.random() * requests.length)];

export async function run({ ports, meters, key }, seconds) {
  const authorization = { authorization: `Bearer ${key}` };
  const api = `http://127.0.0.1:${ports.app}/v1`;
  const ours = await makeMany(records, (i) => post(`${api}/attest`, bodyOf(i), authorization));
  const theirs = await makeMany(records, (i) => post(`http://127.0.0.1:${ports.fastify}/attest`, bodyOf(i)));
  const asked = { agent_slug: "bench-reader", action: "Pay", inputs_hash: "abc" };
  const { request_id: requestId } = await post(`${api}/authorize`, asked, authorization);

  const get = (path, options) => httpRequest(ports.app, "GET", path, options);
  const verifications = ours.map(({ attestation_id: id }) => get(`/v1/verify/${id}`));
  const rows = theirs.map(({ id }) => httpRequest(ports.fastify, "GET", `/record/${id}`));
  const cases = {
    "GET /v1/verify/:id, one": [one(verifications[0]), one(rows[0])],
    [`GET /v1/verify/:id, ${records} at random`]: [atRandom(verifications), atRandom(rows)],
    "GET /v1/agent/:slug, twenty entries": [one(get(`/v1/agent/${feedSlug}`)), one(rows[0])],
    "GET /v1/authorize/:id": [one(get(`/v1/authorize/${requestId}`)), one(rows[0])],
    "GET /v1/authorize/:id by its owner": [one(get(`/v1/authorize/${requestId}`, { key })), one(rows[0])],
    "GET /v1/pubkey": [one(get("/v1/pubkey")), one(rows[0])],
  };
  const side = (server, next) =>
    withCpu(
      () => runLoad({ port: ports[server], connections: 32, seconds, next, status: 200 }),
      meters[server],
    );
  for (const [title, [mine, row]] of Object.entries(cases)) {
    const sides = await takeTurns({
      [title]: side("app", mine),
      "Fastify, one row": side("fastify", row),
    });
    printSides(`${title}, 32 clients`, sides);
    const [service, fastify] = Object.values(sides);
    printRatio("throughput against Fastify", service.perSecond / fastify.perSecond, "more is better");
  }
}
