/**
 * Plain attestations: alone, beside a stream of attestations with zero-knowledge proofs that keeps the pool busy, and
 * beside a foreign process that burns as much. If proofs cost plain attestations no more than that process does, they
 * cost only processor time; on a machine with a free processor both are near 1.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { postSide } from "./fill.mjs";
import { httpRequest, runLoad } from "./load.mjs";
import { printRatio, printSides, takeTurns } from "./rounds.mjs";

const plain = { agent_slug: "bench-plain", action: "Do it", inputs_hash: "abc" };
const withProof = { ...plain, agent_slug: "bench-proofs", is_public: false, enable_zk: true };
const burner = fileURLToPath(new URL("burner.mjs", import.meta.url));

export const name = "proofs-beside";
export const isOptional = true;

/** Keeps the pool busy until `signal` aborts. */
export function streamProofs({ port, key }, signal) {
  const request = httpRequest(port, "POST", "/v1/attest", { key, body: withProof });
  return runLoad({ port, connections: 4, next: () => request, status: 201, signal });
}

async function besideBurner(measure) {
  const child = spawn(process.execPath, [burner], { stdio: "ignore" });
  try {
    return await measure();
  } finally {
    child.kill();
    await once(child, "exit");
  }
}

async function besideProofs(measure, service, proofs) {
  const stop = new AbortController();
  const stream = streamProofs(service, stop.signal);
  try {
    return await measure();
  } finally {
    stop.abort();
    proofs.push(await stream);
  }
}

export async function run(servers, { seconds }) {
  const service = await servers.service();
  const proofs = [];
  for (const [clients, connections] of [
    ["8 clients", 8],
    ["a lone client", 1],
  ]) {
    const measure = postSide(service, "/v1/attest", plain, { connections, seconds });
    const sides = await takeTurns({
      alone: measure,
      "beside proofs": () => besideProofs(measure, service, proofs),
      "beside a foreign process": () => besideBurner(measure),
    });
    printSides(`POST /v1/attest, ${clients}`, sides);
    const [alone, busy, control] = Object.values(sides);
    printRatio(`attest, ${clients}, beside proofs`, busy.perSecond / alone.perSecond, "1 is untouched");
    printRatio(
      `attest, ${clients}, beside proofs against the foreign process`,
      busy.perSecond / control.perSecond,
    );
    printRatio(`attest, ${clients}, median beside proofs`, busy.medianMs / alone.medianMs, "1 is untouched");
    printRatio(
      `attest, ${clients}, median beside proofs against the foreign process`,
      busy.medianMs / control.medianMs,
      "less is better",
    );
  }
  const made = proofs.reduce((sum, { count }) => sum + count, 0);
  const rate = proofs.reduce((sum, { perSecond }) => sum + perSecond, 0) / proofs.length;
  console.log(`  meanwhile ${made} proofs were made, ${rate.toFixed(1)} per second`);
}
