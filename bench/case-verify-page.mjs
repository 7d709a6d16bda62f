/**
 * The page of an attestation, which verifies it, against a dynamic page of a plain Next application with one query: one
 * page that stays the same, and another page at every visit, more of them than are kept. They are asked for as browsers
 * do, and from many addresses, because one address has one page under way at once.
 */
import { attestMany, readerSlug, recordMany } from "./fill.mjs";
import { httpRequest, runLoad } from "./load.mjs";
import { printRatio, printSides, takeTurns } from "./rounds.mjs";
import { withCpu } from "./usage.mjs";

export const name = "verify-page";

const addresses = 64;
/** More than lib/server/next/page-cache.ts keeps; they come in turn, so none is found. */
const pages = 300;

export async function run(servers, { seconds }) {
  const service = await servers.service();
  const next = await servers.plainNext();
  const ids = await attestMany(service, pages);
  const [row] = await recordMany(await servers.fastify(), 1);
  const side = ({ port, meter }, paths) => {
    const requests = Array.from({ length: addresses * paths.length }, (_, i) =>
      httpRequest(port, "GET", paths[i % paths.length], {
        address: `198.51.100.${i % addresses}`,
        isBrowser: true,
      }),
    );
    let sent = 0;
    const next = () => requests[sent++ % requests.length];
    return withCpu(() => runLoad({ port, connections: 8, seconds, next, status: 200 }), meter);
  };
  const paths = ids.map((id) => `/verify/${readerSlug}/${id}`);
  const sides = await takeTurns({
    "page /verify/<slug>/<id>": side(service, paths.slice(0, 1)),
    "another attestation's page at every visit": side(service, paths),
    "plain Next, dynamic page with one query": side(next, [`/record/${row}`]),
  });
  printSides("Pages, 8 clients", sides);
  const [same, others, theirs] = Object.values(sides);
  printRatio("page /verify/<slug>/<id> against a plain Next page", same.perSecond / theirs.perSecond);
  printRatio("another one at every visit against a plain Next page", others.perSecond / theirs.perSecond);
}
