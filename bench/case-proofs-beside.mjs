/** Plain attestations, alone and beside a stream of attestations with zero-knowledge proofs that keeps the pool busy. */
import { httpRequest, runLoad } from "./load.mjs";
import { printRatio, printSides, takeTurns } from "./rounds.mjs";

const plain = { agent_slug: "bench-plain", action: "Do it", inputs_hash: "abc" };
const withProof = { ...plain, agent_slug: "bench-proofs", is_public: false, enable_zk: true };

export const name = "proofs-beside";

export async function run({ ports, key }, seconds) {
  const port = ports.app;
  const request = httpRequest("POST", "/v1/attest", { key, body: plain });
  const proving = httpRequest("POST", "/v1/attest", { key, body: withProof });
  const proofs = [];
  const measure = (connections) => () =>
    runLoad({ port, connections, seconds, next: () => request, status: 201 });
  const beside = (connections) => async () => {
    const stop = new AbortController();
    const stream = runLoad({
      port,
      connections: 4,
      seconds: 3600,
      next: () => proving,
      status: 201,
      signal: stop.signal,
    });
    const result = await measure(connections)();
    stop.abort();
    proofs.push(await stream);
    return result;
  };
  for (const [clients, connections] of [
    ["8 clients", 8],
    ["a lone client", 1],
  ]) {
    const sides = await takeTurns({ alone: measure(connections), "beside proofs": beside(connections) });
    printSides(`POST /v1/attest, ${clients}, without and with proofs being made`, sides);
    const { alone, "beside proofs": busy } = sides;
    printRatio("throughput beside proofs", busy.perSecond / alone.perSecond, "1 is untouched");
    printRatio("median beside proofs", busy.medianMs / alone.medianMs, "1 is untouched");
    printRatio("p99 beside proofs", busy.p99Ms / alone.p99Ms, "1 is untouched");
  }
  const made = proofs.reduce((sum, { count }) => sum + count, 0);
  const rate = proofs.reduce((sum, { perSecond }) => sum + perSecond, 0) / proofs.length;
  console.log(`  meanwhile ${made} proofs were made, ${rate.toFixed(1)} per second`);
}
