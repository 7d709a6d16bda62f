/**
 * The page of an attestation, which verifies it, against a dynamic page of a plain Next application with one query. It
 * is asked for from many addresses, because one address has one page under way at once.
 */
import { attestMany, readerSlug, recordMany } from "./fill.mjs";
import { httpRequest, runLoad } from "./load.mjs";
import { printRatio, printSides, takeTurns } from "./rounds.mjs";
import { withCpu } from "./usage.mjs";

export const name = "verify-page";

const addresses = 64;

export async function run(servers, { seconds }) {
  const service = await servers.service();
  const next = await servers.plainNext();
  const [id] = await attestMany(service, 1);
  const [row] = await recordMany(await servers.fastify(), 1);
  const side = ({ port, meter }, path) => {
    const requests = Array.from({ length: addresses }, (_, i) =>
      httpRequest(port, "GET", path, { address: `198.51.100.${i}` }),
    );
    const next = (i) => requests[i % addresses];
    return withCpu(() => runLoad({ port, connections: 8, seconds, next, status: 200 }), meter);
  };
  const sides = await takeTurns({
    "page /verify/<slug>/<id>": side(service, `/verify/${readerSlug}/${id}`),
    "plain Next, dynamic page with one query": side(next, `/record/${row}`),
  });
  printSides("Pages, 8 clients", sides);
  const [ours, theirs] = Object.values(sides);
  printRatio("page /verify/<slug>/<id> against a plain Next page", ours.perSecond / theirs.perSecond);
}
