/**
 * POST /v1/attest with everything in it, against one signature and one INSERT behind Fastify, a Next route that does
 * nothing, pgbench's one-row INSERT, and what openssl signs.
 */

import { randomBytes } from "node:crypto";
import { postSide } from "./fill.mjs";
import { measureOpenssl } from "./openssl.mjs";
import { printRatio, printSides, takeTurns } from "./rounds.mjs";
import { withCpu } from "./usage.mjs";

export const plainBody = {
  agent_slug: "bench-agent",
  action: "Pay invoice 1042 to Example Ltd",
  inputs_hash: "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
  metadata: { invoice: "1042", amount: "100.00", currency: "EUR" },
};

export const name = "attest";

const randomBody = () => ({ ...plainBody, inputs_hash: `sha256:${randomBytes(32).toString("hex")}` });

/** A server's side, with the processor time of each answer. */
export const attestSide = (server, load, path = "/v1/attest", body = randomBody) =>
  withCpu(postSide(server, path, body, load), server.meter);

async function compare({ databases, service, fastify, next }, connections, seconds) {
  const load = { connections, seconds };
  const sides = await takeTurns({
    "POST /v1/attest": attestSide(service, load),
    "Fastify, signature and INSERT": attestSide(fastify, load, "/attest"),
    "pgbench, one-row INSERT": () => databases.runPgbench(connections, seconds),
    ...(connections > 1 && { "Next, no-op POST": attestSide(next, load, "/noop") }),
  });
  printSides(`POST /v1/attest, ${connections === 1 ? "a lone client" : `${connections} clients`}`, sides);
  return Object.values(sides);
}

async function compareMany(sides, connections, seconds, signPerSecond) {
  const [attest, ...baselines] = await compare(sides, connections, seconds);
  const names = ["Fastify", "pgbench", "a no-op Next POST"];
  for (const [i, { perSecond }] of baselines.entries())
    printRatio(`attest, ${connections} clients, against ${names[i]}`, attest.perSecond / perSecond);
  printRatio(
    `attest, ${connections} clients, against openssl's signatures`,
    attest.perSecond / signPerSecond,
  );
}

async function compareEmbedded(servers, seconds) {
  const load = { connections: 32, seconds };
  const sides = await takeTurns({
    "POST /v1/attest": attestSide(await servers.service("embedded", { embedded: true }), load),
    "Fastify, signature and INSERT": attestSide(await servers.fastify({ embedded: true }), load, "/attest"),
  });
  printSides("POST /v1/attest, 32 clients, both on an embedded database", sides);
  const [attest, fastify] = Object.values(sides);
  printRatio("attest embedded, 32 clients, against Fastify embedded", attest.perSecond / fastify.perSecond);
}

export async function run(servers, { seconds }) {
  const { databases } = servers;
  const sides = {
    databases,
    service: await servers.service(),
    fastify: await servers.fastify(),
    next: await servers.plainNext(),
  };
  const { signPerSecond } = await measureOpenssl();
  for (const connections of [32, 128]) await compareMany(sides, connections, seconds, signPerSecond);
  const [attest, fastify, pgbench] = await compare(sides, 1, seconds);
  printRatio(
    "attest, a lone client's median, against Fastify's",
    attest.medianMs / fastify.medianMs,
    "less is better",
  );
  printRatio(
    "attest, a lone client's median, against pgbench's mean",
    attest.medianMs / pgbench.meanMs,
    "less is better",
  );
  await compareEmbedded(servers, seconds);
}
