/**
 * Measures how long a stranger's valid approval takes while an attacker with many keys and many addresses sends junk proofs and
 * makes the service prove. Runs on loopback and plays the reverse proxy: X-Forwarded-For names the addresses.
 *
 *   BENCH_FLOOD_SECONDS   how long (default 100)
 */
import { setTimeout as sleep } from "node:timers/promises";
import { quantile } from "./figures.mjs";
import { askForApproval } from "./fill.mjs";
import { getApiKey } from "./servers.mjs";
import { makeProof, openWorldId, submitJunk, submitProof } from "./world-app.mjs";

export const name = "approval-flood";
export const isOptional = true;

const seconds = Number(process.env.BENCH_FLOOD_SECONDS ?? 100);
const strangersAddress = "203.0.113.7";
const organizations = 4;
const requestsOfEach = 12;
const junkClients = 24;
const provingClients = 4;
const addresses = 64;
const maxJunk = 100_000;
const approvals = Math.max(1, Math.floor(seconds / 12));

function count(tally, status) {
  tally[status] = (tally[status] ?? 0) + 1;
}

/** Requests, of the attacker's organizations by turns. */
async function askForJunk(baseUrl) {
  const keys = [];
  const links = [];
  for (let i = 0; i < organizations; i += 1)
    keys.push(await getApiKey(baseUrl, `junk${i}@example.com`, `198.51.100.${i}`));
  for (let i = 0; i < organizations * requestsOfEach; i += 1) {
    const n = i % organizations;
    links.push((await askForApproval({ baseUrl, key: keys[n] }, `junk-${n}`, `Pay ${i}`)).link);
  }
  return { keys, links };
}

async function sendJunk({ links }, stop, tally, client) {
  for (let i = client; !stop.aborted && (tally.sent ?? 0) < maxJunk; i += junkClients) {
    const link = links[i % links.length];
    const address = `198.51.100.${i % addresses}`;
    try {
      count(tally, await submitJunk(link, address, i));
      tally.sent = (tally.sent ?? 0) + 1;
    } catch (error) {
      count(tally, error.status ?? "failed");
      await sleep(50);
    }
  }
}

async function keepProving(baseUrl, { keys }, stop, tally, client) {
  const key = keys[client % keys.length];
  const body = {
    agent_slug: `junk-${client % keys.length}`,
    action: "x",
    inputs_hash: "x",
    is_public: false,
    enable_zk: true,
  };
  while (!stop.aborted) {
    const answer = await fetch(`${baseUrl}/v1/attest`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}` },
      body: JSON.stringify(body),
    });
    await answer.arrayBuffer();
    count(tally, answer.status);
    if (answer.status !== 201) await sleep(50);
  }
}

/** Latencies of plain attestations, one after another with a pause. */
async function measureApi(baseUrl, key, stop) {
  const latencies = [];
  const body = JSON.stringify({ agent_slug: "stranger", action: "Do it", inputs_hash: "x" });
  while (!stop.aborted) {
    const beganMs = performance.now();
    const answer = await fetch(`${baseUrl}/v1/attest`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}` },
      body,
    });
    await answer.arrayBuffer();
    if (answer.status === 201) latencies.push(performance.now() - beganMs);
    await sleep(20);
  }
  return latencies;
}

/** Milliseconds from sending the proof until the request is approved, whoever tries it. */
async function timeDecision(baseUrl, { id, link }, { start, response }) {
  const beganMs = performance.now();
  const answer = await submitProof(link, strangersAddress, start, response);
  let state = { status: "pending" };
  while (state.status === "pending" && performance.now() - beganMs < 60_000)
    state = await (await fetch(`${baseUrl}/v1/authorize/${id}?wait=25`)).json();
  return { first: answer.status, end: state.status, ms: performance.now() - beganMs };
}

export async function run(servers) {
  const service = await servers.service("flood", { embedded: true });
  const { baseUrl, key } = service;
  const mine = [];
  for (let i = 0; i < approvals + 1; i += 1) {
    const asked = await askForApproval(service, "stranger", `Pay ${i}`);
    const start = await openWorldId(asked.link, strangersAddress);
    mine.push({ asked, proof: { start, response: await makeProof(baseUrl, start) } });
  }
  const [first, ...others] = mine;
  const alone = await timeDecision(baseUrl, first.asked, first.proof);
  const calm = await measureApi(baseUrl, key, AbortSignal.timeout(10_000));

  const junk = await askForJunk(baseUrl);
  const tallies = { junk: {}, proving: {} };
  const stop = AbortSignal.timeout(seconds * 1000);
  const flood = [
    ...Array.from({ length: junkClients }, (_, i) => sendJunk(junk, stop, tallies.junk, i)),
    ...Array.from({ length: provingClients }, (_, i) => keepProving(baseUrl, junk, stop, tallies.proving, i)),
  ];
  const measured = measureApi(baseUrl, key, stop);
  const times = [];
  for (const { asked, proof } of others) {
    await sleep((seconds * 1000) / (others.length + 1));
    times.push(await timeDecision(baseUrl, asked, proof));
  }
  await Promise.all(flood);
  const busy = await measured;

  console.log(`\na stranger's approval during ${seconds} s of junk proofs`);
  console.log(`  flood: proofs ${JSON.stringify(tallies.junk)}, proving ${JSON.stringify(tallies.proving)}`);
  console.log(`  alone ${alone.ms.toFixed(0)} ms (${alone.end})`);
  const all = times.map(({ ms }) => ms);
  const ends = times.map(({ first: status, end, ms }) => `${ms.toFixed(0)} ms ${status} ${end}`);
  console.log(`  in the flood: ${ends.join(", ")}`);
  console.log(`  → median ${quantile(all, 0.5).toFixed(0)} ms, longest ${Math.max(...all).toFixed(0)} ms`);
  const [before, during] = [quantile(calm, 0.5), quantile(busy, 0.5)];
  console.log(
    `  POST /v1/attest: median ${before.toFixed(1)} ms before, ${during.toFixed(1)} ms during (${(during / before).toFixed(2)} ×)`,
  );
}
