/** POST /v1/attest/batch with 100 entries: entries a second, against single requests of Fastify with one signature and one INSERT. */
import { plainBody } from "./case-attest.mjs";
import { postSide } from "./fill.mjs";
import { printRatio, printSides, takeTurns } from "./rounds.mjs";
import { withCpu } from "./usage.mjs";

export const name = "batch";

const entries = 100;
const body = { attestations: Array.from({ length: entries }, () => plainBody) };

export async function run(servers, { seconds }) {
  const service = await servers.service();
  const fastify = await servers.fastify();
  const sides = await takeTurns({
    "POST /v1/attest/batch": withCpu(
      postSide(service, "/v1/attest/batch", body, { connections: 4, seconds }),
      service.meter,
    ),
    "Fastify, signature and INSERT": withCpu(
      postSide(fastify, "/attest", plainBody, { connections: 32, seconds }),
      fastify.meter,
    ),
  });
  printSides("POST /v1/attest/batch, 4 clients with 100 entries a request", sides);
  const [batch, single] = Object.values(sides);
  printRatio(
    "batch of 100, entries, against Fastify's requests",
    (batch.perSecond * entries) / single.perSecond,
  );
}
