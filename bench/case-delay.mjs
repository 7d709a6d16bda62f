/**
 * Measures how long the API's event loops are blocked while proofs are made and pairings checked. Seen from outside: a few
 * connections ask GET /v1/health every few milliseconds, and the delay is what an answer takes beyond an idle service's median,
 * which includes the time that other processes take from this machine.
 */
import { streamProofs } from "./case-proofs-beside.mjs";
import { askForApproval } from "./fill.mjs";
import { httpRequest, runLoad } from "./load.mjs";
import { printResult, printSides } from "./rounds.mjs";
import { submitJunk } from "./world-app.mjs";

export const name = "delay";

const pairingClients = 4;
const requests = 12;
const addresses = 64;

/** More than the processes that answer, so that each has some. */
const probes = { connections: 8, pauseMs: 5, status: 200 };

async function streamPairings(links, signal, client) {
  let count = 0;
  for (let i = client; !signal.aborted; i += pairingClients) {
    const address = `198.51.100.${i % addresses}`;
    const status = await submitJunk(links[i % links.length], address, i).catch((error) => error.status);
    if (status === undefined) throw new Error("the approval page's connection broke");
    if (status < 429) count += 1;
  }
  return { count };
}

async function makeLinks(service) {
  const links = [];
  for (let i = 0; i < requests; i += 1) links.push((await askForApproval(service)).link);
  return links;
}

async function beside(measure, start) {
  const stop = new AbortController();
  const work = start(stop.signal);
  // Starts amid the load.
  await measure(0.3);
  const result = await measure();
  stop.abort();
  const counts = await work;
  return { ...result, done: counts.reduce((sum, { count }) => sum + count, 0) };
}

export async function run(servers, { seconds }) {
  const service = await servers.service();
  const links = await makeLinks(service);
  const health = httpRequest(service.port, "GET", "/v1/health");
  const measure = (share = 1) =>
    runLoad({ port: service.port, seconds: 5 * seconds * share, next: () => health, ...probes });
  await measure();
  const idle = await measure();
  const zk = await beside(measure, async (signal) => [await streamProofs(service, signal)]);
  const pairings = await beside(measure, (signal) =>
    Promise.all(Array.from({ length: pairingClients }, (_, i) => streamPairings(links, signal, i))),
  );
  printSides("GET /v1/health, every 5 ms on 8 connections", {
    idle,
    [`beside ${zk.done} enable_zk proofs`]: zk,
    [`beside ${pairings.done} submissions with a pairing each`]: pairings,
  });
  for (const [what, side] of Object.entries({
    idle: idle,
    "beside enable_zk": zk,
    "beside pairings": pairings,
  }))
    printResult(
      `event-loop delay p99, ${what}, from outside`,
      side.p99Ms - idle.medianMs,
      "ms",
      "less is better",
    );
}
