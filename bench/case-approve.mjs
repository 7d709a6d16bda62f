/**
 * Times a person's wait: the proof of personhood is sent, checked, counted, signed and logged, one after another;
 * against the request for it, which is one row. The proofs are made before.
 */
import { askForApproval } from "./fill.mjs";
import { printRatio, printSides, takeTurns } from "./rounds.mjs";
import { makeProof, openWorldId, submitProof } from "./world-app.mjs";

export const name = "approve";
export const isOptional = true;

const approvals = 20;
const rounds = 4;

/** Runs them in sequence and returns the rate per second and the median in milliseconds. */
async function timeEach(works) {
  const times = [];
  for (const work of works) {
    const beganMs = performance.now();
    await work();
    times.push(performance.now() - beganMs);
  }
  const total = times.reduce((sum, ms) => sum + ms, 0);
  return {
    perSecond: (times.length * 1000) / total,
    medianMs: times.toSorted((a, b) => a - b)[times.length >> 1],
  };
}

/** A proof is bound to the request, so that each needs its own; each person has an address of their own. */
async function prepare(service, n) {
  const address = `198.51.100.${n}`;
  const { link } = await askForApproval(service, "bench-agent", `Pay invoice ${n}`);
  const start = await openWorldId(link, address);
  const response = await makeProof(service.baseUrl, start);
  return async () => {
    const answer = await submitProof(link, address, start, response);
    if (answer.status !== 200) throw new Error(`a proof was answered with ${answer.status}`);
  };
}

export async function run(servers) {
  const service = await servers.service("approve", { processes: "1" });
  const prepared = [];
  for (let n = 0; n < approvals * rounds; n += 1) prepared.push(await prepare(service, n));
  const ask = (n) => () => askForApproval(service, "bench-agent", `Pay ${n}`);
  const sides = await takeTurns({
    "the proof is sent, and the request approved": () => timeEach(prepared.splice(0, approvals)),
    "POST /v1/authorize": () => timeEach(Array.from({ length: approvals }, (_, n) => ask(n))),
  });
  printSides("Approvals with World ID, one after another, one process", sides);
  const [approve, authorize] = Object.values(sides);
  printRatio(
    "an approval's median, against its request's",
    approve.medianMs / authorize.medianMs,
    "less is better",
  );
}
