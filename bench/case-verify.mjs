/** GET /v1/verify/:id, which verifies from the stored bytes each time, against reading one row. */
import { httpRequest, runLoad } from "./load.mjs";
import { printRatio, printSides, takeTurns } from "./rounds.mjs";

export const name = "verify";

const body = { agent_slug: "bench-reader", action: "Read the report", inputs_hash: "abc" };

async function make(url, headers = {}) {
  const made = [];
  for (let i = 0; i < 100; i += 1) {
    const answer = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify({ ...body, metadata: { i } }),
    });
    if (answer.status !== 201) throw new Error(`${url} answered ${answer.status}`);
    made.push(await answer.json());
  }
  return made;
}

export async function run({ ports, key }, seconds) {
  const ours = await make(`http://127.0.0.1:${ports.app}/v1/attest`, { authorization: `Bearer ${key}` });
  const theirs = await make(`http://127.0.0.1:${ports.fastify}/attest`);
  const side = (port, paths) => {
    const requests = paths.map((path) => httpRequest(port, "GET", path));
    const next = (i) => requests[i % requests.length];
    return () => runLoad({ port, connections: 32, seconds, next, status: 200 });
  };
  const sides = await takeTurns({
    "GET /v1/verify/:id": side(
      ports.app,
      ours.map(({ attestation_id }) => `/v1/verify/${attestation_id}`),
    ),
    "Fastify, one row": side(
      ports.fastify,
      theirs.map(({ id }) => `/record/${id}`),
    ),
  });
  printSides("GET /v1/verify/:id, 32 clients", sides);
  const [verify, fastify] = Object.values(sides);
  printRatio("throughput against Fastify", verify.perSecond / fastify.perSecond, "more is better");
}
