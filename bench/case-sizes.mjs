/**
 * The same requests to services whose databases hold ever more attestations, and how far apart they are. Reads come
 * first, because attesting grows the small ones.
 */
import { attestSide, plainBody } from "./case-attest.mjs";
import { spread } from "./figures.mjs";
import { attestMany, commonInputs, getSide, pickFrom, readerSlug } from "./fill.mjs";
import { printResult, printSides, takeTurns } from "./rounds.mjs";
import { withCpu } from "./usage.mjs";

export const name = "sizes";

/**
 * Ids of all ages, as many of each size, so that no size has more of them in memory than another: what growth costs, and
 * not what forgetting costs (case-reads.mjs shows that).
 */
async function fill(service, count, wanted) {
  const startedMs = performance.now();
  const ids = await attestMany(service, count);
  console.log(`  ${count} attestations made in ${((performance.now() - startedMs) / 1000).toFixed(0)} s`);
  return ids.filter((_, i) => i % Math.floor(count / wanted) === 0);
}

export async function run(servers, { seconds, sizes }) {
  console.log("\nThe same at every size");
  const all = [];
  for (const size of sizes) {
    const service = await servers.service(`size_${size}`);
    all.push({ title: `${size} attestations`, service, ids: await fill(service, size, sizes[0]) });
  }
  const load = { connections: 32, seconds };
  const common = { ...plainBody, inputs_hash: commonInputs };
  const measures = {
    "verify at random": ({ service, ids }) =>
      getSide(service, () => `/v1/verify/${pickFrom(ids)}`, { seconds }),
    feed: ({ service }) => getSide(service, `/v1/agent/${readerSlug}`, { seconds }),
    "attest, random inputs": ({ service }) => attestSide(service, load),
    "attest, the inputs of all before": ({ service }) => attestSide(service, load, "/v1/attest", common),
  };
  for (const [what, measure] of Object.entries(measures)) {
    const sides = await takeTurns(
      Object.fromEntries(all.map((one) => [one.title, withCpu(measure(one), one.service.meter)])),
    );
    printSides(`${what}, 32 clients`, sides);
    const apart = spread(Object.values(sides).map(({ perSecond }) => perSecond));
    printResult(
      `${what}, ${sizes.join(" to ")} attestations, fastest against slowest`,
      apart,
      "×",
      "1 is flat",
    );
  }
}
