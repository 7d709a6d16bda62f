/**
 * POST /v1/attest with everything in it, against one signature and one INSERT, and against a Next route that does
 * nothing.
 */
import { withCpu } from "./cpu.mjs";
import { httpRequest, runLoad } from "./load.mjs";
import { printRatio, printSides, takeTurns } from "./rounds.mjs";

const body = {
  agent_slug: "bench-agent",
  action: "Pay invoice 1042 to Example Ltd",
  inputs_hash: "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
  metadata: { invoice: "1042", amount: "100.00", currency: "EUR" },
};

export const name = "attest";

async function compare({ ports, meters, key }, connections, seconds) {
  const side = (server, path, options = {}) => {
    const port = ports[server];
    const request = httpRequest(port, "POST", path, { body, ...options });
    const measure = () => runLoad({ port, connections, seconds, next: () => request, status: 201 });
    return withCpu(measure, meters[server]);
  };
  return takeTurns({
    "POST /v1/attest": side("app", "/v1/attest", { key }),
    "Fastify, signature and INSERT": side("fastify", "/attest"),
    "Next, no-op POST": side("next", "/noop"),
  });
}

export async function run(servers, seconds) {
  const many = await compare(servers, 32, seconds);
  printSides("POST /v1/attest, 32 clients", many);
  const [attest, fastify, next] = Object.values(many);
  printRatio("throughput against Fastify", attest.perSecond / fastify.perSecond, "more is better");
  printRatio("throughput against a no-op Next POST", attest.perSecond / next.perSecond, "more is better");
  const lone = await compare(servers, 1, seconds);
  printSides("POST /v1/attest, a lone client", lone);
  const [alone, aloneFastify] = Object.values(lone);
  printRatio("median against Fastify's", alone.medianMs / aloneFastify.medianMs, "less is better");
}
